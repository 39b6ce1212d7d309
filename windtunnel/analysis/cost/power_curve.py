"""Watts over time as one curve that can be integrated: joules between two instants."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from windtunnel.results.power import Array, Stamp

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

GAP = 2.5
"""Samples with a larger distance than this number of periods have a gap between them."""
DROPOUT_BELOW = 0.25
"""A sample below this fraction of the curve's median indicates a meter that lost hosts."""


class PowerCurve:
    """Power of one host, group or domain.

    A sample that is a mean (``stamp`` is ``end`` or ``start``) holds over its period; instants
    are joined by straight lines (trapezoids). Before the first and after the last sample, the
    curve extends by one period; beyond that, and in gaps, it is unknown.

    Parameters
    ----------
    t, watts:
        Instants in seconds, strictly increasing, and W; at least one.
    period_s:
        Time between samples; None: their median distance.
    group:
        The metered group, host or domain. Several curves of one group cover different times.
    """

    def __init__(
        self,
        t: Array,
        watts: Array,
        stamp: Stamp = "instant",
        period_s: float | None = None,
        group: str = "",
    ) -> None:
        if period_s is None:
            period_s = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
        self.t, self.watts, self.stamp, self.period_s = t, watts, stamp, period_s
        self.group = group

    def energy(self, start: float, end: float) -> float | None:
        """Joules from ``start`` to ``end``; None where the samples do not cover all of it."""
        if self.period_s <= 0:
            return None
        joules = float(self._pieces.integrate(start, end, extrapolate=False))
        return joules if math.isfinite(joules) else None

    def samples(self, start: float, end: float) -> int:
        """Number of samples from ``start`` to ``end``."""
        first, last = np.searchsorted(self.t, [start, end])
        return int(last - first)

    def dropouts(self, start: float, end: float) -> int:
        """Number of samples from ``start`` to ``end`` far below the curve's median."""
        first, last = np.searchsorted(self.t, [start, end])
        return int(np.sum(self.watts[first:last] < DROPOUT_BELOW * np.median(self.watts)))

    @cached_property
    def _pieces(self) -> PPoly[Any]:
        """Linear pieces between samples; NaN in gaps, so that an integral over a gap is NaN."""
        from scipy.interpolate import PPoly  # slow to import, and most studies have no power

        period, gap = self.period_s, GAP * self.period_s
        first = [(self.t[0] - period, self.t[0], self.watts[0], self.watts[0])]
        last = [(self.t[-1], self.t[-1] + period, self.watts[-1], self.watts[-1])]
        rows = first
        for a, b, left, right in zip(
            self.t[:-1], self.t[1:], self.watts[:-1], self.watts[1:], strict=True
        ):
            rows += self._between(a, b, left, right, period if b - a > gap else None)
        rows += last
        edges = np.array([rows[0][0], *(row[1] for row in rows)])
        left_watts = np.array([row[2] for row in rows])
        right_watts = np.array([row[3] for row in rows])
        slopes = (right_watts - left_watts) / np.diff(edges)
        return PPoly(np.vstack([slopes, left_watts]), edges)

    def _between(
        self, a: float, b: float, left: float, right: float, reach: float | None
    ) -> list[tuple[float, float, float, float]]:
        """Pieces (from, to, watts there, watts here) between two samples.

        ``reach`` is the extension of each of them into a gap; None: there is no gap.
        """
        nan = math.nan
        if self.stamp == "end":
            if reach is None:
                return [(a, b, right, right)]
            return [(a, b - reach, nan, nan), (b - reach, b, right, right)]
        if self.stamp == "start":
            if reach is None:
                return [(a, b, left, left)]
            return [(a, a + reach, left, left), (a + reach, b, nan, nan)]
        return [(a, b, left, right)] if reach is None else [(a, b, nan, nan)]
