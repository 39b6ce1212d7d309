"""Selects the trials of two sides that are compared, and whether they are paired by round.

If both sides have the same rounds, each once, all trials are used, and paired from
``PAIRED_FROM`` rounds on (docs/decisions/0012). If the rounds differ, as after extra rounds of one
cell or a lost trial, a drift changes the means of both sides differently. Then only the rounds
that both sides have are used, unless the trend within the samples is not significant at the
liberal level ``NO_TREND_FROM`` (docs/decisions/0088). The slope within samples is independent of
the difference of their means, so the choice does not depend on the outcome.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from windtunnel.analysis.effects.cells import Sample
from windtunnel.analysis.statistics.trend import common_slope

Pair = tuple[Sequence[float], Sequence[float]]
"""Values at the level, values at the baseline, of one matched cell."""

PAIRED_FROM = 5
"""Number of rounds from which differences are computed within rounds (docs/decisions/0012)."""
NO_TREND_FROM = 0.5
"""p value of the trend from which trials of unequal rounds are compared (docs/decisions/0088)."""


def compared(sides: Sequence[tuple[Sample, Sample]]) -> tuple[list[Pair], bool]:
    """The values of each side, and whether their differences are computed within rounds.

    Paired values are in the order of the rounds.
    """
    every: list[Pair] = [(a.values, b.values) for a, b in sides]
    if whole_rounds(sides):
        return every, True
    if all(sorted(a.rounds) == sorted(b.rounds) for a, b in sides) or not _trend(sides):
        return every, False
    shared = [_shared(a, b) for a, b in sides]
    if any(len(a) < 2 for a, _ in shared):
        return every, False
    return shared, all(len(a) >= PAIRED_FROM for a, _ in shared)


def whole_rounds(sides: Sequence[tuple[Sample, Sample]]) -> bool:
    """Whether the samples can be paired: they have the same rounds, each once, at least 5."""
    rounds = sides[0][0].rounds
    return (
        len(rounds) >= PAIRED_FROM
        and len(set(rounds)) == len(rounds)
        and all(sample.rounds == rounds for side in sides for sample in side)
    )


def _shared(a: Sample, b: Sample) -> Pair:
    """The values of the rounds that both samples have; none if a round counts twice."""
    ours = dict(zip(a.rounds, a.values, strict=False))
    base = dict(zip(b.rounds, b.values, strict=False))
    if len(ours) < len(a.values) or len(base) < len(b.values):
        return [], []
    rounds = sorted(ours.keys() & base.keys())
    return [ours[number] for number in rounds], [base[number] for number in rounds]


def _trend(sides: Sequence[tuple[Sample, Sample]]) -> bool:
    """Whether a trend over the rounds may exist; on logarithms if all values are positive."""
    samples = [sample for side in sides for sample in side]
    on_logs = all(value > 0 for sample in samples for value in sample.values)
    series = [
        [
            (float(number), math.log(value) if on_logs else value)
            for number, value in zip(sample.rounds, sample.values, strict=False)
        ]
        for sample in samples
    ]
    _, p = common_slope([rows for rows in series if rows])
    return p is not None and p < NO_TREND_FROM
