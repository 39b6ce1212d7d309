"""The errors of several predictions together: what they have in common, and what each has alone.

The ratio of two predicted times is more certain than the times themselves, because both depend on
the same constants. The covariance of the logarithms is that of the constants, plus that of the
correction far from the fitted points, plus the noise of one treatment, which treatments with equal
features have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from windtunnel.model.constants import Vector
from windtunnel.model.correction import CORRECTION_NOISE, Matrix, features
from windtunnel.model.fit import Batch, Fit
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import Job
from windtunnel.model.predict import LEVEL, Prediction

KEPT = 0.999  # part of the variance that the common directions describe
MOST_ROWS = 2000  # the cost grows with the third power


@dataclass(frozen=True)
class Joint:
    """Errors of logarithms of times: covariance = ``loadings @ loadings.T + diag(own**2)``.

    ``loadings`` has the shape (rows, directions), ``own`` the shape (rows,).
    """

    loadings: Matrix
    own: Vector


def alone(found: Sequence[Prediction], freedom: float) -> Joint:
    """The errors of too many predictions for :func:`joint`: as if they had nothing in common."""
    reach = float(student.ppf(0.5 + LEVEL / 2.0, freedom))
    own = [np.log(one.high_s / one.low_s) / 2.0 / reach for one in found]
    return Joint(np.zeros((len(found), 0)), np.array(own))


def joint(fit: Fit, rows: Sequence[tuple[Hardware, Job]]) -> Joint:
    """The errors of the predictions of these rows, at most :data:`MOST_ROWS`."""
    if not rows:
        return Joint(np.zeros((0, 0)), np.zeros(0))
    covariance = _covariance(fit, rows)
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = int(np.searchsorted(np.cumsum(values), KEPT * values.sum())) + 1
    loadings = vectors[:, :kept] * np.sqrt(values[:kept])
    left = np.diag(covariance) - (loadings**2).sum(axis=1)
    return Joint(loadings, np.sqrt(np.maximum(left, 0.0)))


def _covariance(fit: Fit, rows: Sequence[tuple[Hardware, Job]]) -> Matrix:
    batch = Batch(rows)
    slopes = batch.slopes(fit.log)
    found: Matrix = np.einsum("ij,jk,lk->il", slopes, fit.covariance, slopes, optimize=True)
    kinds = [job.label for _, job in rows]
    places = np.array([features(*row) for row in rows])
    if not fit.kinds:
        return found + fit.error**2 * fit.correction.likeness(kinds, places, kinds, places)
    fitted, new = fit.features - fit.centre, places - fit.centre
    own = fit.correction
    near = own.covariance(kinds, new, fit.kinds, fitted)
    left = own.covariance(kinds, new, kinds, new) - near @ fit.precision @ near.T
    noise = CORRECTION_NOISE**2 * own.likeness(kinds, new, kinds, new)
    return found + fit.misfit * (left + noise)
