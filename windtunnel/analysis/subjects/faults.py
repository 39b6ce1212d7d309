"""Results of injected faults: jobs that finished, correct output, cost, and recovery.

Only trials are counted in which every fault was injected as planned and which did not fail for
another reason. A job that failed because of a fault is an outcome; no mean includes its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.common_rounds import compared
from windtunnel.analysis.effects.effects import Effect, effect, model_errors
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.results.record import FAULT, FaultRecord, Treatment, Trial


@dataclass(frozen=True, slots=True)
class Seen:
    """The time of an event in several trials, in seconds since the fault.

    ``seconds`` holds the times of the trials in which the event occurred, ``watched_s`` the
    observed time of the others, None if there are none.
    """

    seconds: tuple[float, ...] = ()
    watched_s: float | None = None


@dataclass(frozen=True, slots=True)
class FaultOutcome:
    """One treatment of one workload; ``faults`` lists the faults, empty for none.

    ``finished`` and ``right`` count trials of ``trials``. ``elapsed_s`` is the mean over valid
    trials. ``effect`` is that of the faults on the total elapsed time, None if it is unknown. Its
    ``baseline`` is the level without faults and with the same settings.
    ``noticed`` (the failure was detected) and ``whole`` (all blocks were fully replicated) are of
    valid trials, and None if the faults remove no replicas or no trial is valid. ``moved_back`` is
    the time until the storage had moved data to a host that was put into service again; None if the
    storage moves none.
    """

    workload: str
    treatment: str
    faults: tuple[str, ...]
    trials: int
    finished: int
    right: int
    elapsed_s: float | None
    effect: Effect | None
    noticed: Seen | None = None
    whole: Seen | None = None
    moved_back: Seen | None = None


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault of one trial. ``into_job_s``: seconds from the job's start, None if unknown.

    ``reason`` is why the job failed or why its output is wrong; empty if neither happened.
    """

    trial: str
    fault: FaultRecord
    into_job_s: float | None
    lasted_s: float | None
    outcome: str
    reason: str = ""


def fault_outcomes(analysis: Analysis) -> list[FaultOutcome]:
    """By workload and treatment in the study's order; empty for a study without faults."""
    if not any(treatment.overrides.get(FAULT) for treatment in analysis.study.treatments):
        return []
    return [
        _outcome(analysis, workload, treatment)
        for workload in analysis.phases
        for treatment in analysis.study.treatments
    ]


def struck(analysis: Analysis) -> Iterator[Struck]:
    """Every fault of every trial, in the order of the trials."""
    for trial in analysis.results.trials:
        for fault in trial.faults:
            began = {phase.name: phase.started_at for phase in trial.phases}.get(fault.phase)
            yield Struck(
                trial=trial.id,
                fault=fault,
                into_job_s=_between(began, fault.at),
                lasted_s=_between(fault.at, fault.undone_at),
                outcome=str(trial.outcome) if _counts(trial) else "does not count",
                reason=trial.verdict.reason if _counts(trial) else "",
            )


def _counts(trial: Trial) -> bool:
    """Whether the trial is valid, or failed because of its faults (an outcome).

    A trial is invalid although its job finished if, for example, the host machine was saturated.
    """
    return trial.outcome is not None and trial.answers


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _outcome(analysis: Analysis, workload: str, treatment: Treatment) -> FaultOutcome:
    own = [
        trial
        for trial in analysis.results.trials
        if (trial.workload, trial.treatment.id) == (workload, treatment.id) and not trial.warmup
    ]
    cell = analysis.cell(treatment.id, workload, TOTAL, ELAPSED)
    elapsed_s = None if cell is None else cell.mean
    if not treatment.overrides.get(FAULT):
        right = sum(trial.verdict.valid for trial in own)
        return FaultOutcome(workload, treatment.id, (), right, right, right, elapsed_s, None)
    reported = [trial for trial in own if _counts(trial)]
    valid = [trial for trial in reported if trial.verdict.valid]
    faults = [fault for trial in valid for fault in trial.faults]
    texts = next((tuple(f.text for f in trial.faults) for trial in reported), _plain(treatment))
    return FaultOutcome(
        workload=workload,
        treatment=treatment.id,
        faults=texts,
        trials=len(reported),
        finished=sum(trial.outcome != "job failed" for trial in reported),
        right=sum(trial.outcome == "finished" for trial in reported),
        elapsed_s=elapsed_s,
        effect=_effect(analysis, workload, treatment),
        noticed=_seen([f for f in faults if not f.ordered], "noticed_s"),
        whole=_seen(faults, "whole_s"),
        moved_back=_seen(faults, "moved_back_s", "watched_back_s"),
    )


def _plain(treatment: Treatment) -> tuple[str, ...]:
    """The kinds of a treatment's faults, if no trial has recorded them completely."""
    return tuple(str(fault.get("kind", "unknown")) for fault in treatment.overrides[FAULT])


def _seen(faults: Sequence[FaultRecord], field: str, watched: str = "watched_s") -> Seen | None:
    """The times of an event in the faults that were watched; None if none was."""
    times = [
        (getattr(f, field), limit) for f in faults if (limit := getattr(f, watched)) is not None
    ]
    if not times:
        return None
    seconds = tuple(value for value, _ in times if value is not None)
    vain = [limit for value, limit in times if value is None]
    return Seen(seconds, min(vain) if vain else None)


def _effect(analysis: Analysis, workload: str, treatment: Treatment) -> Effect | None:
    """The effect of the faults on the total elapsed time.

    It is that of the level that sets the fault. If this level also sets something else than the
    baseline, the treatment is compared with the one without faults that has the same settings.
    """
    factors = _factors_of_faults(analysis.study.treatments)
    if len(factors) != 1:
        return None
    factor = factors[0]
    wanted = (factor, treatment.levels.get(factor), workload, TOTAL, ELAPSED)
    of_level = (
        e for e in analysis.effects if (e.factor, e.level, e.workload, e.phase, e.metric) == wanted
    )
    found = next(of_level, None)
    reference = _without_faults(analysis.study.treatments, treatment, factor)
    if reference is None:
        return found if found is not None and _main_effect(analysis, found) else None
    alone = found is not None and found.matched == 1  # no other factor varies
    if found is not None and alone and reference.levels.get(factor) == found.baseline:
        return found
    return _against(analysis, workload, factor, treatment, reference)


def _main_effect(analysis: Analysis, found: Effect) -> bool:
    """Whether it is a mean over the other factors, against a level without faults.

    Fractional designs have no pair of treatments that differ in the fault alone.
    """
    base = [t for t in analysis.study.treatments if t.levels.get(found.factor) == found.baseline]
    return found.comparison == "main effect" and not any(t.overrides.get(FAULT) for t in base)


def _without_faults(
    treatments: Sequence[Treatment], treatment: Treatment, factor: str
) -> Treatment | None:
    """The treatment that differs from this one in its faults only; None if there is none."""

    def rest(one: Treatment) -> tuple[dict[str, object], dict[str, str]]:
        settings = {path: value for path, value in one.overrides.items() if path != FAULT}
        return settings, {name: level for name, level in one.levels.items() if name != factor}

    free = (one for one in treatments if not one.overrides.get(FAULT))
    return next((one for one in free if rest(one) == rest(treatment)), None)


def _against(
    analysis: Analysis, workload: str, factor: str, treatment: Treatment, reference: Treatment
) -> Effect | None:
    """The effect of one treatment against another; None if one has no valid trial."""
    ours = analysis.table.get((treatment.id, workload, TOTAL, ELAPSED))
    base = analysis.table.get((reference.id, workload, TOTAL, ELAPSED))
    if ours is None or base is None:
        return None
    levels = (treatment.levels[factor], reference.levels[factor])
    about = (factor, *levels, workload, TOTAL, ELAPSED, ours.unit)
    sides = [(ours, base)]
    values, paired = compared(sides)
    return effect(about, values, paired=paired, model=model_errors(sides))


def _factors_of_faults(treatments: Sequence[Treatment]) -> list[str]:
    """The factors whose level alone determines the fault of a treatment."""
    found = []
    for factor in treatments[0].levels:
        by_level: dict[str, set[str]] = {}
        for t in treatments:
            by_level.setdefault(t.levels.get(factor, ""), set()).add(str(t.overrides.get(FAULT)))
        same = all(len(group) == 1 for group in by_level.values())
        if same and len({text for group in by_level.values() for text in group}) > 1:
            found.append(factor)
    return found
