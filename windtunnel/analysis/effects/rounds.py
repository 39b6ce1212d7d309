"""The number of rounds with which a difference of the measured size would be detected."""

from __future__ import annotations

import math

from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.statistics.summary import ALPHA, Contrast

MOST_ROUNDS = 1_000


def rounds_needed(e: Effect) -> float | None:
    """Rounds in all, at the noise of this study and at the corrected level, with 80 % power.

    The standard error is taken to fall with the root of the number of trials per cell, and the
    degrees of freedom to grow with this number minus 1. None if the noise or the effect is
    unknown, infinity if ``MOST_ROUNDS`` are too few.
    """
    trials = min(e.n, e.n_baseline)
    if e.predicted or not e.se_log or not e.df or trials < 2:
        return None
    if e.relative is None or e.relative <= -1:
        return None
    size = abs(math.log1p(e.relative))

    def enough(rounds: int) -> bool:
        """Whether the minimum detectable effect of so many rounds is at most the measured one."""
        se = float(e.se_log or 0.0) * math.sqrt(trials / rounds)
        df = float(e.df or 0.0) * (rounds - 1) / (trials - 1)
        seen = Contrast(0.0, se, df).detectable(confidence=1 - ALPHA / e.comparisons)
        return seen is not None and seen <= size

    if not enough(MOST_ROUNDS):
        return math.inf
    low, high = 1, MOST_ROUNDS  # invariant: high is enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
