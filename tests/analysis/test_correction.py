"""Correction for many comparisons, pairing by round, intervals beside t, overall scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from tests.support.truth_anova import study_of
from windtunnel.analysis.cells import Key, Sample, cells
from windtunnel.analysis.correction import holm
from windtunnel.analysis.effects import effect, effects
from windtunnel.analysis.findings import findings
from windtunnel.analysis.intervals import bca_intervals, median_interval, method_named
from windtunnel.analysis.normalised import scores
from windtunnel.analysis.rules.outliers import modified_z
from windtunnel.errors import UsageError
from windtunnel.results.record import Treatment

ABOUT = ("f", "b", "a", "terasort", "total", "elapsed", "s")


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def levels(values: dict[str, list[float]], workload: str = "terasort") -> dict[Key, Sample]:
    return {
        (name, workload, "total", "elapsed"): Sample("s", row, list(range(1, len(row) + 1)))
        for name, row in values.items()
    }


def one_factor(names: list[str]):
    return study_of([Treatment(id=n, levels={"f": n}) for n in names], {"f": names})


def test_an_effect_clear_alone_may_not_be_after_correction():
    rng = np.random.default_rng(4)
    base = list(rng.normal(100, 3, 4))
    rows = {name: list(rng.normal(100, 3, 4)) for name in "bcdefg"}
    rows["b"] = [value + 7 for value in base]
    table = levels({"a": base, **rows})
    found = {e.level: e for e in effects(one_factor(list("abcdefg")), table)}
    b = found["b"]
    assert b.comparisons == 6
    assert b.p is not None
    assert b.p_adjusted is not None
    assert b.p < 0.05 < b.p_adjusted
    assert b.clear_alone
    assert b.distinguishable is False
    text = next(f.text for f in findings(list(found.values())) if f.effect is b)
    assert "not clear after correction for 6 comparisons (p 0.0" in text
    assert "no difference found" not in text


def test_detectable_grows_with_the_correction():
    base, other = [100.0, 102.0, 98.0], [101.0, 103.0, 97.0]
    alone = effect(ABOUT, [(other, base)])
    table = levels({"a": base, "b": other, "c": [99.0, 101.0, 104.0]})
    b = effects(one_factor(["a", "b", "c"]), table)[0]
    assert alone.detectable is not None
    assert b.detectable is not None
    assert b.detectable > alone.detectable


def test_p_agrees_with_scipy_paired_and_not():
    rng = np.random.default_rng(5)
    a, b = rng.lognormal(4, 0.1, 6), rng.lognormal(4, 0.1, 6)
    welch, paired = effect(ABOUT, [(a, b)]), effect(ABOUT, [(a, b)], paired=True)
    assert welch.p == pytest.approx(
        scipy_stats.ttest_ind(np.log(a), np.log(b), equal_var=False).pvalue
    )
    assert paired.p == pytest.approx(scipy_stats.ttest_rel(np.log(a), np.log(b)).pvalue)
    assert paired.relative == pytest.approx(welch.relative)
    assert (welch.method, paired.method) == ("welch on logs", "paired by round, on logs")


@pytest.mark.parametrize(
    ("rounds_a", "rounds_b", "method"),
    [
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], "paired by round, on logs"),
        ([1, 2, 3, 4], [1, 2, 3, 4], "welch on logs"),
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 6], "welch on logs"),
        ([1, 2, 3, 4, 5, 5], [1, 2, 3, 4, 5, 5], "welch on logs"),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5], "welch on logs"),
    ],
)
def test_pairing_follows_the_rounds_and_nothing_else(
    rounds_a: list[int], rounds_b: list[int], method: str
):
    key = ("terasort", "total", "elapsed")
    table = {
        ("a", *key): Sample("s", [100.0 + i for i in rounds_a], rounds_a),
        ("b", *key): Sample("s", [90.0 + i * i for i in rounds_b], rounds_b),
    }
    (e,) = effects(one_factor(["a", "b"]), table)
    assert e.method == method


def test_bca_is_scipys_and_only_from_eight_trials_on():
    rng = np.random.default_rng(6)
    few, many = list(rng.lognormal(3, 0.3, 7)), list(rng.lognormal(3, 0.3, 12))
    none, span, flat = bca_intervals([few, many, [2.0] * 9])
    assert none is None
    assert flat is None
    assert span is not None
    theirs = scipy_stats.bootstrap((many,), np.mean, rng=np.random.default_rng(1))
    low, high = theirs.confidence_interval
    assert span == pytest.approx((low, high), rel=0.03)


def test_every_cell_says_how_its_interval_was_made():
    table = levels({"a": [1.0], "b": [1.0, 2.0], "c": [float(i) for i in range(1, 10)]})
    found = {c.treatment: c for c in cells(table)}
    assert [found[t].ci_method for t in "abc"] == [None, "t", "t"]
    assert found["c"].bca_low is not None
    assert (found["c"].median_low, found["c"].median_high) == (2.0, 8.0)
    asked = {c.treatment: c for c in cells(table, "bca")}
    assert [asked[t].ci_method for t in "abc"] == [None, "t", "bca"]
    assert asked["c"].ci_low == asked["c"].bca_low


def test_the_median_has_no_interval_below_six():
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert median_interval([6.0, 2.0, 3.0, 4.0, 5.0, 1.0]) == (1.0, 6.0)


def test_an_unknown_interval_is_refused():
    assert method_named("bca") == "bca"
    with pytest.raises(UsageError, match="no such interval"):
        method_named("z")


def test_scores_are_geometric_means():
    """Halved on one workload, doubled on the other: no change; arithmetically +25 %."""
    study = one_factor(["a", "b"])
    table = levels({"a": [10.0, 10.5], "b": [5.0, 5.25]}, "sort")
    table |= levels({"a": [10.0, 10.5], "b": [20.0, 21.0]}, "scan")
    (score,) = scores(study, table, ["sort", "scan"])
    assert score.ratio == pytest.approx(1.0)
    assert score.low is not None
    assert score.high is not None
    assert math.sqrt(score.low * score.high) == pytest.approx(1.0)
    assert score.distinguishable is False
    assert scores(study, table, ["sort"]) == []


def test_modified_z_by_hand():
    z = modified_z([10.0, 11.0, 12.0, 13.0, 30.0])
    assert z[4] == pytest.approx(0.6745 * 18 / 1)
    assert modified_z([1.0, 1.0, 1.0, 9.0]) == [0.0] * 4
    assert modified_z([1.0] * 5) == [0.0] * 5
    assert modified_z([1.0, 1.0, 1.0, 1.0, 1.0, 2.0])[5] > 3.5
