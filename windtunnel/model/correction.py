"""The correction of predictions by the residuals of fitted times.

The residuals of each kind of phase are smoothed over the hardware by a Gaussian process (Kennedy
and O'Hagan, Bayesian calibration of computer models, J. R. Statist. Soc. B 63, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.model.constants import Vector
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import Job

Matrix = NDArray[np.float64]

CORRECTION_NOISE = 0.06  # of the logarithm: what the correction leaves to chance
# A residual above the limit has at least this many times the noise of the others: an outlier says
# little of its neighbours.
OUTLIER_NOISE = 3.0
UNKNOWN_NOISE = 3.0  # of the logarithm: far more than any correction
PENALTY = 1.0  # units of log likelihood that a larger correction must gain
# Prior of the model's error: its size, and the number of points that it is worth.
ERROR_PRIOR = 0.08
ERROR_PRIOR_POINTS = 6.0
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


def noise_of(residuals: Vector, late: NDArray[np.bool_], silent: NDArray[np.bool_]) -> Vector:
    """Standard deviations of the noise of the residuals, shape (points,).

    The noise of an outlier grows with its residual. Jobs that did not finish are ``late``: they are
    no outliers if they ran longer than predicted, and say nothing of the correction (``silent``) if
    they ran less long.
    """
    limit = max(outlier_limit(residuals[~silent]), 3.0 * CORRECTION_NOISE)
    beyond = np.abs(residuals) / limit
    found = CORRECTION_NOISE * np.where((beyond > 1.0) & ~late, OUTLIER_NOISE * beyond, 1.0)
    return np.where(silent, UNKNOWN_NOISE, found)


def outlier_limit(residuals: Vector) -> float:
    """Three robust standard deviations of the residuals: larger ones are outliers."""
    middle = float(np.median(np.abs(residuals))) if len(residuals) else 0.0
    return 3.0 * 1.4826 * middle + 1e-6


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


def chosen_correction(
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


def misfit_of(covariance: Matrix, gone: Vector, noise: Vector, silent: NDArray[np.bool_]) -> float:
    """Mean square of the errors of each point predicted from the others, by their variance.

    Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equation 5.12.
    A prior of 1 counts as ERROR_PRIOR_POINTS points; no point counts for more than 3 deviations.
    Jobs that say nothing of the correction (``silent``) do not count.
    It is at least 1: the constants were fitted to the same points, so that residuals are too small.
    """
    inverse = np.linalg.inv(covariance + np.diag(noise**2))
    squares = np.minimum((inverse @ gone) ** 2 / np.diag(inverse), 9.0)[~silent]
    mean = (ERROR_PRIOR_POINTS + squares.sum()) / (ERROR_PRIOR_POINTS + len(squares))
    return max(float(mean), 1.0)
