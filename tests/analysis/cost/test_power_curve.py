"""Joules from watts: exact for known series, additive over phases, unknown over gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.analysis.cost.power_curve import PowerCurve
from windtunnel.results.power import STAMPS, Stamp

T = np.array([0.0, 10.0, 20.0, 30.0])
W = np.array([100.0, 200.0, 400.0, 400.0])


@pytest.mark.parametrize(
    ("stamp", "start", "end", "joules"),
    [
        ("instant", 0.0, 30.0, 1500.0 + 3000.0 + 4000.0),
        ("instant", 5.0, 10.0, 875.0),  # a trapezoid from 150 to 200 W
        ("end", 0.0, 30.0, 2000.0 + 4000.0 + 4000.0),
        ("end", -10.0, 0.0, 1000.0),  # the first sample is the mean of the period before it
        ("end", 5.0, 15.0, 1000.0 + 2000.0),
        ("start", 0.0, 30.0, 1000.0 + 2000.0 + 4000.0),
        ("start", 30.0, 40.0, 4000.0),
        ("start", 5.0, 15.0, 500.0 + 1000.0),
        ("instant", 7.0, 7.0, 0.0),
    ],
)
def test_known_series(stamp: Stamp, start: float, end: float, joules: float) -> None:
    assert PowerCurve(T, W, stamp).energy(start, end) == pytest.approx(joules)


@pytest.mark.parametrize("stamp", STAMPS)
@pytest.mark.parametrize(("start", "end"), [(-10.1, 5.0), (25.0, 40.1), (50.0, 60.0)])
def test_outside_of_the_samples_nothing_is_known(stamp: Stamp, start: float, end: float) -> None:
    assert PowerCurve(T, W, stamp).energy(start, end) is None


@pytest.mark.parametrize("stamp", STAMPS)
def test_a_gap_is_not_bridged(stamp: Stamp) -> None:
    t = np.array([0.0, 10.0, 20.0, 60.0, 70.0, 80.0])
    curve = PowerCurve(t, np.full(6, 100.0), stamp)

    assert curve.energy(15.0, 65.0) is None
    assert curve.energy(35.0, 45.0) is None
    assert curve.energy(0.0, 19.0) == pytest.approx(1900.0)
    assert curve.energy(61.0, 80.0) == pytest.approx(1900.0)


def test_one_missing_sample_is_bridged() -> None:
    t = np.array([0.0, 10.0, 30.0, 40.0])
    assert PowerCurve(t, np.full(4, 50.0)).energy(0.0, 40.0) == pytest.approx(2000.0)


def test_one_sample_alone_needs_its_period() -> None:
    alone = np.array([5.0]), np.array([80.0])
    assert PowerCurve(*alone).energy(4.0, 6.0) is None
    assert PowerCurve(*alone, "end", 10.0).energy(-5.0, 5.0) == pytest.approx(800.0)


def test_samples_and_dropouts_are_counted() -> None:
    curve = PowerCurve(np.arange(10.0), np.array([100.0] * 7 + [0.0, 20.0, 100.0]))
    assert curve.samples(2.0, 5.0) == 3
    assert curve.dropouts(0.0, 10.0) == 2
    assert curve.dropouts(0.0, 5.0) == 0


@given(
    watts=st.lists(st.floats(0, 5000), min_size=2, max_size=30),
    step=st.floats(0.1, 300),
    stamp=st.sampled_from(STAMPS),
    cuts=st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
def test_adjacent_phases_add_up_and_stay_in_bounds(
    watts: list[float], step: float, stamp: Stamp, cuts: list[float]
) -> None:
    t = 1.4e9 + step * np.arange(len(watts), dtype=float)
    curve = PowerCurve(t, np.array(watts), stamp, step)
    a, b, c = (float(t[0] + cut * (t[-1] - t[0])) for cut in sorted(cuts))
    first, second, whole = curve.energy(a, b), curve.energy(b, c), curve.energy(a, c)

    assert first is not None
    assert second is not None
    assert whole is not None
    tolerance = 1e-6 * max(watts) * step * len(watts) + 1e-9
    assert first + second == pytest.approx(whole, abs=tolerance)
    assert min(watts) * (c - a) - tolerance <= whole <= max(watts) * (c - a) + tolerance
