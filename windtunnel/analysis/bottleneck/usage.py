"""The rates of a phase against the limits of the hardware (rule of trust 6).

The rates are the minimum that the job's counters imply. The effect of caches is not subtracted, so
a rate above the limit indicates a cache or an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from windtunnel.analysis.bottleneck.physical_limits import Capacity
from windtunnel.analysis.core_speed import quota_factor
from windtunnel.analysis.observations import counts
from windtunnel.results.record import Phase, Trial

IDLE_BELOW = 0.30
"""A resource below this fraction of its limit is "not the bottleneck" (rule 6)."""
TOLERANCE = 1.05
"""A rate is above a limit if it exceeds it by more than 5 %: counters and clocks have errors."""

State = Literal["above limit", "not the bottleneck", "possible bottleneck", "unknown"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Mean use of one resource in one phase over the counted trials.

    ``used`` and ``limit`` are in ``unit``; ``share`` is used / limit, ``peak`` the maximum over
    the trials.
    """

    workload: str
    treatment: str
    phase: str
    resource: str
    unit: str
    used: float
    limit: float | None
    share: float | None
    peak: float | None

    @property
    def state(self) -> State:
        """Verdict on this resource alone."""
        if self.share is None or self.peak is None:
            return "unknown"
        if self.peak > TOLERANCE:
            return "above limit"
        return "not the bottleneck" if self.share < IDLE_BELOW else "possible bottleneck"


def usages(trials: Iterable[Trial], limits: Mapping[str, Capacity]) -> list[Usage]:
    """Use of every resource that has counters, by workload, treatment and phase.

    ``limits`` are those of each treatment, by its id. If the CPU quotas of a scale model followed
    the speed of the cores, the CPU time is divided by their factor, and so is that of the limit.
    """
    seen: dict[tuple[str, str, str, str], list[float]] = {}
    for trial in trials:
        if not counts(trial) or trial.kind == "predicted":
            continue  # a prediction states what binds; it counts nothing
        for phase in trial.phases:
            factor = quota_factor(phase)
            for resource, used in _used(trial, phase, limits[trial.treatment.id]):
                key = (trial.workload, trial.treatment.id, phase.name, resource)
                seen.setdefault(key, []).append(used / factor if resource == "CPU" else used)
    rows = []
    for (workload, treatment, phase_name, resource), values in seen.items():
        bound = limits[treatment]
        unit, limit = {
            "CPU": ("cores", bound.cores),
            "disk read": ("bytes/s", bound.disk_read),
            "disk write": ("bytes/s", bound.disk_write),
            "network": ("bytes/s", bound.network),
        }[resource]
        mean, top = fmean(values), max(values)
        share, peak = (mean / limit, top / limit) if limit else (None, None)
        rows.append(
            Usage(workload, treatment, phase_name, resource, unit, mean, limit, share, peak)
        )
    return rows


def _used(trial: Trial, phase: Phase, limits: Capacity) -> Iterator[tuple[str, float]]:
    if phase.elapsed_s <= 0:
        return
    value = {name: metric.value for name, metric in phase.metrics.items()}
    copies = limits.stored_per_byte or _replication(trial, phase.name)
    volumes = {
        "CPU": value.get("cpu_time"),
        "disk read": _add(value.get("hdfs_bytes_read"), value.get("file_bytes_read")),
        "disk write": _add(
            _times(value.get("hdfs_bytes_written"), copies), value.get("file_bytes_written")
        ),
        "network": _network(value, copies, limits),
    }
    for resource, volume in volumes.items():
        if volume is not None:
            yield resource, volume / phase.elapsed_s


def _network(value: Mapping[str, float], copies: float, limits: Capacity) -> float | None:
    """The bytes that cross the network; None if they are unknown.

    (N-1)/N of the shuffle crosses the network. Of the data that tasks write to and read from HDFS,
    the additional replicas cross it; with an erasure code (N-1)/N of all cells, because each cell
    is on another host; with separate storage hosts all data.
    """
    shuffle, workers = value.get("reduce_shuffle_bytes"), limits.workers
    remote = (workers - 1) / workers if workers else None
    written, read = copies - 1, 0.0
    if limits.external:
        written, read = copies, 1.0
    elif limits.stored_per_byte:
        read = 1.0 if remote is None else remote
        written = copies * read
    away = None if shuffle is None or remote is None else shuffle * remote
    moved = _add(
        _times(value.get("hdfs_bytes_written"), written),
        _times(value.get("hdfs_bytes_read"), read),
    )
    if away is None and not moved:
        return None  # The shuffle is unknown, not 0.
    return _add(away, moved)


def _replication(trial: Trial, phase: str) -> float:
    """Replicas written: the parameter for input or output; 1 if the trial does not state it."""
    names = ["input_replication"] if phase == "teragen" else ["output_replication"]
    for name in [*names, "replication"]:
        copies = trial.parameters.get(name)
        if isinstance(copies, int | float) and copies >= 1:
            return float(copies)
    return 1.0


def _add(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
