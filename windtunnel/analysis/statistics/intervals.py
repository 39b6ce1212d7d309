"""Intervals without the assumption of a normal distribution: BCa bootstrap, and the median's.

The interval of a mean is Student's t by default, at every n. BCa [1]_ is also available from
8 trials on: a bootstrap only resamples the observed values, so with few trials its interval is
too short (``python -m bench statistics`` prints the coverage of both on data of known truth).

References
----------
.. [1] Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American
   Statistical Association 82(397), 171-185.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from windtunnel.analysis.statistics.summary import CONFIDENCE
from windtunnel.errors import UsageError

Method = Literal["t", "bca"]
METHODS: tuple[Method, ...] = ("t", "bca")
Interval = tuple[float, float]

BCA_FROM = 8
RESAMPLES = 2000
"""Efron (1987) requires at least 1,000 for BCa."""
SEED = 20140313
"""Fixed, so that the same folder gives the same report."""
_AT_ONCE = 4_000_000
"""Numbers in memory at the same time during resampling: about 32 MB."""


def method_named(name: str) -> Method:
    """The method with this name; UsageError if there is none."""
    for method in METHODS:
        if method == name:
            return method
    raise UsageError(f"--interval {name}: no such interval", remedy=f"use {' or '.join(METHODS)}.")


def bca_intervals(groups: Sequence[Sequence[float]]) -> list[Interval | None]:
    """95 % BCa intervals of the means; None below 8 numbers or where all are equal.

    Groups of equal size are resampled together, which takes a fraction of the time.
    """
    found: list[Interval | None] = [None] * len(groups)
    by_size: dict[int, list[int]] = defaultdict(list)
    for place, values in enumerate(groups):
        if len(values) >= BCA_FROM and min(values) < max(values):
            by_size[len(values)].append(place)
    for places in by_size.values():
        lows, highs = _bca(np.array([groups[place] for place in places], dtype=float))
        for place, low, high in zip(places, lows, highs, strict=True):
            known = math.isfinite(low) and math.isfinite(high)
            found[place] = (float(low), float(high)) if known else None
    return found


def _bca(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds, one per row of ``data`` (cells x trials)."""
    from scipy.stats import bootstrap  # The import takes a second: only when needed.

    made = bootstrap(
        (data,),
        np.mean,
        axis=-1,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, min(RESAMPLES, _AT_ONCE // data.size)),
        confidence_level=CONFIDENCE,
        method="BCa",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return np.atleast_1d(made.low), np.atleast_1d(made.high)


def median_interval(values: Sequence[float]) -> Interval | None:
    """The interval of the median with at least 95 % confidence; None below 6 numbers.

    The bounds are two of the ordered numbers. With fewer than 6 numbers, even the smallest and
    the largest include the median with less than 95 % confidence.
    """
    ranks = _median_ranks(len(values))
    if ranks is None:
        return None
    ordered = sorted(values)
    return ordered[ranks[0]], ordered[ranks[1]]


@lru_cache(maxsize=1024)
def _median_ranks(n: int) -> tuple[int, int] | None:
    """Indices of the bounds, from SciPy's quantile test applied to 0, 1 .. n - 1."""
    if n < 6:
        return None
    from scipy.stats import quantile_test

    span = quantile_test(np.arange(n), p=0.5).confidence_interval(CONFIDENCE)
    if not (math.isfinite(span.low) and math.isfinite(span.high)):
        return None
    return int(span.low), int(span.high)
