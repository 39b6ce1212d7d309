"""Metrics of runs at the same time: slowdown, overlap, and each part's own metrics."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.record import Metric

_PARTS = "phases of the parts"
ELAPSED = MetricInfo(
    "{part}: elapsed",
    "s",
    "elapsed time of {part} together with the others (mean, if it runs several times)",
    _PARTS,
    better="less",
    additive=False,
)
SLOWDOWN = MetricInfo(
    "{part}: slowdown",
    "ratio",
    "elapsed time of {part} together with the others, divided by its time alone in the same trial",
    _PARTS,
    better="less",
)
OVERLAP = MetricInfo(
    "{part}: overlap",
    "ratio",
    "fraction of the time of {part} in which at least one other part ran",
    _PARTS,
)
OWN = MetricInfo(
    "{part}: {metric}",
    "",
    "{metric}; of {part} together with the others",
    "as alone",
)


def part_metrics(
    name: str, own: Sequence[JobRun], others: Sequence[JobRun], alone: JobRun
) -> dict[str, Metric]:
    """A part's metrics when it runs with others: time, slowdown, overlap, and its own metrics."""
    elapsed_s = fmean(run.phase.elapsed_s for run in own)
    found = {ELAPSED.name_of(part=name): ELAPSED.of(elapsed_s)}
    if alone.phase.elapsed_s > 0:
        ratio = elapsed_s / alone.phase.elapsed_s
        found[SLOWDOWN.name_of(part=name)] = SLOWDOWN.of(ratio)
    if elapsed_s > 0:
        shares = [_overlap(run, others) for run in own]
        found[OVERLAP.name_of(part=name)] = OVERLAP.of(fmean(shares))
    for metric, first in own[0].phase.metrics.items():
        values = [run.phase.metrics[metric].value for run in own if metric in run.phase.metrics]
        found[OWN.name_of(part=name, metric=metric)] = Metric(value=fmean(values), unit=first.unit)
    return found


def _overlap(run: JobRun, others: Sequence[JobRun]) -> float:
    """The fraction of a run's time in which at least one of the others also ran."""
    spans = sorted((r.phase.started_at, r.phase.finished_at) for r in others)
    start, end, shared = run.phase.started_at, run.phase.finished_at, 0.0
    at = start
    for began, ended in spans:
        low, high = max(began, at), min(ended, end)
        if high > low:
            shared, at = shared + high - low, high
    return shared / (end - start) if end > start else 0.0


def of_phase(phase: str, runs: Sequence[JobRun]) -> list[dict[str, Any]]:
    """The task attempts of all runs, as those of a phase of the mix."""
    return [{**row, "phase": phase} for run in runs for row in run.tasks]


def sums(runs: Sequence[JobRun]) -> dict[str, int]:
    """The sums of the counters of all jobs, for the check of physical limits."""
    found: dict[str, int] = {}
    for run in runs:
        for counter, value in run.counters.items():
            found[counter] = found.get(counter, 0) + value
    return found
