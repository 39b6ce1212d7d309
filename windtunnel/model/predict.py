"""Predictions with intervals, the binding resource and the next one, from a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from windtunnel.model.constants import INDEX, Vector
from windtunnel.model.correction import CORRECTION_NOISE, Matrix, features
from windtunnel.model.fit import Batch, Fit
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import Job
from windtunnel.model.phases import RESOURCES, WARM_START, Times

LEVEL = 0.90
CPU, START_UP = "cpu", "start-up"
MARGIN = 0.05  # of the logarithm: a value so near to the fitted range counts as inside


@dataclass(frozen=True)
class Prediction:
    """One phase: seconds with the interval of 90 %, CPU seconds of all tasks, what binds.

    ``resources_s`` are the seconds that each resource alone would take; ``inside`` states whether
    all values of the treatment are within those that were fitted for this kind of phase.
    """

    elapsed_s: float
    low_s: float
    high_s: float
    cpu_s: float
    bottleneck: str
    next_bottleneck: str
    resources_s: dict[str, float]
    inside: bool


@dataclass(frozen=True)
class Spread:
    """Logarithms of predicted times, and their standard deviations; shape (rows,)."""

    log: Vector
    deviation: Vector


def predict(
    fit: Fit, rows: Sequence[tuple[Hardware, Job]], *, corrected: bool = True
) -> list[Prediction]:
    """Predictions of the rows, in their order.

    Without ``corrected`` the residuals of the fitted points have no influence: the equations alone.
    """
    if not rows:
        return []
    batch = Batch(rows)
    times = batch.times(fit.log)
    places = np.array([features(*row) for row in rows])
    kinds = [job.label for _, job in rows]
    shifts = np.array([fit.offset(job) for _, job in rows])
    spread = _spread(fit, batch, times, kinds, places)
    middles = (spread.log if corrected else np.log(times.elapsed_s)) + shifts[:, 0]
    deviations = np.hypot(spread.deviation, shifts[:, 1])
    reach = float(student.ppf(0.5 + LEVEL / 2.0, fit.freedom))
    found = []
    for place in range(len(rows)):
        middle, wide = middles[place], reach * deviations[place]
        # the resources take the same fractions of the corrected time
        factor = float(np.exp(middle) / times.elapsed_s[place])
        parts = {
            name: value * factor
            for name, value in alone_s(fit, times, place, rows[place][0]).items()
        }
        order = sorted(parts, key=lambda name: parts[name], reverse=True)
        found.append(
            Prediction(
                elapsed_s=float(np.exp(middle)),
                low_s=float(np.exp(middle - wide)),
                high_s=float(np.exp(middle + wide)),
                cpu_s=float(times.cpu_s[place] * np.exp(shifts[place, 0])),
                bottleneck=order[0],
                next_bottleneck=order[1],
                resources_s=parts,
                inside=_inside(fit, kinds[place], places[place]),
            )
        )
    return found


def alone_s(fit: Fit, times: Times, place: int, capacity: Hardware) -> dict[str, float]:
    """The seconds that each resource, and the start-up, would take alone in one row of times."""
    parts = {name: float(times.resources_s[i, place]) for i, name in enumerate(RESOURCES)}
    # no faster processor of the hosts shortens the start of tasks
    parts[CPU] -= float(times.task_start_s[place])
    start_s = float(np.exp(fit.log[INDEX["start"]])) * (WARM_START if capacity.warm else 1.0)
    parts[START_UP] = start_s + float(times.task_start_s[place])
    return parts


def _spread(fit: Fit, batch: Batch, times: Times, kinds: Sequence[str], places: Matrix) -> Spread:
    middle = np.log(times.elapsed_s)
    slopes = batch.slopes(fit.log)
    variance = np.einsum("ij,jk,ik->i", slopes, fit.covariance, slopes, optimize=True)
    if not fit.kinds:
        return Spread(middle, np.sqrt(variance + fit.error**2))
    own, rows, new = fit.correction, fit.features - fit.centre, places - fit.centre
    near = own.covariance(kinds, new, fit.kinds, rows)
    middle = middle + near @ (fit.precision @ fit.residuals)
    before = own.spread**2 + own.slope**2 * (new**2).sum(axis=1)
    left = before - np.einsum("ij,jk,ik->i", near, fit.precision, near, optimize=True)
    variance = variance + fit.misfit * (np.maximum(left, 0.0) + CORRECTION_NOISE**2)
    return Spread(middle, np.sqrt(variance))


def _inside(fit: Fit, kind: str, place: Vector) -> bool:
    same = fit.features[[own == kind for own in fit.kinds]] if fit.kinds else fit.features
    if not len(same):
        return False
    low, high = same.min(axis=0) - MARGIN, same.max(axis=0) + MARGIN
    return bool(np.all((place >= low) & (place <= high)))
