"""Rule on the CPU time of the tasks, which is similar in trials that do the same work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.formatting import listed, percent
from windtunnel.analysis.observations import TOTAL, Observation, observe

FROM = 3
"""Number of trials in a cell from which its median shows which trial differs."""
AT_LEAST = 0.25
"""Difference from the median that is reported: 3 of 108 trials of the results in docs/studies."""


def cpu_time(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: the same work takes the same CPU time in all trials of a cell.

    Trials with a fault are exempt: they repeat work. So are models whose CPU quotas follow the
    speed of the cores: they do the same work with another CPU time.
    """
    scale = evidence.results.study.scale
    if scale is not None and scale.core_probe_ms is not None:
        return
    cells: dict[tuple[str, str], list[Observation]] = defaultdict(list)
    for seen in observe(trial for trial in evidence.counted if not trial.faults):
        if (seen.phase, seen.metric) == (TOTAL, "cpu_time"):
            cells[seen.workload, seen.treatment].append(seen)
    names = []
    for (workload, treatment), rows in cells.items():
        middle = median(seen.value for seen in rows)
        if len(rows) < FROM or not middle:
            continue
        names += [
            f"{seen.trial} ({evidence.place(treatment, workload)}: {percent(change)})"
            for seen in rows
            if abs(change := seen.value / middle - 1) >= AT_LEAST
        ]
    if evidence.measured and names:
        yield ReportWarning(
            id="cpu-time",
            rule=8,
            severity="caution",
            text="the same work took more or less CPU time than in the median trial of its cell: "
            f"{listed(names)}",
            advice="the processors may have been slower or faster during these trials: look for "
            "other work on the machine, other guests of the physical machine, and clock rates that "
            "change. All results include the trials; run more rounds.",
        )
