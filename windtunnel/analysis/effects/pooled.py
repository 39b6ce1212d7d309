"""The pooled spread of all treatments of a study, for effects with few trials each.

Two trials of one treatment give a poor estimate of its spread; the pairs of eight treatments
together give a good one. On the log scale, the spread is the coefficient of variation, which
differs less between treatments than the spread in seconds. An effect that is averaged over all
treatments requires only their mean spread. The analysis of variance uses the same error, so
both methods agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.analysis.effects.cells import Sample


@dataclass(frozen=True, slots=True)
class Pool:
    """``variance`` of one trial's logarithm, with ``df`` degrees of freedom."""

    variance: float
    df: int


def pool(samples: Sequence[Sample]) -> Pool | None:
    """The mean spread within samples, without the part that the trials of a round share.

    That part can be removed if all samples have the same rounds, each once; otherwise it counts
    as spread. None if a sample has a single value, or a value without a logarithm.
    """
    if any(len(s.values) < 2 or min(s.values) <= 0 for s in samples):
        return None
    logs = [np.log(s.values) for s in samples]
    left = [_deviations(values) for values in logs]
    df = sum(len(values) - 1 for values in left)
    rounds = samples[0].rounds
    if len(set(rounds)) == len(rounds) > 0 and all(s.rounds == rounds for s in samples):
        shared = np.mean(left, axis=0)
        left = [values - shared for values in left]
        df -= len(rounds) - 1
    if df < 1:
        return None
    return Pool(float(sum(values @ values for values in left)) / df, df)


def _deviations(values: np.ndarray) -> np.ndarray:
    """The deviations from the mean; exactly 0 if all values are equal, without rounding."""
    return np.zeros_like(values) if (values == values[0]).all() else values - values.mean()
