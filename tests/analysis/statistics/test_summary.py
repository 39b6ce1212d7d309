"""Statistics against numbers worked out by hand, SciPy, and properties that must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from windtunnel.analysis.effects.effects import effect
from windtunnel.analysis.statistics.summary import contrast, summarise

ABOUT = ("settings", "tuned", "stock", "terasort", "total", "elapsed", "s")
times = st.lists(st.floats(0.1, 1e4), min_size=2, max_size=8)


def test_summary_by_hand():
    s = summarise([10.0, 12.0, 14.0])
    assert (s.n, s.mean, s.median, s.sd) == (3, 12.0, 12.0, 2.0)
    assert s.cv == pytest.approx(1 / 6)
    # t(0.975, 2) = 4.302653; 4.302653 * 2 / sqrt(3) = 4.968275
    assert s.ci_low == pytest.approx(12 - 4.968275, abs=1e-5)
    assert s.ci_high == pytest.approx(12 + 4.968275, abs=1e-5)


def test_one_value_has_an_unknown_spread_and_not_zero():
    s = summarise([10.0])
    assert (s.n, s.mean) == (1, 10.0)
    assert s.sd is None
    assert s.cv is None
    assert s.ci_low is None
    assert s.ci_high is None


def test_equal_values_have_a_spread_of_exactly_zero():
    s = summarise([0.1, 0.1, 0.1])
    assert s.sd == 0.0
    assert s.cv == 0.0


def test_cv_is_unknown_at_a_mean_of_zero():
    assert summarise([-1.0, 1.0]).cv is None


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="no values"):
        summarise([])


@settings(deadline=None)
@given(times, times)
def test_contrast_of_two_samples_is_welchs(a: list[float], b: list[float]):
    if np.std(a) < 1e-6 * np.mean(a) or np.std(b) < 1e-6 * np.mean(b):
        return
    ours = contrast([(1.0, a), (-1.0, b)]).interval()
    theirs = scipy_stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    assert ours == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-6)


def test_detectable_has_the_power_that_it_claims():
    c = contrast([(1.0, [9.0, 10.0, 11.0, 12.0]), (-1.0, [9.5, 10.5, 11.5, 12.0])])
    shift = c.detectable()
    assert shift is not None
    assert c.se is not None
    assert c.df is not None
    critical = scipy_stats.t.ppf(0.975, c.df)
    power = scipy_stats.nct.sf(critical, c.df, shift / c.se)
    assert power == pytest.approx(0.80, abs=1e-6)


def test_effect_by_hand():
    e = effect(ABOUT, [([8.0, 8.0], [10.0, 10.0])])
    assert e.absolute == pytest.approx(-2.0)
    assert e.relative == pytest.approx(-0.2)
    assert (e.ci_low, e.ci_high) == (pytest.approx(-0.2), pytest.approx(-0.2))
    assert e.distinguishable is True


def test_effect_interval_by_hand():
    # logs 0, 1 against 2, 3: difference -2, se = sqrt(0.5 / 2 + 0.5 / 2), df = 2
    a, b = [1.0, math.e], [math.e**2, math.e**3]
    e = effect(ABOUT, [(a, b)])
    half = 4.302653 * math.sqrt(0.5)
    assert e.relative == pytest.approx(math.exp(-2) - 1)
    assert e.ci_low == pytest.approx(math.exp(-2 - half) - 1, rel=1e-5)
    assert e.ci_high == pytest.approx(math.exp(-2 + half) - 1, rel=1e-5)


def test_matched_cells_are_averaged_geometrically():
    # halved in one cell, doubled in the other: no change, where an arithmetic mean says +25 %
    e = effect(ABOUT, [([5.0], [10.0]), ([20.0], [10.0])])
    assert e.relative == pytest.approx(0.0)
    assert e.matched == 2


def test_one_trial_gives_no_interval():
    e = effect(ABOUT, [([8.0], [10.0, 11.0])])
    assert e.relative is not None
    assert e.ci_low is None
    assert e.absolute_ci_low is None
    assert e.distinguishable is None


@pytest.mark.parametrize(
    ("level", "base", "relative"),
    [([0.0, 0.0], [4.0, 5.0], -1.0), ([3.0, 4.0], [0.0, 0.0], None)],
)
def test_zeros_have_no_ratio(level: list[float], base: list[float], relative: float | None):
    e = effect(ABOUT, [(level, base)])
    assert e.relative == relative
    assert e.ci_low is None
    assert e.absolute_ci_low is not None


@settings(deadline=None)
@given(times, times)
def test_swapping_the_baseline_mirrors_the_effect(a: list[float], b: list[float]):
    there, back = effect(ABOUT, [(a, b)]), effect(ABOUT, [(b, a)])
    assert there.relative is not None
    assert back.relative is not None
    assert (1 + there.relative) * (1 + back.relative) == pytest.approx(1)
    assert there.absolute == pytest.approx(-back.absolute)


@settings(deadline=None)
@given(times, times, st.floats(0.01, 100))
def test_the_unit_does_not_change_the_relative_effect(a: list[float], b: list[float], k: float):
    one = effect(ABOUT, [(a, b)])
    scaled = effect(ABOUT, [([k * v for v in a], [k * v for v in b])])
    assert one.relative == pytest.approx(scaled.relative, rel=1e-6, abs=1e-9)


def test_intervals_cover_the_truth():
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(1000):
        a = np.exp(rng.normal(math.log(70), 0.05, 5))
        b = np.exp(rng.normal(math.log(100), 0.05, 5))
        e = effect(ABOUT, [(list(a), list(b))])
        assert e.ci_low is not None
        assert e.ci_high is not None
        hits += e.ci_low <= -0.30 <= e.ci_high
    assert 930 <= hits <= 970


def test_equal_values_differ_by_nothing() -> None:
    found = contrast([(1.0, [math.log(419.3)] * 3), (-1.0, [math.log(419.3)] * 5)])
    assert (found.estimate, found.p()) == (0.0, 1.0)
    assert contrast([(1.0, [2.0] * 3), (-1.0, [2.1] * 5)]).p() == 0.0
