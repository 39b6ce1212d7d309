"""The errors of predicted times, and of differences between them.

A predicted time has one trial and no spread: its uncertainty is the model's. The errors of several
predictions have a common part, which cancels in their ratios (``PredictedPhase`` in the record).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.analysis.observations import TOTAL, counts
from windtunnel.analysis.statistics.summary import Contrast
from windtunnel.results.record import Phase, Trial

Place = tuple[str, str, str]
"""(treatment, workload, phase)"""


@dataclass(frozen=True, slots=True)
class PredictedError:
    """Error of the logarithm of a predicted time, with Student's ``freedom``.

    ``loadings`` are standard deviations along the directions that all predictions of a study have
    in common. ``own`` is the standard deviation of the remaining error.
    """

    loadings: tuple[float, ...]
    own: float
    freedom: float


def predicted_errors(trials: Iterable[Trial]) -> dict[Place, PredictedError]:
    """The errors of the phases and totals of predicted trials; empty for measured ones."""
    found: dict[Place, PredictedError] = {}
    for trial in filter(counts, trials):
        phases = [phase for phase in trial.phases if not phase.beside]
        for phase in phases:
            if (error := _of_phase(phase)) is not None:
                found[trial.treatment.id, trial.workload, phase.name] = error
        total = _of_total(phases)
        if total is not None:
            found[trial.treatment.id, trial.workload, TOTAL] = total
    return found


def log_contrast(estimate: float, terms: Sequence[tuple[float, PredictedError]]) -> Contrast:
    """A weighted sum of errors as a contrast; the weights are those of the logarithms."""
    error = joined(terms)
    variance = sum(value**2 for value in error.loadings) + error.own**2
    return Contrast(estimate, math.sqrt(variance), error.freedom)


def _of_phase(phase: Phase) -> PredictedError | None:
    made = phase.prediction
    return None if made is None else PredictedError(tuple(made.loadings), made.own, made.freedom)


def _of_total(phases: Sequence[Phase]) -> PredictedError | None:
    """The error of a sum: that of each phase counts by its part of the time."""
    whole = sum(phase.elapsed_s for phase in phases)
    errors = [_of_phase(phase) for phase in phases]
    known = [error for error in errors if error is not None]
    if not known or len(known) < len(errors) or whole <= 0:
        return None
    parts = [phase.elapsed_s / whole for phase in phases]
    return joined(list(zip(parts, known, strict=True)))


def joined(terms: Sequence[tuple[float, PredictedError]]) -> PredictedError:
    """The error of a weighted sum of logarithms; common directions add up with their signs."""
    loadings = np.sum([weight * np.array(error.loadings) for weight, error in terms], axis=0)
    own = math.sqrt(sum((weight * error.own) ** 2 for weight, error in terms))
    freedom = min(error.freedom for _, error in terms)
    return PredictedError(tuple(float(value) for value in np.atleast_1d(loadings)), own, freedom)
