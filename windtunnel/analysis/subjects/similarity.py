"""The similarity of a scale model in words, for the plan and the report."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from windtunnel.analysis.formatting import plural
from windtunnel.cluster import format_rate
from windtunnel.results.record import (
    Phase,
    ScaleRecord,
    SimilarityGroup,
    SimilarityState,
    StudyRecord,
    Trial,
)

START_SHARE = "start_share"
START_UP = "start-up, fraction of task time"
"""The group that trials measure. The rest of the fraction, the work, is what must agree."""
LIMITS: dict[SimilarityState, float] = {"match": 0.10, "near": 0.30}
MODEL_TIMES = (
    "absolute times are those of the model and not of the full size; bottlenecks, directions and "
    "ratios are valid for the full size as far as the groups match"
)


def value_words(value: float | None, unit: str) -> str:
    """A group's value: ``2.4 GB/s per core``, ``38 %``, ``1.25``."""
    if value is None:
        return "unknown"
    if unit == "share":
        return f"{value * 100:.3g} %"
    if unit.startswith("bytes/s"):
        return format_rate(value, 3) + unit.removeprefix("bytes/s")
    return f"{value:.3g}"


def place(group: SimilarityGroup, names: Mapping[str, str] | None = None) -> str:
    """The subject of a group: the hardware or a workload, and the treatment if not all have it.

    ``names`` are the names of the treatments, by id.
    """
    words = group.workload or "hardware"
    if not group.treatment:
        return words
    return f"{words}, {(names or {}).get(group.treatment, group.treatment)}"


def counts(scale: ScaleRecord) -> str:
    """``18 groups: 14 match, 1 near, 3 broken``, at the baseline."""
    states = [group.state for group in scale.groups if group.treatment is None]
    words = {"match": "match", "near": "near", "broken": "broken", "unknown": "unknown"}
    found = [f"{states.count(state)} {word}" for state, word in words.items() if state in states]
    return f"{plural(len(states), 'group')}: " + ", ".join(found)


def state_against(full: float | None, model: float | None) -> SimilarityState:
    """The state of a group by its values at full size and in the model."""
    if full is None or model is None:
        return "unknown"
    off = abs(model / full - 1) if full else float(model != 0)
    states = (name for name, limit in LIMITS.items() if off <= limit + 1e-9)
    return next(states, "broken")


def with_measured_start_up(study: StudyRecord, trials: Sequence[Trial]) -> ScaleRecord | None:
    """The scale of a study, whose group :data:`START_UP` has what valid trials measured.

    It is the median of the longest phase of the workload. Without such trials, the estimate stays.
    """
    if study.scale is None:
        return None
    baseline = next((t.id for t in study.treatments if t.levels == study.baseline), None)
    groups = []
    for group in study.scale.groups:
        wanted = (group.workload, group.treatment or baseline)
        measured = _start_up(
            trial for trial in trials if (trial.workload, trial.treatment.id) == wanted
        )
        if group.name == START_UP and measured is not None and group.full is not None:
            groups.append(_measured(group, group.full, measured))
        else:
            groups.append(group)
    return study.scale.model_copy(update={"groups": groups})


def _start_up(trials: Iterable[Trial]) -> float | None:
    """The median fraction of the phase that takes longest; None if no valid trial has it."""
    phases: dict[str, list[Phase]] = {}
    for trial in trials:
        for phase in trial.phases if trial.verdict.valid else ():
            if START_SHARE in phase.metrics and not phase.beside:
                phases.setdefault(phase.name, []).append(phase)
    if not phases:
        return None
    longest = max(phases.values(), key=lambda rows: statistics.median(p.elapsed_s for p in rows))
    return statistics.median(phase.metrics[START_SHARE].value for phase in longest)


def _measured(group: SimilarityGroup, full: float, model: float) -> SimilarityGroup:
    state = state_against(1 - full, 1 - model)
    more = "more than at full size: differences are too small"
    less = "less than at full size: differences are too large"
    says = (
        f"start-up was measured as {model * 100:.0f} % of the time of the tasks, "
        f"{more if model > full else less}"
    )
    return group.model_copy(
        update={"model": model, "state": state, "says": "" if state == "match" else says}
    )


def measured_start_up(study: StudyRecord, trials: Sequence[Trial]) -> Iterator[str]:
    """The start-up of tasks in each phase at the baseline, as the valid trials measured it."""
    found: dict[tuple[str, str], list[Phase]] = {}
    for trial in trials:
        if trial.verdict.valid and trial.treatment.levels == study.baseline:
            for phase in trial.phases:
                if START_SHARE in phase.metrics:
                    found.setdefault((trial.workload, phase.name), []).append(phase)
    for (workload, name), phases in found.items():
        share = statistics.median(phase.metrics[START_SHARE].value for phase in phases)
        lead = workload if name == workload else f"{workload}, phase {name}"
        yield f"{lead}: start-up measured as {share * 100:.0f} % of task time ({_start(phases)})"


def _start(phases: Sequence[Phase]) -> str:
    """How tasks started: ``start: warm, 36 of 37 containers`` or ``start: stock``."""
    totals = {
        name: sum(p.metrics[name].value for p in phases if name in p.metrics)
        for name in ("warm_starts", "stock_starts")
    }
    if not any(name in phase.metrics for phase in phases for name in totals):
        return "start: stock"
    warm, all_of_them = totals["warm_starts"], sum(totals.values())
    return f"start: warm, {warm:.0f} of {all_of_them:.0f} containers"


def consequences(scale: ScaleRecord) -> Iterator[str]:
    """The groups that do not match, and the consequences for the results; each one once."""
    for group in scale.groups:
        if group.says and group.treatment is None:
            lead = f"{group.workload}: " if group.workload else ""
            yield f"{lead}{group.name} is {group.state}: {group.says}"
