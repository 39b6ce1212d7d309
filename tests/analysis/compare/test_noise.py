"""The uncertainty between two runs: false alarms with drift, detection, SciPy, mirror images."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.support.drifting import Draws, share_found
from windtunnel.analysis.compare.noise import Points, estimate, predict, trend

# 2,000 draws at a true rate of 5 % pass this with a chance of 1 in 1,000
ALARMS_AT_MOST = 0.05 + 3.1 * math.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize("rounds", [3, 5, 10])
@pytest.mark.parametrize("drift", [0.0, 0.01, 0.05], ids=["still", "1-percent", "5-percent"])
def test_few_false_alarms_at_a_random_phase_of_a_drift(rounds: int, drift: float) -> None:
    assert share_found(Draws("apart", rounds, drift), 2000, seed=rounds) <= 0.05


@pytest.mark.parametrize("rounds", [3, 5, 10])
def test_few_false_alarms_when_the_drift_goes_on(rounds: int) -> None:
    assert share_found(Draws("back to back", rounds, 0.02), 2000, seed=rounds) <= 0.05


@pytest.mark.parametrize("rounds", [3, 5, 10])
def test_few_false_alarms_when_interleaved(rounds: int) -> None:
    assert share_found(Draws("interleaved", rounds, 0.05), 2000, seed=rounds) <= ALARMS_AT_MOST


def test_without_the_drift_in_it_the_alarms_would_be_many() -> None:
    """What the plain test does with such data, so that the test above means something."""
    rng = np.random.default_rng(4)
    ramp = (np.arange(10) + rng.uniform(0, 10, (2, 500, 1))) * 0.02
    a, b = ramp + rng.normal(0, 0.05, (2, 500, 10))
    p = scipy_stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue
    assert (p <= 0.05).mean() > 0.3


def test_ten_percent_is_seen_at_five_percent_noise() -> None:
    """80 % at best with n = 5 (two samples, known to be still); less, the less is known."""
    seen = {
        when: share_found(Draws(when, 5, 0.0, effect=0.10), 500, seed=5)
        for when in ("interleaved", "apart", "back to back")
    }
    assert seen["interleaved"] > 0.65
    assert seen["apart"] > 0.45
    assert seen["back to back"] > 0.25


logs = st.lists(st.floats(-1, 1), min_size=2, max_size=8)


@given(logs, logs)
def test_without_times_it_is_welchs(a: list[float], b: list[float]) -> None:
    if np.std(a) < 1e-6 or np.std(b) < 1e-6:
        return
    ours = estimate(Points(tuple(a)), Points(tuple(b)))
    theirs = scipy_stats.ttest_ind(b, a, equal_var=False)
    assert ours.basis == "untimed"
    assert ours.p() == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-9)
    low, high = theirs.confidence_interval()
    assert ours.interval() == pytest.approx((low, high), rel=1e-6, abs=1e-6)


@settings(max_examples=60)
@given(logs, logs, st.floats(0, 3000))
def test_a_drift_never_narrows_the_interval_of_folders_apart(
    a: list[float], b: list[float], gap: float
) -> None:
    first = Points(tuple(a), tuple(100.0 * i for i in range(len(a))))
    second = Points(tuple(b), tuple(gap + 100.0 * i for i in range(len(b))))
    found = estimate(first, second)
    plain = estimate(Points(tuple(a)), Points(tuple(b)))
    ours, bare = found.interval(), plain.interval()
    assert ours is not None
    assert bare is not None
    if found.basis != "interleaved":
        assert ours[0] <= bare[0] + 1e-9
        assert ours[1] >= bare[1] - 1e-9


@settings(max_examples=60)
@given(logs, logs, st.floats(0, 3000))
def test_the_other_way_round_is_the_mirror_image(
    a: list[float], b: list[float], gap: float
) -> None:
    first = Points(tuple(a), tuple(100.0 * i for i in range(len(a))))
    second = Points(tuple(b), tuple(gap + 100.0 * i for i in range(len(b))))
    there, back = estimate(first, second), estimate(second, first)
    assert there.log == pytest.approx(-back.log, abs=1e-12)
    # where the spread is that of rounding, so is p
    assert there.p() == pytest.approx(back.p(), rel=1e-6, abs=1e-6)
    assert there.basis == back.basis


def test_one_trial_leaves_the_spread_unknown() -> None:
    found = estimate(Points((0.0,), (0.0,)), Points((0.1, 0.2), (500.0, 600.0)))
    assert found.p() is None
    assert found.interval() is None
    assert found.detectable() is None


def test_deployments_are_the_unit() -> None:
    """Two starts each: trials of one start agree closely, starts differ by far more."""
    a = Points((0.0, 0.01, 0.3, 0.31), (), (1, 1, 2, 2))
    b = Points((0.4, 0.41, 0.7, 0.71), (), (1, 1, 2, 2))
    found = estimate(a, b)
    means = scipy_stats.ttest_ind([0.405, 0.705], [0.005, 0.305], equal_var=False)
    assert found.nested
    assert found.p() == pytest.approx(means.pvalue)
    assert found.p() > scipy_stats.ttest_ind(b.logs, a.logs).pvalue


def test_history_is_a_prediction_interval() -> None:
    means = [0.00, 0.02, -0.01, 0.03]
    earlier = [Points((m - 0.001, m + 0.001)) for m in means]
    found = predict(Points((0.109, 0.111)), earlier)
    se = np.std(means, ddof=1) * math.sqrt(1 + 1 / 4)
    t = (0.11 - np.mean(means)) / se
    assert found.p() == pytest.approx(2 * scipy_stats.t.sf(t, 3), rel=1e-6)


def test_history_holds_with_shifts_between_runs() -> None:
    rng = np.random.default_rng(8)
    sessions = rng.normal(0, 0.1, (2000, 5, 1)) + rng.normal(0, 0.02, (2000, 5, 3))
    alarms = 0
    for *earlier, new in sessions.tolist():
        p = predict(Points(tuple(new)), [Points(tuple(run)) for run in earlier]).p()
        alarms += p is not None and p <= 0.05
    assert 0.03 < alarms / 2000 < 0.07


def test_a_trend_by_hand() -> None:
    found = trend([Points((0.0, 1.0, 2.0), (0.0, 1.0, 2.0)), Points((5.0, 6.0), (0.0, 1.0))])
    assert found is not None
    assert found.slope == pytest.approx(1.0)
    assert found.sxx == pytest.approx(2.5)
    assert found.df == 2


def test_no_trend_where_the_times_are_equal() -> None:
    assert trend([Points((0.0, 1.0), (5.0, 5.0))]) is None


def test_a_rounding_error_is_no_difference() -> None:
    log = math.log(7680000.0)
    a = Points((log,) * 3, (0.0, 1.0, 2.0))
    b = Points((log + 2e-15,) * 3, (3.0, 4.0, 5.0))
    assert estimate(a, b).p() == 1.0
    p = estimate(a, Points((log + 0.1,) * 3, (3.0, 4.0, 5.0))).p()
    assert p is not None
    assert p < 1e-9
