"""Uncertainty of a difference between two results folders, including drift between them.

The trials of one folder share a session: one machine in one state. The spread within a session
does not contain changes between two sessions. The times of the trials distinguish three situations:

- **interleaved**: the folders ran at the same time. A drift affects both equally; the common
  trend is removed (analysis of covariance), which costs almost no precision.
- **back to back**: the drift may have continued from one folder into the next. The verdict must
  hold in two cases: with the drift of each folder added to the uncertainty, and with the common
  trend removed. The interval is the hull of both.
- **apart**: the two sessions are not related. The drift of each folder is added to the
  uncertainty; any other shift cannot be detected, and a caveat states this.

If a folder drifts by D over its span, a start at a random time of a linear drift has the variance
D^2 / 12, which is added for each folder. D is the estimate including its own error, so the term is
too large rather than too small. Only for interleaved folders, where both have the same trend by
design, can the removal of a trend make an interval narrower.

If folders contain several deployments, the deployment is the unit, because trials of one
deployment share its start (a nested design; means of deployments, Welch).

If one folder has predicted times, the uncertainty is the error of the model.

All values are natural logarithms, times are seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from windtunnel.analysis.predicted_error import PredictedError, log_contrast
from windtunnel.analysis.statistics.summary import (
    CONFIDENCE,
    POWER,
    Contrast,
    contrast,
    two_sided_p,
)

Basis = Literal["interleaved", "back to back", "apart", "untimed", "history", "model"]

INTERLEAVED_WITHIN = 0.25
"""Folders ran at the same time if the distance of their middles is at most this fraction of
their span."""
NEAR_WITHIN = 2.0
"""A drift may have continued between folders if the distance of their middles is at most this
number of spans."""
ROUNDING = 1e-12
"""Differences of logarithms below this are rounding errors."""
NESTED_FROM = 2
"""Number of deployments per folder from which the deployment is the unit."""


@dataclass(frozen=True, slots=True)
class Points:
    """The trials of one cell: logarithms, with start times (s) and deployments if known.

    ``printed``: the values are those of a publication; if they are equal, their spread is unknown.
    """

    logs: tuple[float, ...]
    times: tuple[float, ...] = ()
    deployments: tuple[int | None, ...] = ()
    printed: bool = False

    @property
    def span(self) -> float:
        """Time from the first start to the last, extended to complete trials; 0 if not timed."""
        n = len(self.times)
        return (max(self.times) - min(self.times)) * n / (n - 1) if n > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """log(other / reference). All of ``contrasts`` must agree for a verdict."""

    contrasts: tuple[Contrast, ...]
    basis: Basis
    nested: bool = False

    @property
    def log(self) -> float:
        """The estimate: that of the first contrast."""
        return self.contrasts[0].estimate

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
        """Hull of the intervals, or None where a spread is unknown."""
        spans = [c.interval(confidence) for c in self.contrasts]
        known = [span for span in spans if span is not None]
        if len(known) < len(spans):
            return None
        return min(low for low, _ in known), max(high for _, high in known)

    def p(self) -> float | None:
        """p value of "no difference": the largest one, and 1 if the contrasts differ in sign."""
        found = [_p(c) for c in self.contrasts]
        known = [p for p in found if p is not None]
        if len(known) < len(found):
            return None
        signs = {math.copysign(1, c.estimate) for c in self.contrasts if abs(c.estimate) > ROUNDING}
        return 1.0 if len(signs) > 1 else max(known)

    def detectable(self, confidence: float = CONFIDENCE, power: float = POWER) -> float | None:
        """The smallest true difference of logarithms that is detected with this power."""
        found = [c.detectable(confidence, power) for c in self.contrasts]
        known = [value for value in found if value is not None]
        return max(known) if len(known) == len(found) else None


@dataclass(frozen=True, slots=True)
class Trend:
    """A common slope (per s) of several series, each with a level of its own.

    ``sxx`` is the sum of squares of the centred times, ``rest`` that of the residuals,
    ``df`` the residual degrees of freedom.
    """

    slope: float
    sxx: float
    rest: float
    df: int


def estimate(
    a: Points,
    b: Points,
    others_a: Sequence[Points] = (),
    others_b: Sequence[Points] = (),
) -> Estimate:
    """Difference of means ``b - a`` of two cells of at least one trial each.

    ``others_a`` and ``others_b`` are the other treatments of the same workload, phase and
    metric in the two folders; they improve the estimate of the drift.
    """
    nested = all(len(set(p.deployments) - {None}) >= NESTED_FROM for p in (a, b))
    if nested:
        a, b, others_a, others_b = _units(a), _units(b), *map(_all_units, (others_a, others_b))
    plain = contrast([(1.0, b.logs), (-1.0, a.logs)], printed=a.printed or b.printed)
    if plain.se is None or not a.times or not b.times:
        return Estimate((plain,), "untimed", nested)
    trend_a, trend_b = trend([a, *others_a]), trend([b, *others_b])
    if trend_a is None or trend_b is None:
        return Estimate((plain,), "untimed", nested)
    inflated = _inflated(plain, trend_a.slope * a.span, trend_b.slope * b.span)
    gap = fmean(b.times) - fmean(a.times)
    span = (a.span + b.span) / 2
    if abs(gap) > NEAR_WITHIN * span:
        return Estimate((inflated,), "apart", nested)
    common = trend([a, *others_a, b, *others_b])
    if common is None or common.df < 1:
        return Estimate((inflated,), "apart", nested)
    carried = _carried(plain, a, b, common, gap)
    if abs(gap) <= INTERLEAVED_WITHIN * span:
        return Estimate((carried,), "interleaved", nested)
    return Estimate((inflated, carried), "back to back", nested)


def predict(new: Points, earlier: Sequence[Points]) -> Estimate:
    """The mean of a new folder against those of at least two earlier folders.

    The noise is the spread of the folders' means: a prediction interval for one more folder,
    Student's t with ``len(earlier) - 1`` degrees of freedom. If the new folder has fewer
    trials than the earlier ones, the larger error of its mean is added. The interval is that
    of ``new - earlier``, as for :func:`estimate`.
    """
    means = [fmean(points.logs) for points in earlier]
    over_folders = contrast([(1.0, means)], printed=any(points.printed for points in earlier))
    distance = fmean(new.logs) - over_folders.estimate
    if over_folders.se is None or over_folders.df is None:
        return Estimate((Contrast(distance, None, None),), "history")
    k = len(means)
    between = over_folders.se**2 * k
    spread = [(_squares(p.logs), len(p.logs)) for p in earlier if len(p.logs) > 1]
    within = sum(s for s, _ in spread) / max(1, sum(n - 1 for _, n in spread))
    fewer = within * (1 / len(new.logs) - fmean(1 / len(p.logs) for p in earlier))
    se = math.sqrt(between * (1 + 1 / k) + max(0.0, fewer))
    return Estimate((Contrast(distance, se, over_folders.df),), "history")


def against_prediction(a: Points, b: Points, errors: Sequence[PredictedError]) -> Estimate:
    """Difference of means ``b - a`` if one or both are predictions.

    The error of a prediction is that of a measured time around it, so the spread of the measured
    times is already in it. Errors of two predictions are added: their common part is not known.
    """
    found = [log_contrast(0.0, [(1.0, error)]) for error in errors]
    se = math.sqrt(sum((one.se or 0.0) ** 2 for one in found))
    freedom = min(error.freedom for error in errors)
    return Estimate((Contrast(fmean(b.logs) - fmean(a.logs), se, freedom),), "model")


def trend(series: Sequence[Points]) -> Trend | None:
    """The common slope over time; None if the times do not differ."""
    sxx = sxy = syy = 0.0
    count = groups = 0
    for points in series:
        if len(points.times) < 2:
            continue
        t, y = fmean(points.times), fmean(points.logs)
        for time, log in zip(points.times, points.logs, strict=True):
            sxx += (time - t) ** 2
            sxy += (time - t) * (log - y)
            syy += (log - y) ** 2
        count += len(points.times)
        groups += 1
    if sxx == 0:
        return None
    slope = sxy / sxx
    return Trend(slope, sxx, max(0.0, syy - slope * sxy), count - groups - 1)


def _inflated(plain: Contrast, drift_a: float, drift_b: float) -> Contrast:
    """Welch's contrast with the drift of both folders in its standard error."""
    assert plain.se is not None
    added = (drift_a**2 + drift_b**2) / 12
    return Contrast(plain.estimate, math.sqrt(plain.se**2 + added), plain.df)


def _carried(plain: Contrast, a: Points, b: Points, common: Trend, gap: float) -> Contrast:
    """The contrast if the common trend continued over ``gap`` seconds.

    Each cell has its own variance (Welch); that of the slope is pooled over all series.
    """
    left = common.df / (common.df + 1)  # The slope uses one degree of freedom.
    parts = [
        (_squares(p.logs, p.times, common.slope) / ((n - 1) * left) / n, (n - 1) * left)
        for p in (a, b)
        if (n := len(p.logs)) > 1
    ]
    parts.append((gap**2 * common.rest / common.df / common.sxx, float(common.df)))
    variance = sum(v for v, _ in parts)
    spread = sum(v**2 / df for v, df in parts)
    estimate = plain.estimate - common.slope * gap
    if variance <= 0 or spread <= 0:
        return Contrast(estimate, 0.0, float(common.df))
    return Contrast(estimate, math.sqrt(variance), variance**2 / spread)


def _squares(logs: Sequence[float], times: Sequence[float] = (), slope: float = 0.0) -> float:
    """Sum of squares about the mean, after removal of a slope."""
    rest = [y - slope * t for y, t in zip(logs, times, strict=True)] if times else list(logs)
    mean = fmean(rest)
    return sum((value - mean) ** 2 for value in rest)


def by_deployment(points: Points) -> list[list[int]]:
    """The places of the trials of each deployment."""
    groups: dict[int | None, list[int]] = {}
    for place, deployment in enumerate(points.deployments):
        groups.setdefault(deployment, []).append(place)
    return list(groups.values())


def _units(points: Points) -> Points:
    """The means of the deployments as points."""
    places = by_deployment(points)
    logs = tuple(fmean(points.logs[i] for i in group) for group in places)
    if not points.times:
        return Points(logs)
    return Points(logs, tuple(fmean(points.times[i] for i in group) for group in places))


def _all_units(series: Sequence[Points]) -> list[Points]:
    return [_units(points) if points.deployments else points for points in series]


def _p(c: Contrast) -> float | None:
    if c.se is None or c.df is None:
        return None
    if abs(c.estimate) < ROUNDING:
        return 1.0
    if c.se == 0:
        return 0.0
    return two_sided_p(c.estimate / c.se, c.df)
