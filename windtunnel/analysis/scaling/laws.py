"""Amdahl's law and the Universal Scalability Law, fitted to elapsed times by count.

Both are linear in non-negative coefficients if they are written for the elapsed time T of a
fixed amount of work on N units:

- Amdahl [1]_: ``T = t1 ((1 - a) / N + a)`` with the serial fraction a = sigma;
- Gunther [2]_: ``T = t1 (1 + a (N - 1) + b N (N - 1)) / N``, that is
  ``t1 (1 - a) / N + t1 a + t1 b (N - 1)``, contention a, coherency b.

So the fit is non-negative least squares (SciPy's ``nnls``), exact and without starting
values, on relative residuals, because the spread of run times is proportional to their size.
The thousands of replicates are solved together (:func:`nonnegative`).
The intervals come from a parametric bootstrap. Each replicate draws the residual variance from
its chi-squared distribution and the residuals from a normal one. For linear parameters away
from 0, the result is Student's t interval; at 0, the interval does not become negative.

References
----------
.. [1] Amdahl, G. M. (1967). Validity of the single processor approach to achieving large
   scale computing capabilities. AFIPS Spring Joint Computer Conference, 483-485.
.. [2] Gunther, N. J. (2007). Guerrilla Capacity Planning. Springer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from windtunnel.analysis.statistics.summary import CONFIDENCE

Array = NDArray[np.float64]
Law = Literal["Amdahl", "USL"]

REPLICATES = 1000
SEED = 1967
LEVELS_ADVISED = 6
"""Gunther recommends about six levels for his law; fits with fewer levels are indicative."""
NEGLIGIBLE = 1e-9
"""Contention or coherency below this is 0: the peak is then beyond any real cluster."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval; the bounds may be infinite."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    """A fitted law. ``t1`` is the elapsed time of one unit in s, ``levels`` the measured counts.

    ``serial`` is Amdahl's sigma or Gunther's contention, ``coherency`` Gunther's beta (0 for
    Amdahl). ``error`` is the standard deviation of the relative residuals. ``peak`` is the
    count with the shortest time (infinite if there is none), None for Amdahl. ``curves`` holds
    the coefficients of the bootstrap replicates.
    """

    law: Law
    levels: tuple[float, ...]
    t1: Estimate
    serial: Estimate
    coherency: Estimate
    error: float
    peak: Estimate | None
    coefficients: Array
    curves: Array

    def time(self, count: float) -> float:
        """Elapsed time at ``count`` in s."""
        return float(_basis(self.law, np.array([count]))[0] @ self.coefficients)

    def speed_up(self, count: float, base: float) -> float:
        """Time at ``base`` over time at ``count``."""
        return self.time(base) / self.time(count)

    def speed_up_band(self, count: float, base: float) -> tuple[float, float]:
        """The 95 % interval of :meth:`speed_up`."""
        rows = _basis(self.law, np.array([base, count])) @ self.curves.T
        return _interval(rows[0] / rows[1])

    def stops_paying(self, gain: float) -> Estimate:
        """Smallest count from which doubling the units increases the speed by less than ``gain``.

        The search starts at the smallest level; infinite if there is no such count.
        """
        start = min(self.levels)
        return _estimate(lambda c: _stops(self.law, c, start, gain), self.coefficients, self.curves)


def parameters(law: Law) -> int:
    """Number of parameters of a law."""
    return 2 if law == "Amdahl" else 3


def fit(law: Law, counts: Sequence[float], seconds: Sequence[float]) -> Fit | None:
    """Fit a law to (count, elapsed time) of single trials.

    None if there are fewer distinct counts than parameters + 1 (a curve through all points is
    no evidence), or if the law does not fit: the best curve has no time for one unit.
    """
    n, t = np.asarray(counts, dtype=float), np.asarray(seconds, dtype=float)
    levels = tuple(sorted(set(n.tolist())))
    if len(levels) < parameters(law) + 1 or bool((t <= 0).any()):
        return None
    basis = _basis(law, n)
    # For relative residuals, each row is divided by the mean time of its level.
    weight = 1 / np.array([t[n == value].mean() for value in n])
    best = nnls(basis * weight[:, None], t * weight)[0]
    fitted = basis @ best
    if best[0] + best[1] <= 0 or bool((fitted <= 0).any()):
        return None
    spare = len(t) - parameters(law)
    error = math.sqrt(float((((t - fitted) * weight) ** 2).sum()) / spare)
    curves = _replicates(basis, fitted, error, spare)
    if len(curves) < REPLICATES / 2:
        return None
    return Fit(
        law=law,
        levels=levels,
        t1=_estimate(lambda c: c[:, 0] + c[:, 1], best, curves),
        serial=_estimate(_serial, best, curves),
        coherency=_estimate(_coherency, best, curves),
        error=error,
        peak=_estimate(_peak, best, curves) if law == "USL" else None,
        coefficients=best,
        curves=curves,
    )


def _basis(law: Law, n: Array) -> Array:
    columns = [1 / n, np.ones_like(n)] + ([n - 1] if law == "USL" else [])
    return np.column_stack(columns)


def _replicates(basis: Array, fitted: Array, error: float, spare: int) -> Array:
    rng = np.random.default_rng(SEED)
    scale = error * np.sqrt(spare / rng.chisquare(spare, REPLICATES))
    noise = rng.standard_normal((REPLICATES, len(fitted))) * scale[:, None]
    relative = np.maximum(1 + noise, 1e-3)
    curves = nonnegative(basis / fitted[:, None], relative)
    possible: Array = curves[curves[:, 0] + curves[:, 1] > 0]
    return possible


def nonnegative(basis: Array, rows: Array) -> Array:
    """Non-negative least squares of each row on the columns of ``basis``, as ``nnls`` gives it.

    The coefficients above 0 solve the ordinary least squares problem of their own columns. With
    two or three columns there are 3 or 7 such problems, which are solved for all rows together.
    The result is the solution without negative coefficients that has the smallest residual.
    """
    q, r = np.linalg.qr(basis)  # The part outside the columns is a residual in any case.
    sides = rows @ q
    best: Array = np.zeros(sides.shape)
    least = (sides**2).sum(axis=1)
    columns = range(basis.shape[1])
    for chosen in (c for size in columns for c in combinations(columns, size + 1)):
        part = r[:, chosen]
        found = np.linalg.lstsq(part, sides.T)[0].T
        left = ((sides - found @ part.T) ** 2).sum(axis=1)
        better = (found >= 0).all(axis=1) & (left < least)
        best[better] = 0.0
        best[np.ix_(better, chosen)] = found[better]
        least[better] = left[better]
    return best


def _estimate(of: Callable[[Array], Array], best: Array, curves: Array) -> Estimate:
    """A number of the fit with its interval; ``of`` computes it for each row of coefficients."""
    low, high = _interval(of(curves))
    return Estimate(float(of(best[None, :])[0]), low, high)


def _interval(values: Array) -> tuple[float, float]:
    """Percentiles without interpolation, so that infinite values can be bounds."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail], method="nearest")
    return float(low), float(high)


def _serial(rows: Array) -> Array:
    share: Array = rows[:, 1] / (rows[:, 0] + rows[:, 1])
    return share


def _coherency(rows: Array) -> Array:
    if rows.shape[1] < 3:
        return np.zeros(len(rows))
    ratio: Array = rows[:, 2] / (rows[:, 0] + rows[:, 1])
    return ratio


def _peak(rows: Array) -> Array:
    """Gunther's N* = sqrt((1 - a) / b), at least 1."""
    coherency = _coherency(rows)
    known = coherency > NEGLIGIBLE
    found = np.full(len(rows), np.inf)
    ratio = np.maximum(0.0, 1 - _serial(rows[known])) / coherency[known]
    found[known] = np.maximum(1.0, np.sqrt(ratio))
    return found


def _stops(law: Law, rows: Array, start: float, gain: float) -> Array:
    """Count from which doubling gains less than ``gain``; the gain decreases with the count."""
    grid = start * np.exp2(np.arange(0, 14, 0.05))
    once, twice = _basis(law, grid) @ rows.T, _basis(law, 2 * grid) @ rows.T
    poor = once < twice * (1 + gain)
    return np.where(poor.any(axis=0), grid[poor.argmax(axis=0)], np.inf)
