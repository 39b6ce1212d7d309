"""Section "Observed jobs": kinds of jobs, what bound them, their changes over time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import percent, percent_interval, quantity
from windtunnel.analysis.observations import total_elapsed
from windtunnel.analysis.subjects.observed import (
    LEAST_RUNS,
    OBSERVED,
    Association,
    Change,
    associations,
    changes,
)
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.results.record import Phase, Trial

_CPU_BOUND = 0.7
_GC_BOUND = 0.15
_SHUFFLE_BOUND = 0.5
_STRAGGLING = 2.0
_MANY_WAVES = 5.0
_MOST_ROWS = 30


def section(analysis: Analysis) -> Section | None:
    """None unless the jobs were observed."""
    if analysis.study.kind != OBSERVED:
        return None
    by_kind: dict[str, list[Trial]] = {}
    for trial in analysis.results.trials:
        by_kind.setdefault(trial.workload, []).append(trial)
    steps, found = changes(analysis.results), associations(analysis.results)
    kinds = sorted(by_kind.items(), key=lambda pair: -sum(total_elapsed(t) or 0 for t in pair[1]))
    said = [*map(_change_sentence, steps), *map(_association_sentence, found)]
    if not said:
        said = [
            "No drift, step or associated setting was found in the times of these jobs; kinds of "
            f"jobs with fewer than {LEAST_RUNS} successful runs are not analysed over time"
        ]
    return Section(
        id="observed",
        title="Observed jobs",
        lead="Nobody planned these jobs as trials. A difference between them is an association, "
        "never an effect: data, load and settings change together. A study with random order "
        "measures the effect.",
        said=said,
        tables=[_kinds(kinds), _phases(kinds), _change_table(steps), _association_table(found)],
        data={
            "changes": [asdict(one) for one in steps],
            "associations": [asdict(one) for one in found],
        },
        answer=said[0],
        group="answer",
    )


def _change_sentence(change: Change) -> str:
    words = percent_interval(change.low - 1, change.high - 1, change.ratio - 1)
    if change.at is None:
        text = f"{change.workload}: {change.kind}: {percent(change.ratio - 1)} {words}"
    else:
        text = (
            f"{change.workload}: a step on {_day(change.at)}: elapsed time "
            f"{percent(change.ratio - 1)} {words} from then on"
        )
    if change.settings:
        names = ", ".join(
            f"{one.name} from {one.before or 'not set'} to {one.after or 'not set'}"
            for one in change.settings[:3]
        )
        more = len(change.settings) - 3
        text += f"; settings that changed then: {names}{f' and {more} more' if more > 0 else ''} "
        text += "(an association)"
    elif not change.settings_known:
        text += "; the settings of these runs are unknown"
    elif change.at is not None:
        text += "; no setting changed at that time and kept its new value"
    return text + _input(change.input_ratio)


def _input(ratio: float | None) -> str:
    if ratio is None or 0.9 <= ratio <= 1.1:
        return ""
    return f"; the amount of data read also changed, to {ratio:.2f} times its size"


def _association_sentence(one: Association) -> str:
    words = percent_interval(one.low - 1, one.high - 1, one.ratio - 1)
    return (
        f"{one.workload}: elapsed time {percent(one.ratio - 1)} {words} with {one.setting} = "
        f"{one.value or 'not set'} relative to {one.reference or 'not set'} "
        f"({one.runs} and {one.runs_reference} runs); this is an association"
        f"{_input(one.input_ratio)}"
    )


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _kinds(kinds: Sequence[tuple[str, list[Trial]]]) -> Table:
    times = ("median", "longest", "queue wait")
    shares = ("local maps", "spill ratio", "memory used", "wasted task time")
    names = ("kind of job", "runs", "failed", *times, *shares)
    rows = []
    for name, trials in kinds[:_MOST_ROWS]:
        valid = [trial for trial in trials if trial.verdict.valid]
        took = [t for trial in valid if (t := total_elapsed(trial)) is not None]
        rows.append(
            (
                name,
                str(len(trials)),
                str(len(trials) - len(valid)),
                quantity(statistics.median(took), "s") if took else "unknown",
                quantity(max(took), "s") if took else "unknown",
                _median(valid, "queue_wait", "s"),
                _median(valid, "local_share", "%"),
                _median(valid, "spill_ratio", "x"),
                _median(valid, "memory_share", "%"),
                _median(trials, "wasted_time", "s"),
            )
        )
    more = f"; {len(kinds) - _MOST_ROWS} more are in the JSON" if len(kinds) > _MOST_ROWS else ""
    return Table(f"Kinds of jobs by total time, medians of their runs{more}", column(*names), rows)


def _median(trials: Sequence[Trial], name: str, unit: str) -> str:
    values = [trial.metrics[name].value for trial in trials if name in trial.metrics]
    return _shown(statistics.median(values), unit) if values else "unknown"


def _shown(value: float, unit: str) -> str:
    if unit == "%":
        return f"{value * 100:.0f} %"
    return f"{value:.2f}" if unit == "x" else quantity(value, unit)


def _phases(kinds: Sequence[tuple[str, list[Trial]]]) -> Table:
    tasks = ("tasks", "waves", "longest / median", "skew of input", "CPU", "GC", "shuffle")
    names = ("kind of job", "phase", "bound by", "median", *tasks)
    rows = []
    for name, trials in kinds[:_MOST_ROWS]:
        phases: dict[str, list[Phase]] = {}
        for trial in trials:
            if trial.verdict.valid:
                for phase in trial.phases:
                    phases.setdefault(phase.name, []).append(phase)
        for phase_name, own in phases.items():
            of = {key: _of(own, key) for key in _COLUMNS}
            rows.append(
                (
                    name,
                    phase_name,
                    bound_by(phase_name, of),
                    quantity(statistics.median(phase.elapsed_s for phase in own), "s"),
                    *(
                        "unknown" if of[k] is None else _shown(of[k], u)
                        for k, u in _COLUMNS.items()
                    ),
                )
            )
    hint = (
        "longest / median: durations of the tasks; CPU, GC: fractions of the elapsed time of the "
        "tasks; shuffle: fraction of the elapsed time of the reduce tasks"
    )
    return Table("Bottleneck of each phase", column(*names, text=3), rows, hint=hint)


_COLUMNS: dict[str, str] = {
    "observed_tasks": "x",
    "waves": "x",
    "straggler_ratio": "x",
    "skew_ratio": "x",
    "task_cpu_share": "%",
    "task_gc_share": "%",
    "shuffle_share": "%",
}


def _of(phases: Sequence[Phase], name: str) -> Any:
    values = [phase.metrics[name].value for phase in phases if name in phase.metrics]
    return statistics.median(values) if values else None


def bound_by(phase: str, of: dict[str, float | None]) -> str:
    """What the task attempts show about a phase; the history has no load of disks and NICs."""
    if phase == "start-up":
        return "application master, containers"
    straggler, skew = of["straggler_ratio"], of["skew_ratio"]
    found = []
    if straggler is not None and straggler >= _STRAGGLING:
        reason = "skew of the input" if skew is not None and skew >= _STRAGGLING else "a straggler"
        found.append(f"longest task ({reason})")
    if (of["task_gc_share"] or 0) >= _GC_BOUND:
        found.append("garbage collection")
    if (of["shuffle_share"] or 0) >= _SHUFFLE_BOUND:
        found.append("shuffle")
    elif of["task_cpu_share"] is not None:
        cpu = of["task_cpu_share"] >= _CPU_BOUND
        found.append("CPU" if cpu else "waiting (disks, network, start of JVMs)")
    if (of["waves"] or 0) >= _MANY_WAVES:
        found.append("number of containers (waves)")
    return ", ".join(found) or "unknown"


def _change_table(steps: Sequence[Change]) -> Table:
    names = ("kind of job", "change", "first run after it", "runs", "ratio", "95 % interval", "p")
    return Table(
        "Changes over time (Pettitt's test, Kendall's tau; p by Holm)",
        column(*names, text=3),
        [
            (
                one.workload,
                one.kind,
                "" if one.at is None else _day(one.at),
                str(one.runs),
                f"{one.ratio:.2f}",
                f"{one.low:.2f} to {one.high:.2f}",
                f"{one.p:.2g}",
            )
            for one in steps
        ],
        folded=True,
    )


def _association_table(found: Sequence[Association]) -> Table:
    names = ("kind of job", "setting", "value", "reference", "runs", "ratio", "95 % interval", "p")
    return Table(
        "Settings associated with the time (rank test; p by Holm)",
        column(*names, text=4),
        [
            (
                one.workload,
                one.setting,
                one.value or "not set",
                one.reference or "not set",
                f"{one.runs} / {one.runs_reference}",
                f"{one.ratio:.2f}",
                f"{one.low:.2f} to {one.high:.2f}",
                f"{one.p:.2g}",
            )
            for one in found
        ],
        folded=True,
    )
