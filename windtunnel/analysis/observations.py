"""The long table from which all statistics are computed: one row per trial, phase and metric.

Phases are the named ones plus :data:`TOTAL`. Metrics of a phase are ``elapsed``
(s) and the metrics that the phase recorded. The total holds the sum of ``elapsed`` over
the phases, the trial's own metrics, and the sums of the phase metrics that are additive (by the
catalogue of metrics; without a description, by their unit) and that every phase of the trial has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from windtunnel.results import trial_metrics
from windtunnel.results.metrics import describe
from windtunnel.results.record import Metric, Treatment, Trial

TOTAL = "total"
ELAPSED = trial_metrics.ELAPSED.name
TIMEOUT = "timeout"
"""Metric of imported runs: above 0 if the run was stopped at a time limit."""

Number = tuple[float, str]
"""A value and its unit."""


class Observation(NamedTuple):
    """One number of one trial; ``value`` is in ``unit``. A named tuple is fast to create."""

    trial: str
    workload: str
    treatment: str
    round: int
    phase: str
    metric: str
    unit: str
    value: float
    valid: bool
    warmup: bool

    @property
    def counts(self) -> bool:
        """Whether the number may be averaged: the trial is valid and not a warm-up."""
        return self.valid and not self.warmup


def counts(trial: Trial) -> bool:
    """Whether a trial may be averaged: it was verified as valid and is not a warm-up."""
    return trial.verdict.valid and not trial.warmup


def stopped(metrics: Mapping[str, Metric]) -> bool:
    """Whether a run was stopped at a time limit, by the metrics of the trial or of its phase."""
    return TIMEOUT in metrics and metrics[TIMEOUT].value > 0


def total_elapsed(trial: Trial) -> float | None:
    """Seconds over all phases; the trial's own ``elapsed`` if it has no phases; else None.

    Reference phases are excluded, here and in every other sum. None if a phase was stopped: its
    elapsed time is only a lower bound.
    """
    if any(map(stopped, (trial.metrics, *(phase.metrics for phase in trial.phases)))):
        return None
    if trial.phases:
        return sum(phase.elapsed_s for phase in trial.phases if not phase.beside)
    own = trial.metrics.get(ELAPSED)
    return None if own is None else own.value


def observe(trials: Iterable[Trial]) -> Iterator[Observation]:
    """All observations of the trials, invalid and warm-up trials included, in their order."""
    for trial in trials:
        for phase, numbers in _by_phase(trial).items():
            for name, (value, unit) in numbers.items():
                yield Observation(
                    trial.id,
                    trial.workload,
                    trial.treatment.id,
                    trial.round,
                    phase,
                    name,
                    unit,
                    value,
                    trial.verdict.valid,
                    trial.warmup,
                )


def _by_phase(trial: Trial) -> dict[str, dict[str, Number]]:
    table: dict[str, dict[str, Number]] = {}
    for phase in trial.phases:
        own = {name: (metric.value, metric.unit) for name, metric in phase.metrics.items()}
        elapsed = {} if stopped(phase.metrics) else {ELAPSED: (phase.elapsed_s, "s")}
        table[phase.name] = {**own, **elapsed}
    table[TOTAL] = _total(trial)
    return {phase: numbers for phase, numbers in table.items() if numbers}


def _total(trial: Trial) -> dict[str, Number]:
    total: dict[str, Number] = {}
    summed = [phase for phase in trial.phases if not phase.beside]
    first = summed[0].metrics if summed else {}
    for name, metric in first.items():
        parts = [phase.metrics.get(name) for phase in summed]
        known = [part.value for part in parts if part is not None]
        if len(known) == len(parts) and describe(name, metric.unit).additive:
            total[name] = (sum(known), metric.unit)
    total |= {name: (metric.value, metric.unit) for name, metric in trial.metrics.items()}
    total.pop(ELAPSED, None)
    elapsed = total_elapsed(trial)
    if elapsed is not None:
        total[ELAPSED] = (elapsed, "s")
    return total


def rest_of(factor: str, treatment: Treatment) -> dict[str, str]:
    """The levels of a treatment except that of one factor."""
    return {name: level for name, level in treatment.levels.items() if name != factor}


def other_levels(factor: str, treatments: Sequence[Treatment]) -> list[dict[str, str]]:
    """Combinations of the other factors' levels, each once."""
    return list({str(rest): rest for t in treatments for rest in [rest_of(factor, t)]}.values())


def elapsed_by_level(trials: Sequence[Trial], factor: str, phase: str) -> dict[str, list[float]]:
    """Elapsed seconds of a phase (or the total) by level of a factor, those above 0."""
    found: dict[str, list[float]] = {}
    for trial in trials:
        known = {p.name: p.elapsed_s for p in trial.phases if not stopped(p.metrics)}
        value = total_elapsed(trial) if phase == TOTAL else known.get(phase)
        if value is not None and value > 0:
            found.setdefault(trial.treatment.levels[factor], []).append(value)
    return found
