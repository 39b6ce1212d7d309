"""The similarity of a scale model in words, for the plan and the report."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from windtunnel.analysis.formatting import plural
from windtunnel.cluster import format_rate
from windtunnel.results.record import Phase, ScaleRecord, SimilarityGroup, StudyRecord, Trial

START_SHARE = "start_share"
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
