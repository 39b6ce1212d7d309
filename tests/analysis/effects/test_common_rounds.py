"""Cells with different rounds: a drift must not become an effect."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from windtunnel.analysis.effects.cells import Sample, samples
from windtunnel.analysis.effects.common_rounds import compared, whole_rounds
from windtunnel.analysis.effects.effects import Effect, effect
from windtunnel.analysis.observations import ELAPSED, TOTAL, Observation

ABOUT = ("settings", "tuned", "stock", "terasort", "total", "elapsed", "s")
NOISE = 0.03
STUDIES = 400


def sample(values: Sequence[float], rounds: Sequence[int] | None = None) -> Sample:
    return Sample("s", list(values), list(rounds or range(1, len(values) + 1)))


def studied(rounds: int, extra: int, drift: float, seed: int = 5) -> list[Effect]:
    """Effects of studies without a difference; ``tuned`` alone has the extra rounds.

    ``drift`` is the change per round on logarithms, in standard deviations of the noise.
    """
    rng = np.random.default_rng(seed)
    trend = drift * np.arange(rounds + extra)
    made = []
    for noise in rng.standard_normal((STUDIES, 2, rounds + extra)):
        tuned, stock = 100 * np.exp(NOISE * (trend + noise))
        values, paired = compared([(sample(tuned), sample(stock[:rounds]))])
        made.append(effect(ABOUT, values, paired=paired))
    return made


def coverage(found: Sequence[Effect]) -> float:
    """Fraction of the intervals that contain "no difference"."""
    inside = [
        e.ci_low is not None and e.ci_high is not None and e.ci_low <= 0 <= e.ci_high for e in found
    ]
    return sum(inside) / len(inside)


@pytest.mark.parametrize("drift", [0.0, 0.1, 0.2, 0.5, 3.0])
@pytest.mark.parametrize(("rounds", "extra"), [(5, 2), (5, 10), (3, 3), (10, 2)])
def test_intervals_cover_no_difference_with_and_without_drift(
    rounds: int, extra: int, drift: float
) -> None:
    # The standard error of 95 % of 400 studies is 1.1 %.
    assert coverage(studied(rounds, extra, drift)) > 0.917


def test_a_drift_is_no_effect_and_all_trials_are_used_without_a_drift() -> None:
    assert {e.method for e in studied(5, 10, 3.0)} == {"paired by round, on logs"}
    assert {(e.n, e.n_baseline) for e in studied(5, 10, 3.0)} == {(5, 5)}
    still = [e for e in studied(5, 10, 0.0) if e.n == 15]
    assert all(e.method == "welch on logs" for e in still)
    assert 0.4 < len(still) / STUDIES < 0.6


def test_the_difference_of_the_common_rounds_is_reported() -> None:
    times = [100 * 1.04**number for number in range(7)]
    wiggle = [1.002, 0.999, 1.001, 0.998, 1.0]
    stock = [time * by for time, by in zip(times, wiggle, strict=False)]
    values, paired = compared([(sample(times), sample(stock))])
    e = effect(ABOUT, values, paired=paired)
    assert paired and e.relative == pytest.approx(0.0, abs=0.001)
    assert e.mean - e.mean_baseline == pytest.approx(e.absolute)


def test_rounds_that_one_side_lost_are_not_compared_if_there_is_a_trend() -> None:
    times = [100 * math.exp(0.1 * number) for number in range(1, 8)]
    some = [1, 3, 4, 5, 6, 7]
    less = sample([times[number - 1] for number in some], some)
    values, paired = compared([(sample(times), less)])
    assert paired and values[0][0] == values[0][1] == less.values


def test_without_common_rounds_all_trials_are_compared() -> None:
    early, late = sample([1.0, 2.0, 4.0]), sample([8.0, 16.0, 32.0], [4, 5, 6])
    assert compared([(early, late)]) == ([(early.values, late.values)], False)


def test_rows_without_rounds_have_none_in_common() -> None:
    """Sorted rows of a table look like rounds, and would have a far too small error."""
    rows = [
        Observation(f"{name}-{n}", "sort", name, n, TOTAL, ELAPSED, "s", value, True, False)
        for name, low in (("a", 100.0), ("b", 101.0))
        for n, value in enumerate((low, low + 2, low + 4, low + 6, low + 8), start=1)
    ]
    for known in (True, False):
        a, b = samples(rows, rounds_known=known).values()
        assert compared([(a, b)])[1] is known
        assert whole_rounds([(a, b)]) is known


def test_a_round_that_was_repeated_last_is_paired() -> None:
    """``run --retry-invalid`` repeats a trial of an early round at the end of a study."""
    base = {1: 100.0, 2: 120.0, 3: 90.0, 4: 140.0, 5: 110.0}
    times = {"a": {n: base[n] * (0.99 + n / 1000) for n in (2, 3, 4, 5, 1)}, "b": base}
    rows = [
        Observation(f"{name}-{n}", "sort", name, n, TOTAL, ELAPSED, "s", value, True, False)
        for name, values in times.items()
        for n, value in values.items()
    ]
    a, b = samples(rows).values()
    assert a.rounds == b.rounds == [1, 2, 3, 4, 5]
    assert a.values == [times["a"][n] for n in a.rounds]
    values, paired = compared([(a, b)])
    e = effect(ABOUT, values, paired=paired)
    assert e.method == "paired by round, on logs"
    assert e.ci_low is not None and e.ci_high is not None
    assert -0.02 < e.ci_low < e.ci_high < 0.0
