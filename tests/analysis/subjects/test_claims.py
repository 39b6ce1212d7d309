"""Verdicts on published ratios."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.subjects.claims import (
    GRADES,
    Evidence,
    counts,
    grade,
    measured_ratio,
    verdict,
)
from windtunnel.results.folder import read_results


def found(low: float, high: float, n: int = 3) -> Evidence:
    return Evidence(math.sqrt(low * high), low, high, n, n)


@pytest.mark.parametrize(
    ("published", "low", "high", "expected"),
    [
        (7.0, 6.5, 7.5, "same size"),
        (7.0, 5.0, 9.0, "same size"),  # the point is in the band, the interval excludes 1
        (7.0, 2.0, 3.0, "same direction"),
        (7.0, 0.8, 1.5, "contradicted"),  # below the band, and no effect on the published side
        (7.0, 0.5, 12.0, "not decided"),
        (7.0, 0.5, 0.9, "contradicted"),
        (0.83, 0.80, 0.86, "same size"),
        (0.83, 1.02, 1.05, "contradicted"),
        (0.2, 0.25, 0.4, "same direction"),
        (1.0, 0.95, 1.05, "same size"),
        (1.0, 0.5, 2.0, "not decided"),
        (1.0, 1.3, 1.5, "contradicted"),
        (1.05, 0.97, 0.99, "contradicted"),  # the other direction, although within the tolerance
    ],
)
def test_the_grades(published: float, low: float, high: float, expected: str) -> None:
    assert grade(published, 0.15, found(low, high)) == expected


@given(
    published=st.floats(0.05, 20),
    ratio=st.floats(0.05, 20),
    width=st.floats(1.0001, 5),
    tolerance=st.floats(0.01, 1),
)
def test_the_grade_is_the_same_with_both_sides_exchanged(
    published: float, ratio: float, width: float, tolerance: float
) -> None:
    one = grade(published, tolerance, Evidence(ratio, ratio / width, ratio * width, 3))
    other = grade(
        1 / published, tolerance, Evidence(1 / ratio, 1 / ratio / width, width / ratio, 3)
    )
    near = {published * (1 + tolerance), published / (1 + tolerance), 1.03, 1 / 1.03, 1.0}
    edges = (ratio, ratio / width, ratio * width, published)
    if not any(math.isclose(edge, limit, rel_tol=1e-6) for edge in edges for limit in near):
        assert one == other


def test_one_trial_decides_nothing() -> None:
    assert grade(7.0, 0.15, Evidence(7.0, None, None, 1)) == "not decided"


def test_a_missing_interval_has_the_number_of_trials_of_the_smaller_side() -> None:
    assert Evidence(0.83, None, None, 5, 1).words == "x0.83 (n = 1)"
    assert Evidence(0.83, None, None, 1, 5).words == "x0.83 (n = 1)"
    assert Evidence(0.83, None, None).words == "x0.83 (no interval)"


def test_a_measurement_decides_before_a_prediction() -> None:
    measured, predicted = found(0.5, 0.6), found(6.5, 7.5, 0)
    assert verdict(7.0, 0.15, measured, predicted, "") == ("contradicted", "measured", "")
    assert verdict(7.0, 0.15, None, predicted, "")[:2] == ("same size", "predicted")


def test_what_is_missing_is_said() -> None:
    assert verdict(7.0, 0.15, None, None, "")[0] == "not measured yet"
    assert verdict(7.0, 0.15, None, None, "needs RDMA") == (
        "cannot be tested here",
        "",
        "needs RDMA",
    )
    made = verdict(None, 0.15, found(1, 2), None, "")
    assert made[0] == "cannot be tested here" and "not in this catalogue" in made[2]
    assert verdict(7.0, 0.15, Evidence(7, None, None, 1), None, "")[2].startswith("one trial")


def test_the_ratio_of_two_treatments(tmp_path: Path) -> None:
    study_folder(tmp_path, Plan(trials=6, write_samples=False))
    analysis = analyse(read_results(tmp_path))
    where = ("terasort", "total", "elapsed")
    made = measured_ratio(analysis, where, {"settings": "tuned"}, {})
    assert made is not None and made.low is not None and made.high is not None
    effect = next(e for e in analysis.effects if (e.workload, e.phase, e.metric) == where)
    assert effect.relative is not None
    assert made.ratio == pytest.approx(1 + effect.relative)
    assert made.low < made.ratio < made.high and made.n == 3
    back = measured_ratio(analysis, where, {}, {"settings": "tuned"})
    assert back is not None and back.ratio == pytest.approx(1 / made.ratio)
    assert measured_ratio(analysis, where, {"settings": "none"}, {}) is None


def test_counts_are_in_the_order_of_the_grades() -> None:
    assert counts([]) == "no claims"
    assert GRADES[:4] == ("same size", "same direction", "contradicted", "cannot be tested here")
