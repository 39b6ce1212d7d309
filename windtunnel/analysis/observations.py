"""The long table behind every statistic: one row per trial, phase and metric.

Phases are the named ones plus :data:`TOTAL`. Metrics of a phase are ``elapsed``
(s) and whatever the phase recorded. The total holds the sum of ``elapsed`` over
the phases, the trial's own metrics, and the sum of those phase metrics that add
up (their unit is one of :data:`ADDITIVE`) and that every phase of the trial has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from windtunnel.results.record import Metric, Trial

TOTAL = "total"
ELAPSED = "elapsed"
ADDITIVE = frozenset({"s", "bytes", "count", "J", "Wh", "kWh"})


@dataclass(frozen=True, slots=True)
class Observation:
    """One number of one trial; ``value`` is in ``unit``."""

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
        """Whether the number may be averaged: a valid trial that is no warm-up."""
        return self.valid and not self.warmup


def counts(trial: Trial) -> bool:
    """Whether a trial may be averaged: verified as valid and no warm-up."""
    return trial.verdict.valid and not trial.warmup


def total_elapsed(trial: Trial) -> float | None:
    """Seconds over all phases; the trial's own ``elapsed`` if it has no phases; else None."""
    if trial.phases:
        return sum(phase.elapsed_s for phase in trial.phases)
    own = trial.metrics.get(ELAPSED)
    return None if own is None else own.value


def observe(trials: Iterable[Trial]) -> Iterator[Observation]:
    """All observations of the trials, invalid and warm-up trials included, in their order."""
    for trial in trials:
        for phase, metrics in _by_phase(trial).items():
            for name, metric in metrics.items():
                yield Observation(
                    trial=trial.id,
                    workload=trial.workload,
                    treatment=trial.treatment.id,
                    round=trial.round,
                    phase=phase,
                    metric=name,
                    unit=metric.unit,
                    value=metric.value,
                    valid=trial.verdict.valid,
                    warmup=trial.warmup,
                )


def _by_phase(trial: Trial) -> dict[str, dict[str, Metric]]:
    table: dict[str, dict[str, Metric]] = {}
    for phase in trial.phases:
        elapsed = Metric(value=phase.elapsed_s, unit="s")
        table[phase.name] = {**phase.metrics, ELAPSED: elapsed}
    table[TOTAL] = _total(trial)
    return {phase: metrics for phase, metrics in table.items() if metrics}


def _total(trial: Trial) -> dict[str, Metric]:
    total: dict[str, Metric] = {}
    first = trial.phases[0].metrics if trial.phases else {}
    for name, metric in first.items():
        parts = [phase.metrics.get(name) for phase in trial.phases]
        known = [part.value for part in parts if part is not None]
        if metric.unit in ADDITIVE and len(known) == len(parts):
            total[name] = Metric(value=sum(known), unit=metric.unit)
    total.update(trial.metrics)
    elapsed = total_elapsed(trial)
    if elapsed is not None:
        total[ELAPSED] = Metric(value=elapsed, unit="s")
    return total
