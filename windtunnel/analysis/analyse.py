"""The analysis of a results folder: one object with everything that a report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from windtunnel.analysis.bottleneck.physical_limits import limits_by_treatment
from windtunnel.analysis.bottleneck.usage import Usage, usages
from windtunnel.analysis.cost.energy import with_energy
from windtunnel.analysis.cost.tariff import Tariff
from windtunnel.analysis.effects.answer import answer
from windtunnel.analysis.effects.cells import Cell, Key, Sample, cells, samples
from windtunnel.analysis.effects.effects import Effect, effects
from windtunnel.analysis.effects.findings import Finding, findings
from windtunnel.analysis.effects.ranking import Ranking, rankings
from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.names import names_of
from windtunnel.analysis.observations import TOTAL, Observation, observe, total_elapsed
from windtunnel.analysis.predicted_error import predicted_errors
from windtunnel.analysis.recorded import Recorded
from windtunnel.analysis.statistics.intervals import Method
from windtunnel.analysis.warnings import warnings
from windtunnel.results.folder import Results
from windtunnel.results.record import StudyRecord, Trial


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial in a table or a plot. ``order`` counts from 1 in the order of execution.

    ``elapsed`` maps phase (the total included) to seconds. ``verdict`` is ``valid``,
    ``invalid`` or ``warm-up``, or the outcome of a fault: ``job failed`` or ``output wrong``.
    """

    id: str
    order: int
    round: int
    position: int
    attempt: int
    extra: bool
    workload: str
    treatment: str
    verdict: str
    reason: str
    started_at: float
    load_before: float | None
    elapsed: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Analysis(Recorded):
    """The numbers of a study, its findings and its warnings.

    ``phases`` maps workload to its phases in order, the total last; ``table`` holds the values
    behind each cell; ``interval`` is the requested kind of interval of a mean.
    """

    study: StudyRecord
    findings: list[Finding]
    cells: list[Cell]
    effects: list[Effect]
    usages: list[Usage]
    trials: list[TrialRow]
    phases: dict[str, list[str]]
    observations: list[Observation]
    table: Mapping[Key, Sample]
    interval: Method = "t"
    tariff: Tariff = field(default_factory=Tariff)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each treatment, by its id."""
        return names_of(self.results)

    def name(self, treatment: str) -> str:
        """The name of a treatment: its levels."""
        return self.names.get(treatment, treatment)

    def cell(self, treatment: str, workload: str, phase: str, metric: str) -> Cell | None:
        """One cell; None if no valid trial has that metric."""
        return self.by_key.get((treatment, workload, phase, metric))

    def is_whole(self, workload: str, phase: str) -> bool:
        """Whether a phase is the only one of its workload, so that the total has its values."""
        summed = [name for name in self.phases[workload] if (workload, name) not in self.beside]
        return phase != TOTAL and phase in summed and len(summed) == 2

    @cached_property
    def beside(self) -> frozenset[tuple[str, str]]:
        """(workload, phase) of the reference phases, which are excluded from every total."""
        return reference_phases(self.results.trials)

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The ranking of the factors, by workload; empty if fewer than two factors were varied."""
        return rankings(self.study, self.table, self.effects, self.phases)

    @cached_property
    def warnings(self) -> list[ReportWarning]:
        """The warnings, the serious ones first."""
        from windtunnel.analysis.unreadable import unreadable  # reads Parquet: slow to import

        lost = self.once(unreadable)
        return warnings(Evidence(self.results, self.cells, self.usages, lost))

    @cached_property
    def answer(self) -> str:
        """The study's answer in one sentence."""
        return answer(self.study, self.findings, self.cells, self.rankings, self.names)

    @cached_property
    def by_key(self) -> Mapping[Key, Cell]:
        """The cells by (treatment, workload, phase, metric)."""
        return {(c.treatment, c.workload, c.phase, c.metric): c for c in self.cells}

    @cached_property
    def ranks(self) -> dict[tuple[str, str], int]:
        """Position of (workload, phase) in a table: the total first, then the phases in order."""
        return {
            (workload, phase): -1 if phase == TOTAL else place
            for workload, phases in self.phases.items()
            for place, phase in enumerate(phases)
        }

    def treatments(self) -> list[str]:
        """Ids of the treatments in the study's order; those that only trials contain come last."""
        planned = [treatment.id for treatment in self.study.treatments]
        return list(dict.fromkeys([*planned, *(trial.treatment for trial in self.trials)]))


def reference_phases(trials: Sequence[Trial]) -> frozenset[tuple[str, str]]:
    """(workload, phase) of the reference phases of trials."""
    return frozenset((t.workload, phase.name) for t in trials for phase in t.phases if phase.beside)


def analyse(results: Results, tariff: Tariff | None = None, interval: Method = "t") -> Analysis:
    """Analyse the trials that a study has so far; an empty study gives an empty analysis.

    ``tariff`` holds the assumptions of the costs (None: the defaults); nothing else depends on
    it. ``interval`` selects the interval of a mean: Student's ``t``, or the bootstrap ``bca``
    for cells with enough trials.
    """
    results = with_energy(results)
    observations = list(observe(results.trials))
    table = samples(
        observations,
        predicted_errors(results.trials),
        rounds_known=results.study.protocol.rounds_known,
        printed=results.study.kind == "published",
    )
    found_cells = cells(table, interval)
    found_effects = effects(results.study, table)
    used = usages(results.trials, limits_by_treatment(results))
    return Analysis(
        study=results.study,
        findings=findings(found_effects, reference_phases(results.trials)),
        cells=found_cells,
        effects=found_effects,
        usages=used,
        trials=[_row(order, trial) for order, trial in enumerate(results.trials, start=1)],
        phases=_phases(results.trials),
        observations=observations,
        results=results,
        table=table,
        interval=interval,
        tariff=tariff or Tariff(),
    )


def _phases(trials: Sequence[Trial]) -> dict[str, list[str]]:
    phases: dict[str, dict[str, None]] = {}
    for trial in trials:
        named = phases.setdefault(trial.workload, {})
        named.update(dict.fromkeys(phase.name for phase in trial.phases))
    return {workload: [*named, TOTAL] for workload, named in phases.items()}


def _row(order: int, trial: Trial) -> TrialRow:
    elapsed = {phase.name: phase.elapsed_s for phase in trial.phases}
    total = total_elapsed(trial)
    if total is not None:
        elapsed[TOTAL] = total
    caused = trial.outcome if trial.answers else None
    verdict = "valid" if trial.verdict.valid else caused or "invalid"
    return TrialRow(
        id=trial.id,
        order=order,
        round=trial.round,
        position=trial.position,
        attempt=trial.attempt,
        extra=trial.extra,
        workload=trial.workload,
        treatment=trial.treatment.id,
        verdict="warm-up" if trial.warmup and trial.verdict.valid else verdict,
        reason=trial.verdict.reason,
        started_at=trial.started_at,
        load_before=None if trial.before is None else trial.before.load_1min,
        elapsed=elapsed,
    )
