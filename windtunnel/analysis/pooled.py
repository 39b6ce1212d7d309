"""The spread that all treatments of a study share, for effects of few trials each.

The two trials of a treatment hardly tell its spread; the pairs of eight treatments together do.
On the log scale the spread is the coefficient of variation, which treatments share more nearly
than seconds; and an effect that is averaged over all of them needs only their mean spread.
Analysis of variance rests on the same error, so that both give one answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.analysis.cells import Sample


@dataclass(frozen=True, slots=True)
class Pool:
    """``variance`` of one trial's logarithm, with ``df`` degrees of freedom."""

    variance: float
    df: int


def pool(samples: Sequence[Sample]) -> Pool | None:
    """The mean spread within samples; what the trials of a round share is taken out.

    That is possible where all samples have the same rounds, each once; elsewhere it counts as
    spread. None where a sample has a single value, or one that has no logarithm.
    """
    if any(len(s.values) < 2 or min(s.values) <= 0 for s in samples):
        return None
    logs = [np.log(s.values) for s in samples]
    left = [values - values.mean() for values in logs]
    df = sum(len(values) - 1 for values in left)
    rounds = samples[0].rounds
    if len(set(rounds)) == len(rounds) > 0 and all(s.rounds == rounds for s in samples):
        shared = np.mean(left, axis=0)
        left = [values - shared for values in left]
        df -= len(rounds) - 1
    if df < 1:
        return None
    return Pool(float(sum(values @ values for values in left)) / df, df)
