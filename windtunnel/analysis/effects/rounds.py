"""The number of rounds with which a difference of the measured size would be detected."""

from __future__ import annotations

import math
from bisect import bisect_left

from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.statistics.summary import ALPHA, Contrast

MOST_ROUNDS = 1_000


def rounds_needed(e: Effect) -> float | None:
    """Rounds in all, at the noise of this study and at the corrected level, with 80 % power.

    The standard error is taken to fall with the root of the number of trials per cell, and the
    degrees of freedom to grow with this number minus 1. None if the noise or the effect is
    unknown, infinity if ``MOST_ROUNDS`` are too few.
    """
    trials, se, df = min(e.n, e.n_baseline), e.se_log, e.df
    if e.predicted or not se or not df or trials < 2 or e.relative is None or e.relative <= -1:
        return None
    size = abs(math.log1p(e.relative))

    def enough(rounds: int) -> bool:
        """Whether the minimum detectable effect of so many rounds is at most the measured one."""
        planned = Contrast(
            0.0, se * math.sqrt(trials / rounds), df * (rounds - 1) / (trials - 1)
        ).detectable(confidence=1 - ALPHA / e.comparisons)
        return planned is not None and planned <= size

    found = bisect_left(range(MOST_ROUNDS + 1), True, lo=2, key=enough)
    return found if found <= MOST_ROUNDS else math.inf
