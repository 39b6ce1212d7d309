"""The similarity of a scale model in words, for the plan and the report."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from windtunnel.analysis.formatting import plural
from windtunnel.analysis.observations import counts as counts_in
from windtunnel.cluster import format_rate
from windtunnel.results.record import (
    Phase,
    ScaleRecord,
    SimilarityGroup,
    StudyRecord,
    Trial,
)
from windtunnel.results.similarity import state_of

START_SHARE = "start_share"
START_UP = "start-up, fraction of task time"
"""The group that trials measure. The rest of the fraction, the work, is what must agree."""
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


def with_measured_start_up(study: StudyRecord, trials: Sequence[Trial]) -> ScaleRecord | None:
    """The scale of a study, whose groups :data:`START_UP` have what its trials measured.

    Without such trials, the estimate stays.
    """
    return study.scale and with_start_up(study.scale, start_up_shares(study, trials))


Place = tuple[str, str | None]
"""A workload, and a treatment or, for the baseline, None."""


def start_up_shares(study: StudyRecord, trials: Iterable[Trial]) -> dict[Place, float]:
    """Start-up as a fraction of the time of the tasks: the median of the longest phase."""
    phases: dict[Place, dict[str, list[Phase]]] = {}
    base = baseline_id(study)
    for trial in trials:
        for phase in trial.phases if counts_in(trial) else ():
            if START_SHARE in phase.metrics and not phase.beside:
                treatment = None if trial.treatment.id == base else trial.treatment.id
                found = phases.setdefault((trial.workload, treatment), {})
                found.setdefault(phase.name, []).append(phase)
    shares = {}
    for place, rows in phases.items():
        longest = max(rows.values(), key=lambda row: statistics.median(p.elapsed_s for p in row))
        shares[place] = statistics.median(phase.metrics[START_SHARE].value for phase in longest)
    return shares


def with_start_up(scale: ScaleRecord, shares: Mapping[Place, float]) -> ScaleRecord:
    """The scale with these values in the groups :data:`START_UP`.

    A treatment has a group of its own if its state differs from the baseline's.
    """
    listed = {(g.workload, g.treatment): g for g in scale.groups if g.name == START_UP}
    groups = []
    for group in scale.groups:
        workload = group.workload or ""
        if group.name != START_UP or (workload, group.treatment) not in shares:
            groups.append(group)
        elif group.treatment is None:
            measured = _measured(group, shares[workload, None])
            groups.append(measured)
            for (name, treatment), share in shares.items():
                if name == workload and treatment is not None:
                    own = _measured(listed.get((name, treatment), group), share)
                    if own.state != measured.state:
                        groups.append(own.model_copy(update={"treatment": treatment}))
    return scale.model_copy(update={"groups": groups})


def _measured(group: SimilarityGroup, model: float) -> SimilarityGroup:
    full = group.full
    state = state_of(None if full is None else 1 - full, 1 - model)
    says = ""
    if full is not None and state != "match":
        small = "small" if model > full else "large"
        says = (
            f"start-up was measured as {model * 100:.0f} % of the time of the tasks; at full size "
            f"it is estimated as {full * 100:.0f} %: differences are too {small}"
        )
    return group.model_copy(update={"model": model, "state": state, "says": says})


def baseline_id(study: StudyRecord) -> str | None:
    """The treatment at the baseline of all factors; the first treatment if there is none."""
    found = [t.id for t in study.treatments if t.levels == study.baseline]
    return next(iter([*found, *(t.id for t in study.treatments)]), None)


def measured_start_up(study: StudyRecord, trials: Sequence[Trial]) -> Iterator[str]:
    """The start-up of tasks in each phase at the baseline, as the valid trials measured it."""
    found: dict[tuple[str, str], list[Phase]] = {}
    base = baseline_id(study)
    for trial in trials:
        if counts_in(trial) and trial.treatment.id == base:
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
