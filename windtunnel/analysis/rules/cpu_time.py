"""Rule on the CPU time of the tasks, which is similar in trials that do the same work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from windtunnel.analysis.evidence import Evidence, ReportWarning, slot
from windtunnel.analysis.formatting import listed, percent
from windtunnel.results.record import Trial

FROM = 3
"""Number of trials in a cell from which its median shows which trial differs."""
AT_LEAST = 0.25
"""Difference from the median that is reported. Trials of small jobs differ by up to 0.2."""


def cpu_time(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: the speed of the processors is the same in all trials of a cell.

    Trials with a fault are exempt: they repeat work.
    """
    cells: dict[tuple[str, str], list[tuple[Trial, float]]] = defaultdict(list)
    for trial in evidence.counted:
        used_s = _cpu_s(trial)
        if used_s and not trial.faults:
            cells[slot(trial)].append((trial, used_s))
    names = []
    for (workload, treatment), rows in cells.items():
        middle = median(used_s for _, used_s in rows)
        names += [
            f"{trial.id} ({evidence.place(treatment, workload)}: {percent(used_s / middle - 1)})"
            for trial, used_s in rows
            if len(rows) >= FROM and abs(used_s / middle - 1) >= AT_LEAST
        ]
    if evidence.measured and names:
        yield ReportWarning(
            id="cpu-time",
            rule=8,
            severity="caution",
            text="the same work took a different CPU time than in the median trial of its cell: "
            f"{listed(names)}. The processors were slower or faster during these trials",
            advice="look for other work on the machine, other guests of the physical machine, and "
            "clock rates that change. All results include the trials; run more rounds.",
        )


def _cpu_s(trial: Trial) -> float | None:
    """CPU time of the tasks of all phases; None if a phase lacks it."""
    found = [phase.metrics.get("cpu_time") for phase in trial.phases]
    return sum(one.value for one in found if one) if found and all(found) else None
