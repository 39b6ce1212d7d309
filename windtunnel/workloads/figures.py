"""Figures of a workload's own kind, added to the phase that a job gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from windtunnel.engines.deployment import JobRun
from windtunnel.results.record import Metric


def with_metrics(run: JobRun, metrics: Mapping[str, Metric]) -> JobRun:
    """The run with more metrics of its phase."""
    phase = run.phase.model_copy(update={"metrics": {**run.phase.metrics, **metrics}})
    return replace(run, phase=phase)


def with_rate(run: JobRun, name: str, amount: float, unit: str) -> JobRun:
    """The run with ``amount`` per second of its elapsed time, in ``unit`` (such as bytes/s)."""
    if run.phase.elapsed_s <= 0:
        return run
    return with_metrics(run, {name: Metric(value=amount / run.phase.elapsed_s, unit=unit)})
