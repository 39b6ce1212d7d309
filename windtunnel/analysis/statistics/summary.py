"""Statistics on plain numbers, with the distributions of SciPy.

References
----------
.. [1] Welch, B. L. (1947). The generalization of "Student's" problem when several
   different population variances are involved. Biometrika 34, 28-35.
.. [2] Satterthwaite, F. E. (1946). An approximate distribution of estimates of
   variance components. Biometrics Bulletin 2, 110-114.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

CONFIDENCE = 0.95
ALPHA = 0.05
"""Accepted probability of a false positive: an effect with a p value below it is detected."""
POWER = 0.80
INDICATIVE_BELOW = 5
"""A cell with fewer trials than this is indicative (rule of trust 2)."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Location and spread of one sample; spread and interval are None where unknown."""

    n: int
    mean: float
    median: float
    sd: float | None
    cv: float | None
    ci_low: float | None
    ci_high: float | None


_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Contrast:
    """A weighted sum of means. ``se`` and ``df`` are None if some variance is unknown."""

    estimate: float
    se: float | None
    df: float | None

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
        """Two-sided t interval, or None where the spread is unknown."""
        if self.se is None or self.df is None:
            return None
        half = quantile(0.5 + confidence / 2, self.df) * self.se if self.se > 0 else 0.0
        return self.estimate - half, self.estimate + half

    def p(self) -> float | None:
        """Two-sided p value of "the true value is 0", or None where the spread is unknown."""
        if self.se is None or self.df is None:
            return None
        if self.se == 0:
            return 0.0 if self.estimate != 0 else 1.0
        return two_sided_p(self.estimate / self.se, self.df)

    def detectable(self, confidence: float = CONFIDENCE, power: float = POWER) -> float | None:
        """The smallest true value that a two-sided t test detects with this power.

        From the noncentral t distribution; None where the spread is unknown or 0.
        """
        if self.se is None or self.df is None or self.se == 0:
            return None
        critical = quantile(0.5 + confidence / 2, self.df)
        shift = float(special.nctdtrinc(self.df, 1 - power, critical))
        return shift * self.se if math.isfinite(shift) else None


@lru_cache(maxsize=4096)
def quantile(probability: float, df: float) -> float:
    """Quantile of Student's t with ``df`` degrees of freedom."""
    return float(special.stdtrit(df, probability))


def two_sided_p(t: float, df: float) -> float:
    """Two-sided p value of a t statistic."""
    return float(2 * special.stdtr(df, -abs(t)))


def summarise(values: Sequence[float], *, printed: bool = False) -> Summary:
    """Summary of at least one number.

    With one number the spread is unknown, never 0 (rule of trust 2). It is also unknown if
    ``printed`` numbers, which have few digits, are equal: it is below the last digit. The interval
    is Student's t for the mean; ``cv`` is sd / abs(mean), None where the mean is 0.

    Raises
    ------
    ValueError
        If there is no number.
    """
    n = len(values)
    if n == 0:
        raise ValueError("no values to summarise")
    data = np.asarray(values, dtype=float)
    mean = float(data.mean())
    median = float(np.median(data))
    sd = _sd(data) if n > 1 else None
    if sd is None or (printed and sd == 0):
        return Summary(n, mean, median, None, None, None, None)
    half = quantile(0.5 + CONFIDENCE / 2, n - 1) * sd / math.sqrt(n)
    cv = sd / abs(mean) if mean != 0 else None
    return Summary(n, mean, median, sd, cv, mean - half, mean + half)


def contrast(terms: Sequence[tuple[float, Sequence[float]]], *, printed: bool = False) -> Contrast:
    """``sum(weight * mean(values))`` over independent samples of unequal variance.

    The standard error is that of Welch [1]_, the degrees of freedom those of
    Satterthwaite [2]_; for two samples with weights 1 and -1 this is Welch's t
    interval (``scipy.stats.ttest_ind(equal_var=False)``), which the tests check.
    The error is unknown if a sample contains only one number. It is also unknown, and not 0, if
    the numbers are ``printed`` ones and those of each sample are equal.
    """
    estimate = 0.0
    variance = 0.0
    spread = 0.0
    known = True
    for weight, values in terms:
        data = np.asarray(values, dtype=float)
        n = len(data)
        estimate += weight * float(data.mean())
        if n < 2:
            known = False
            continue
        part = weight**2 * _sd(data) ** 2 / n
        variance += part
        spread += part**2 / (n - 1)
    if not known:
        return Contrast(estimate, None, None)
    if variance == 0 or spread == 0:
        largest = max((abs(weight * float(np.mean(values))) for weight, values in terms), default=0)
        if abs(estimate) <= _ROUNDING * largest:
            estimate = 0.0  # equal values, whose means differ by rounding
        if printed:
            return Contrast(estimate, None, None)
        return Contrast(estimate, 0.0, float(sum(len(v) - 1 for _, v in terms)))
    return Contrast(estimate, math.sqrt(variance), variance**2 / spread)


def _sd(data: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Sample standard deviation; exactly 0 for equal numbers, in spite of rounding errors."""
    return 0.0 if bool((data == data[0]).all()) else float(data.std(ddof=1))
