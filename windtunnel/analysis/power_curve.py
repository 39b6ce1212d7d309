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
"""Samples further apart than this many periods leave a gap, which nothing bridges."""
DROPOUT_BELOW = 0.25
"""A sample below this share of the curve's median looks like a meter that lost hosts."""


class PowerCurve:
    """Power of one host, group or domain.

    A sample that is a mean (``stamp`` is ``end`` or ``start``) holds over its period; instants
    are joined by straight lines (trapezoids). Before the first and after the last sample the
    curve goes on for one period, then it is unknown, as it is in gaps.

    Parameters
    ----------
    t, watts:
        Instants in seconds, strictly rising, and W; at least one.
    period_s:
        Time between samples; None: their median distance.
    """

    def __init__(
        self, t: Array, watts: Array, stamp: Stamp = "instant", period_s: float | None = None
    ) -> None:
        if period_s is None:
            period_s = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
        self.t, self.watts, self.stamp, self.period_s = t, watts, stamp, period_s

    def energy(self, start: float, end: float) -> float | None:
        """Joules from ``start`` to ``end``; None where the samples do not cover all of it."""
        if self.period_s <= 0:
            return None
        joules = float(self._pieces.integrate(start, end, extrapolate=False))
        return joules if math.isfinite(joules) else None

    def samples(self, start: float, end: float) -> int:
        """Samples with their instant from ``start`` to ``end``."""
        first, last = np.searchsorted(self.t, [start, end])
        return int(last - first)

    def dropouts(self, start: float, end: float) -> int:
        """Samples between the instants that are far below all others of the curve."""
        first, last = np.searchsorted(self.t, [start, end])
        return int(np.sum(self.watts[first:last] < DROPOUT_BELOW * np.median(self.watts)))

    @cached_property
    def _pieces(self) -> PPoly[Any]:
        """Straight pieces between edges; NaN over gaps, so that no integral crosses one."""
        from scipy.interpolate import PPoly  # takes a while to load, and most studies have no watts

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

        ``reach`` is how far each of them reaches into a gap; None: there is no gap.
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
