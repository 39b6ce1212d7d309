"""Functions that add a workload's own metrics to the phase of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from windtunnel.engines.deployment import JobRun
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.record import Metric

DATA_RATE = MetricInfo(
    "data_rate",
    "bytes/s",
    "bytes of the data set per second of the phase",
    "size of the data set, elapsed time of the phase",
    better="more",
)


def with_metrics(run: JobRun, metrics: Mapping[str, Metric]) -> JobRun:
    """The run with additional metrics of its phase."""
    phase = run.phase.model_copy(update={"metrics": {**run.phase.metrics, **metrics}})
    return replace(run, phase=phase)


def with_rate(run: JobRun, info: MetricInfo, amount: float) -> JobRun:
    """The run with ``amount`` per second of its elapsed time."""
    if run.phase.elapsed_s <= 0:
        return run
    return with_metrics(run, {info.name: info.of(amount / run.phase.elapsed_s)})
