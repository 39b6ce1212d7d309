"""Fitting the constants of the model to measured or published times.

The fit minimises the squared differences of logarithms of elapsed and CPU time, with a robust loss,
and the squared distances of the constants from their priors (a maximum a posteriori estimate:
Gelman et al., Bayesian Data Analysis, 3rd edition, chapter 4). The residuals of each kind of phase
are then smoothed over the hardware (``correction.py``): near the fitted treatments this corrects
the prediction, far from them it does nothing but widen the interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from windtunnel.model import constants, phases
from windtunnel.model.constants import CONSTANTS, Vector
from windtunnel.model.correction import (
    ERROR_PRIOR,
    ERROR_PRIOR_POINTS,
    FEATURES,
    Correction,
    Matrix,
    chosen_correction,
    features,
    misfit_of,
    noise_of,
    outlier_limit,
)
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import CODED, Job

ELAPSED_SPREAD = 0.05  # of the logarithm: the least error of any model on these data
CPU_SPREAD = 0.10
TREND = 0.16  # the least slope of the correction on a new cluster
# A new cluster differs from the fitted ones: its constants spread more than those of the studies.
NEW_CLUSTER = 1.5
# Other software than MapReduce: the spread of the logarithm of its time relative to MapReduce.
OFFSET = 0.5
OFFSET_BOUND = 2.5
STEP = 1e-5
RELATIVE_STEP = float(np.sqrt(np.finfo(float).eps))  # that of scipy's differences


@dataclass(frozen=True)
class Point:
    """One measured phase of one treatment: means over its rounds.

    ``timeout`` states that the job did not finish within ``elapsed_s``. ``runs_s`` are the times of
    the single runs, if they are known.
    """

    study: str
    treatment: str
    workload: str
    phase: str
    hardware: Hardware
    job: Job
    elapsed_s: float
    cpu_s: float | None = None
    timeout: bool = False
    runs_s: tuple[float, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of the phase, which selects the equations."""
        return self.job.kind


@dataclass(frozen=True)
class Fit:
    """Fitted constants with their uncertainty, and what the correction needs.

    ``log`` are logarithms of the constants, shape (20,); ``covariance`` theirs. ``error`` is the
    standard deviation of the logarithm of measured by predicted time, with ``freedom`` degrees of
    freedom. ``misfit`` scales the variance of the correction; it results from predicting each
    point from the others. ``names`` (study, treatment, workload, phase), ``kinds`` (labels of the
    jobs), ``features`` (points, 12), ``residuals`` and ``noise`` (the standard deviations of the
    residuals) are those of the fitted points. ``offsets`` has, for each label of software that
    shares its equations with another one, the logarithm of its time relative to the other one and
    the standard deviation.
    """

    log: Vector
    covariance: Matrix
    error: float
    freedom: float
    correction: Correction = field(default_factory=Correction)
    misfit: float = 1.0
    centre: Vector = field(default_factory=lambda: np.zeros(len(FEATURES)))
    kinds: tuple[str, ...] = ()
    features: Matrix = field(default_factory=lambda: np.zeros((0, len(FEATURES))))
    residuals: Vector = field(default_factory=lambda: np.zeros(0))
    noise: Vector = field(default_factory=lambda: np.zeros(0))
    names: tuple[tuple[str, str, str, str], ...] = ()
    offsets: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    origin: str = ""

    def offset(self, job: Job) -> tuple[float, float]:
        """The offset of a job and its standard deviation; 0 and 0 without other software."""
        label = job.software_label
        unknown = bool(job.software) and {label, f"{label}/{CODED}"}.isdisjoint(self.kinds)
        return self.offsets.get(label, (0.0, OFFSET if unknown else 0.0))

    @cached_property
    def precision(self) -> Matrix:
        """Inverse of the covariance of the fitted residuals, shape (points, points)."""
        rows = self.features - self.centre
        covariance = self.correction.covariance(self.kinds, rows, self.kinds, rows)
        inverse = np.linalg.inv(covariance + np.diag(self.noise**2))
        return np.asarray(inverse, dtype=np.float64)

    def determined(self) -> dict[str, float]:
        """How much the data say of each constant: 1 minus posterior by prior spread, 0 to 1."""
        spread = np.sqrt(np.diag(self.covariance))
        return {
            one.name: float(max(0.0, 1.0 - had / one.spread))
            for one, had in zip(CONSTANTS, spread, strict=True)
        }


@dataclass(frozen=True)
class Prior:
    """Where a fit starts: logarithms of the constants and their standard deviations.

    ``trend`` is the smallest slope of the correction.
    """

    log: Vector
    spread: Vector
    trend: float = 0.0

    @classmethod
    def before_any_data(cls) -> Prior:
        """The priors of the constants themselves."""
        return cls(constants.priors(), constants.spreads())

    @classmethod
    def of_new_cluster(cls, shipped: Fit) -> Prior:
        """The shipped constants, as uncertain as another cluster makes them."""
        own = np.diag(shipped.covariance)
        return cls(shipped.log, np.sqrt(own + (NEW_CLUSTER * constants.spreads()) ** 2), TREND)


class Batch:
    """Points grouped by kind, so that one call computes all of a kind."""

    def __init__(self, rows: Sequence[tuple[Hardware, Job]]) -> None:
        self._size = len(rows)
        self._groups: list[tuple[list[int], phases.Columns]] = []
        for kind in dict.fromkeys(job.kind for _, job in rows):
            places = [place for place, (_, job) in enumerate(rows) if job.kind == kind]
            self._groups.append((places, phases.columns(kind, [rows[place] for place in places])))

    def times(self, log: Vector) -> phases.Times:
        """The times of all rows, in their order; of several variants as in :func:`phases.times`."""
        shape = (*log.shape[:-1], self._size)
        elapsed, cpu, starting = np.zeros((3, *shape))
        resources = np.zeros((len(phases.RESOURCES), *shape))
        for places, columns in self._groups:
            found = phases.times(columns, log)
            elapsed[..., places], cpu[..., places] = found.elapsed_s, found.cpu_s
            resources[..., places] = found.resources_s
            starting[..., places] = found.task_start_s
        return phases.Times(elapsed, cpu, resources, starting)

    def slopes(self, log: Vector) -> Matrix:
        """Derivatives of the logarithms of elapsed time by the constants, shape (rows, constants).

        All constants are moved in one call, each by STEP.
        """
        variants = np.vstack([log, log + STEP * np.eye(len(log))])
        found = np.zeros((self._size, len(log)))
        for places, columns in self._groups:
            times = np.log(phases.times(columns, variants).elapsed_s)
            found[places] = ((times[1:] - times[0]) / STEP).T
        return found


def fit(points: Sequence[Point], prior: Prior | None = None, origin: str = "") -> Fit:
    """Fit the constants to points; without points the prior itself.

    Parameters
    ----------
    prior:
        Default: the priors of the constants before any data.
    origin:
        The data, for the fit's record.
    """
    prior = prior or Prior.before_any_data()
    start = np.clip(prior.log, *constants.bounds())
    if not points:
        return Fit(start, np.diag(prior.spread**2), ERROR_PRIOR, ERROR_PRIOR_POINTS, origin=origin)
    batch = Batch([(point.hardware, point.job) for point in points])
    measured = np.log([point.elapsed_s for point in points])
    late = np.array([point.timeout for point in points])
    cpu = np.log([point.cpu_s or math.nan for point in points])
    known = ~np.isnan(cpu)
    labels, belongs = _offsets(points)
    count = len(start)

    def residuals(values: Vector) -> Vector:
        found = batch.times(values[..., :count])
        shift = values[..., count:] @ belongs.T
        ahead = np.log(found.elapsed_s) + shift - measured
        ahead = np.where(late, np.minimum(ahead, 0.0), ahead) / ELAPSED_SPREAD
        apart = (np.log(np.maximum(found.cpu_s, 1e-9)) + shift - cpu)[..., known] / CPU_SPREAD
        data = _robust(np.concatenate([ahead, apart], axis=-1))
        return np.concatenate([data, (values - mean) / spread], axis=-1)

    def jacobian(values: Vector) -> Matrix:
        """Forward differences within the bounds; all values are moved in one call."""
        steps = RELATIVE_STEP * np.maximum(1.0, np.abs(values))
        steps = np.where(values + steps > limits[1], -steps, steps)
        moved = residuals(np.vstack([values, values + np.diag(steps)]))
        slopes: Matrix = (moved[1:] - moved[0]).T / steps
        return slopes

    mean = np.concatenate([prior.log, np.zeros(len(labels))])
    spread = np.concatenate([prior.spread, np.full(len(labels), OFFSET)])
    limits = [np.pad(one, (0, len(labels)), constant_values=end) for one, end in _limits()]
    first = np.concatenate([start, np.zeros(len(labels))])
    best = least_squares(residuals, first, jacobian, limits, x_scale=0.1, max_nfev=200)
    gone = measured - np.log(batch.times(best.x[:count]).elapsed_s) - belongs @ best.x[count:]
    gone = np.where(late, np.maximum(gone, 0.0), gone)
    silent = late & (gone <= 0.0)  # these jobs say only that they take longer
    error, freedom = _error(gone, silent, best.jac, spread)
    # the data count less if the model errs more; the priors stay
    weight = np.ones(len(best.jac))
    weight[: -len(spread)] = ELAPSED_SPREAD / max(error, ELAPSED_SPREAD)
    scaled = best.jac * weight[:, None]
    covariance = np.linalg.inv(scaled.T @ scaled)
    deviations = np.sqrt(np.diag(covariance))[count:]
    kinds = tuple(point.job.label for point in points)
    places = np.array([features(point.hardware, point.job) for point in points])
    centre = places.mean(axis=0)
    rows = places - centre
    noise = noise_of(gone, late, silent)
    correction = chosen_correction(kinds, rows, gone, noise, prior.trend)
    return Fit(
        log=best.x[:count],
        covariance=covariance[:count, :count],
        error=error,
        freedom=freedom,
        correction=correction,
        misfit=misfit_of(correction.covariance(kinds, rows, kinds, rows), gone, noise, silent),
        centre=centre,
        kinds=kinds,
        features=places,
        residuals=gone,
        noise=noise,
        names=tuple((p.study, p.treatment, p.workload, p.phase) for p in points),
        offsets={
            label: (float(value), float(deviation))
            for label, value, deviation in zip(labels, best.x[count:], deviations, strict=True)
        },
        origin=origin,
    )


def _limits() -> Iterator[tuple[Vector, float]]:
    """Bounds of the logarithms of the constants, and of the offsets."""
    low, high = constants.bounds()
    yield low, -OFFSET_BOUND
    yield high, OFFSET_BOUND


def _offsets(points: Sequence[Point]) -> tuple[list[str], Matrix]:
    """The labels with an offset, and which points have which: shape (points, labels).

    MapReduce has none: the constants are its own.
    """
    ordered = sorted(points, key=lambda one: one.job.software)
    labels = [*dict.fromkeys(p.job.software_label for p in ordered if p.job.software)]
    belongs = np.zeros((len(points), len(labels)))
    for row, point in enumerate(points):
        if point.job.software_label in labels:
            belongs[row, labels.index(point.job.software_label)] = 1.0
    return labels, belongs


def _robust(scaled: Vector) -> Vector:
    """Residuals whose squares grow like the soft L1 loss: outliers pull less."""
    found: Vector = np.sign(scaled) * np.sqrt(2.0 * (np.sqrt(1.0 + scaled**2 / 2.0) - 1.0))
    return found


def _error(
    gone: Vector, silent: NDArray[np.bool_], jacobian: Matrix, spread: Vector
) -> tuple[float, float]:
    """Size of the model's error and its degrees of freedom, from residuals and a prior.

    Large residuals count up to 3 times the median one, so that single outliers do not decide.
    """
    data = jacobian[: len(gone)]
    own = data.T @ data
    used = float(np.trace(np.linalg.solve(own + np.diag(spread**-2.0), own)))
    left = max(len(gone) - used, 0.25 * len(gone))
    limit = outlier_limit(gone[~silent])
    total = float(np.sum(np.minimum(np.abs(gone), limit) ** 2)) * len(gone) / left
    freedom = ERROR_PRIOR_POINTS + left
    weight = left / len(gone)
    squares = ERROR_PRIOR_POINTS * ERROR_PRIOR**2 + total * weight
    return math.sqrt(squares / freedom), freedom
