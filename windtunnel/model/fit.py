"""Fitting the constants of the model to measured or published times.

The fit minimises the squared differences of logarithms of elapsed and CPU time, with a robust loss,
and the squared distances of the constants from their priors (a maximum a posteriori estimate:
Gelman et al., Bayesian Data Analysis, 3rd edition, chapter 4). The residuals of each kind of phase
are then smoothed over the hardware by a Gaussian process (Kennedy and O'Hagan, Bayesian calibration
of computer models, J. R. Statist. Soc. B 63, 2001): near the fitted treatments it corrects the
prediction, far from them it does nothing but widen the interval.
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
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import CODED, Job

Matrix = NDArray[np.float64]

ELAPSED_SPREAD = 0.05  # of the logarithm: the least error of any model on these data
CPU_SPREAD = 0.10
CORRECTION_NOISE = 0.06  # of the logarithm: what the correction leaves to chance
# A residual above the limit has at least this many times the noise of the others: an outlier says
# little of its neighbours.
OUTLIER_NOISE = 3.0
UNKNOWN_NOISE = 3.0  # of the logarithm: far more than any correction
TREND = 0.16  # the least slope of the correction on a new cluster
PENALTY = 1.0  # units of log likelihood that a larger correction must gain
# Prior of the model's error: its size, and the number of points that it is worth.
ERROR_PRIOR = 0.08
ERROR_PRIOR_POINTS = 6.0
# A new cluster differs from the fitted ones: its constants spread more than those of the studies.
NEW_CLUSTER = 1.5
# Other software than MapReduce: the spread of the logarithm of its time relative to MapReduce.
OFFSET = 0.5
OFFSET_BOUND = 2.5
STEP = 1e-5
FEATURES = (
    "hosts",
    "stores",
    "cores",
    "threads_per_core",
    "slots",
    "clock_ghz",
    "memory_bytes",
    "nic_bytes_s",
    "cross_bytes_s",
    "disks",
    "guests",
    "data_bytes",
)


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
class Correction:
    """Covariance of the model's error: local (``spread``, ``length``) and a trend (``slope``).

    ``spread`` and ``slope`` are standard deviations of the logarithm, of the error itself and of
    its change over a factor e in a feature; ``length`` is in natural logarithms.
    """

    spread: float = 0.08
    length: float = 0.7
    slope: float = 0.0

    def covariance(
        self, kinds: Sequence[str], rows: Matrix, other_kinds: Sequence[str], others: Matrix
    ) -> Matrix:
        """Covariance of each row with each of the others; 0 between kinds of phases.

        Both sets of rows are features relative to the mean of the fitted ones.
        """
        same = np.array(kinds)[:, None] == np.array(other_kinds)[None, :]
        trend = np.where(same, self.slope**2 * (rows @ others.T), 0.0)
        found: Matrix = self.spread**2 * self.likeness(kinds, rows, other_kinds, others) + trend
        return found

    def likeness(
        self, kinds: Sequence[str], rows: Matrix, other_kinds: Sequence[str], others: Matrix
    ) -> Matrix:
        """How much each row has in common with each of the others, 0 to 1; 1 if they are equal."""
        apart = ((rows[:, None, :] - others[None, :, :]) ** 2).sum(axis=2) / self.length**2
        same = np.array(kinds)[:, None] == np.array(other_kinds)[None, :]
        found: Matrix = np.where(same, np.exp(-0.5 * apart), 0.0)
        return found


CORRECTIONS = tuple(
    Correction(spread, length, slope)
    for spread in (0.08, 0.16)
    for length in (0.7, 1.4)
    for slope in (0.0, 0.08, 0.16, 0.32)
)


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


def _noise(residuals: Vector, late: NDArray[np.bool_]) -> Vector:
    """Standard deviations of the noise of the residuals, shape (points,).

    The noise of an outlier grows with its residual. A job that did not finish is no outlier if it
    ran longer than predicted; if it ran less long, it says nothing of the correction.
    """
    limit = max(_limit(residuals), 3.0 * CORRECTION_NOISE)
    beyond = np.abs(residuals) / limit
    outlier = (beyond > 1.0) & ~late
    found = CORRECTION_NOISE * np.where(outlier, OUTLIER_NOISE * beyond, 1.0)
    return np.where(late & (residuals <= 0.0), UNKNOWN_NOISE, found)


def _limit(residuals: Vector) -> float:
    """Three robust standard deviations of the residuals: larger ones are outliers.

    A residual of exactly 0 is that of a job that did not finish and is predicted so.
    """
    known = np.abs(residuals[residuals != 0.0])
    return 3.0 * 1.4826 * float(np.median(known) if len(known) else 0.0) + 1e-6


def features(hardware: Hardware, job: Job) -> list[float]:
    """The logarithms over which residuals are smoothed, in the order of :data:`FEATURES`."""
    through = min(hardware.cross_bytes_s, hardware.nic_bytes_s * hardware.hosts)
    disks = hardware.spindles + hardware.fixed_read_bytes_s / 1e8
    values = (
        hardware.hosts,
        hardware.stores,
        hardware.cores,
        hardware.threads_per_core,
        hardware.slots,
        hardware.clock_ghz,
        hardware.memory_bytes,
        hardware.nic_bytes_s,
        through,
        disks,
        1.0 + hardware.guests,
        max(job.data_bytes, job.samples, 1.0),
    )
    return [math.log(max(value, 1e-9)) for value in values]


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
        """The times of all rows, in their order."""
        elapsed, cpu, starting = np.zeros((3, self._size))
        resources = np.zeros((len(phases.RESOURCES), self._size))
        for places, columns in self._groups:
            found = phases.times(columns, log)
            elapsed[places], cpu[places] = found.elapsed_s, found.cpu_s
            resources[:, places] = found.resources_s
            starting[places] = found.task_start_s
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
        found = batch.times(values[:count])
        shift = belongs @ values[count:]
        ahead = np.log(found.elapsed_s) + shift - measured
        ahead = np.where(late, np.minimum(ahead, 0.0), ahead) / ELAPSED_SPREAD
        apart = (np.log(np.maximum(found.cpu_s, 1e-9)) + shift - cpu)[known] / CPU_SPREAD
        return np.concatenate([_robust(np.concatenate([ahead, apart])), (values - mean) / spread])

    mean = np.concatenate([prior.log, np.zeros(len(labels))])
    spread = np.concatenate([prior.spread, np.full(len(labels), OFFSET)])
    limits = [np.pad(one, (0, len(labels)), constant_values=end) for one, end in _limits()]
    first = np.concatenate([start, np.zeros(len(labels))])
    best = least_squares(residuals, first, bounds=limits, x_scale=0.1, max_nfev=200)
    gone = measured - np.log(batch.times(best.x[:count]).elapsed_s) - belongs @ best.x[count:]
    gone = np.where(late, np.maximum(gone, 0.0), gone)
    error, freedom = _error(gone, best.jac, spread)
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
    noise = _noise(gone, late)
    correction = _correction(kinds, rows, gone, noise, prior.trend)
    return Fit(
        log=best.x[:count],
        covariance=covariance[:count, :count],
        error=error,
        freedom=freedom,
        correction=correction,
        misfit=_misfit(correction.covariance(kinds, rows, kinds, rows), gone, noise),
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

    Of several kinds of software with the same equations, the first has none.
    """
    by_kind: dict[str, dict[str, None]] = {}
    for point in sorted(points, key=lambda one: one.job.software):
        by_kind.setdefault(point.kind, {})[point.job.software_label] = None
    labels = [label for known in by_kind.values() for label in list(known)[1:]]
    belongs = np.zeros((len(points), len(labels)))
    for row, point in enumerate(points):
        if point.job.software_label in labels:
            belongs[row, labels.index(point.job.software_label)] = 1.0
    return labels, belongs


def _robust(scaled: Vector) -> Vector:
    """Residuals whose squares grow like the soft L1 loss: outliers pull less."""
    found: Vector = np.sign(scaled) * np.sqrt(2.0 * (np.sqrt(1.0 + scaled**2 / 2.0) - 1.0))
    return found


def _error(gone: Vector, jacobian: Matrix, spread: Vector) -> tuple[float, float]:
    """Size of the model's error and its degrees of freedom, from residuals and a prior.

    Large residuals count up to 3 times the median one, so that single outliers do not decide.
    """
    data = jacobian[: len(gone)]
    own = data.T @ data
    used = float(np.trace(np.linalg.solve(own + np.diag(spread**-2.0), own)))
    left = max(len(gone) - used, 0.25 * len(gone))
    limit = _limit(gone)
    total = float(np.sum(np.minimum(np.abs(gone), limit) ** 2)) * len(gone) / left
    freedom = ERROR_PRIOR_POINTS + left
    weight = left / len(gone)
    squares = ERROR_PRIOR_POINTS * ERROR_PRIOR**2 + total * weight
    return math.sqrt(squares / freedom), freedom


def _correction(
    kinds: Sequence[str], rows: Matrix, gone: Vector, noise: Vector, trend: float
) -> Correction:
    """The correction with the largest marginal likelihood; a larger one must be worth its size.

    ``trend`` is the smallest slope: other clusters differ in how time depends on hosts and memory.
    """

    def likelihood(one: Correction) -> float:
        covariance = one.covariance(kinds, rows, kinds, rows) + np.diag(noise**2)
        _, determinant = np.linalg.slogdet(covariance)
        penalty = PENALTY * math.log2(one.spread / 0.08)
        return float(-0.5 * (gone @ np.linalg.solve(covariance, gone) + determinant) - penalty)

    return max((one for one in CORRECTIONS if one.slope >= trend), key=likelihood)


def _misfit(covariance: Matrix, gone: Vector, noise: Vector) -> float:
    """Mean square of the errors of each point predicted from the others, by their variance.

    Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equation 5.12.
    A prior of 1 counts as ERROR_PRIOR_POINTS points; no point counts for more than 3 deviations.
    It is at least 1: the constants were fitted to the same points, so that residuals are too small.
    """
    inverse = np.linalg.inv(covariance + np.diag(noise**2))
    squares = np.minimum((inverse @ gone) ** 2 / np.diag(inverse), 9.0)
    mean = (ERROR_PRIOR_POINTS + squares.sum()) / (ERROR_PRIOR_POINTS + len(gone))
    return max(float(mean), 1.0)
