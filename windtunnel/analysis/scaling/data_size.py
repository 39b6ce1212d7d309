"""Time against the size of the data: a straight line by phase, with its residuals.

``elapsed = fixed + size / rate``. The line is fitted by weighted least squares (statsmodels'
``WLS``): the spread of run times is proportional to their size, so the weight of a trial is one
over the square of its level's mean. If levels have several trials, an F test of the line against
the level means shows whether the times are on a line (lack of fit: Draper & Smith, Applied
Regression Analysis, 3rd ed., Wiley 1998, section 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.observations import (
    TOTAL,
    counts,
    elapsed_by_level,
    other_levels,
    rest_of,
)
from windtunnel.analysis.statistics.summary import CONFIDENCE
from windtunnel.results.record import Trial

LEAST_LEVELS = 3
"""Two points are always on a line."""


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One level: bytes of data, trials, mean elapsed seconds, seconds of the line."""

    level: str
    size_bytes: float
    n: int
    mean_s: float
    fitted_s: float
    seconds: tuple[float, ...]

    @property
    def residual(self) -> float:
        """Difference between the mean and the line, relative to the line."""
        return self.mean_s / self.fitted_s - 1


@dataclass(frozen=True)
class SizeFit:
    """One factor, workload and phase at fixed levels of the other factors (``others``).

    ``fixed_s`` and ``rate_bytes_s`` come with 95 % intervals (None: unknown, too few trials).
    A bound of the rate may be infinite: the time may not increase with the size. ``bend_p`` is
    the p value of the hypothesis that the times are on a line; None without levels of several
    trials, or without spread within them.
    """

    factor: str
    workload: str
    phase: str
    others: Mapping[str, str]
    points: tuple[SizePoint, ...]
    fixed_s: float
    fixed_interval: tuple[float, float] | None
    rate_bytes_s: float
    rate_interval: tuple[float, float] | None
    bend_p: float | None

    @property
    def worst(self) -> SizePoint:
        """The level with the largest difference from the line."""
        return max(self.points, key=lambda point: abs(point.residual))


def size_fits(analysis: Analysis) -> list[SizeFit]:
    """A line for every phase, for every factor that sets the size of a workload's data."""
    trials = [trial for trial in analysis.results.trials if counts(trial)]
    found = []
    for factor in analysis.study.factors:
        for workload, phases in analysis.phases.items():
            own = [t for t in trials if t.workload == workload and factor in t.treatment.levels]
            for others in other_levels(factor, [t.treatment for t in own]):
                chosen = [t for t in own if rest_of(factor, t.treatment) == others]
                sizes = _sizes(factor, chosen)
                if len(set(sizes.values())) < LEAST_LEVELS:
                    continue
                for phase in phases:
                    if phase != TOTAL or len(phases) > 2:
                        line = _fit((factor, workload, phase), others, chosen, sizes)
                        found += [line] if line else []
    return found


def _sizes(factor: str, trials: Sequence[Trial]) -> dict[str, float]:
    """Bytes of each level's data; empty if the levels differ in anything but an amount of data."""
    found: dict[str, set[float]] = {}
    besides = set()
    for trial in trials:
        size = trial.metrics.get("data_bytes")
        if size is None or not size.value:
            return {}
        own = f"workloads.{trial.workload}."
        overrides = trial.treatment.overrides.items()
        besides.add(str(sorted((p, str(v)) for p, v in overrides if not p.startswith(own))))
        found.setdefault(trial.treatment.levels[factor], set()).add(size.value)
    if len(besides) > 1 or any(len(sizes) > 1 for sizes in found.values()):
        return {}
    if not _one_amount([trial.parameters for trial in trials]):
        return {}
    return {level: sizes.pop() for level, sizes in found.items()}


def _one_amount(parameters: Sequence[Mapping[str, object]]) -> bool:
    """Whether at most one parameter differs, and it is an amount and not, say, a file format."""
    names = {name for each in parameters for name in each}
    values = {name: {str(each.get(name)) for each in parameters} for name in names}
    differing = [several for several in values.values() if len(several) > 1]
    return len(differing) <= 1 and all(v[:1].isdigit() for several in differing for v in several)


def _fit(
    key: tuple[str, str, str],
    others: Mapping[str, str],
    trials: Sequence[Trial],
    sizes: Mapping[str, float],
) -> SizeFit | None:
    seconds = elapsed_by_level(trials, key[0], key[2])
    levels = sorted(seconds, key=sizes.__getitem__)
    if len({sizes[level] for level in levels}) < LEAST_LEVELS:
        return None
    from statsmodels.regression.linear_model import WLS  # The import takes a second.

    x = np.array([sizes[level] for level in levels for _ in seconds[level]])
    t = np.array([value for level in levels for value in seconds[level]])
    means = np.array([fmean(seconds[level]) for level in levels for _ in seconds[level]])
    # Sizes are in units of the largest size: with bytes, the matrix is ill-conditioned.
    unit = float(x.max())
    line = WLS(t, np.column_stack([np.ones_like(x), x / unit]), weights=1 / means**2).fit()
    fixed, slope = (float(value) for value in line.params)
    if slope <= 0:
        return None
    intervals = line.conf_int(alpha=1 - CONFIDENCE) if line.df_resid > 0 else None
    points = tuple(
        SizePoint(
            level=level,
            size_bytes=sizes[level],
            n=len(seconds[level]),
            mean_s=fmean(seconds[level]),
            fitted_s=fixed + slope * sizes[level] / unit,
            seconds=tuple(seconds[level]),
        )
        for level in levels
    )
    if any(point.fitted_s <= 0 for point in points):
        return None
    return SizeFit(
        *key,
        others,
        points,
        fixed_s=fixed,
        fixed_interval=_span(*intervals[0]) if intervals is not None else None,
        rate_bytes_s=unit / slope,
        rate_interval=_rates(unit, *intervals[1]) if intervals is not None else None,
        bend_p=_bend(line, t, x, means),
    )


def _span(low: float, high: float) -> tuple[float, float] | None:
    return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else None


def _rates(unit: float, low: float, high: float) -> tuple[float, float] | None:
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return unit / float(high), (unit / float(low) if low > 0 else math.inf)


def _bend(line: object, t: object, x: object, means: np.ndarray) -> float | None:
    """The p value of the lack-of-fit test: the line against a separate mean for each size."""
    from statsmodels.regression.linear_model import WLS

    sizes = np.asarray(x)
    own = (sizes[:, None] == np.unique(sizes)[None, :]).astype(float)
    free = WLS(t, own, weights=1 / means**2).fit()
    if free.df_resid <= 0 or free.ssr <= 1e-12:
        return None
    _, p, _ = free.compare_f_test(line)
    return float(p)
