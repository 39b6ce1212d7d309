"""The rates of a phase against the limits of the hardware (rule of trust 6).

The rates are the minimum that the job's counters imply. The effect of caches is not subtracted, so
a rate above the limit indicates a cache or an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from windtunnel.analysis.bottleneck.physical_limits import Capacity
from windtunnel.analysis.core_speed import quota_factor
from windtunnel.analysis.observations import counts
from windtunnel.results.record import Phase, Trial

IDLE_BELOW = 0.30
"""A resource below this fraction of its limit is "not the bottleneck" (rule 6)."""
WORTH_NAMING = 1e6
"""Bytes/s below which an unknown limit is not reported: any disk and NIC has a higher rate."""
TOLERANCE = 1.05
"""A rate is above a limit if it exceeds it by more than 5 %: counters and clocks have errors."""

_CPU = ("CPU", "cores")

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
    With separate storage hosts, disks and NICs are those of the hosts with the larger utilisation.
    """
    seen: dict[tuple[str, str, str], dict[tuple[str, str], list[float]]] = {}
    for trial in trials:
        if not counts(trial) or trial.kind == "predicted":
            continue  # a prediction states what binds; it counts nothing
        for phase in trial.phases:
            if phase.elapsed_s <= 0:
                continue
            own = seen.setdefault((trial.workload, trial.treatment.id, phase.name), {})
            factor = quota_factor(phase)
            for key, volume in _volumes(trial, phase, limits[trial.treatment.id]).items():
                if volume is not None:
                    used = volume / phase.elapsed_s
                    own.setdefault(key, []).append(used / factor if key == _CPU else used)
    rows = []
    for place, resources in seen.items():
        found: dict[str, list[Usage]] = {}
        for (resource, limit), values in resources.items():
            row = _usage(*place, resource, values, getattr(limits[place[1]], limit))
            found.setdefault(resource, []).append(row)
        rows += [_larger(sides) for sides in found.values()]
    return rows


def _usage(
    workload: str,
    treatment: str,
    phase: str,
    resource: str,
    values: Sequence[float],
    limit: float | None,
) -> Usage:
    unit = "cores" if resource == "CPU" else "bytes/s"
    mean, top = fmean(values), max(values)
    share, peak = (mean / limit, top / limit) if limit else (None, None)
    return Usage(workload, treatment, phase, resource, unit, mean, limit, share, peak)


def _larger(sides: Sequence[Usage]) -> Usage:
    """The hosts with the larger utilisation; unknown if unknown limits of others can matter."""
    top = max(sides, key=lambda one: -1.0 if one.share is None else one.share)
    unknown = [one for one in sides if one.share is None and one.used >= WORTH_NAMING]
    if unknown and (top.share is None or top.share < IDLE_BELOW):
        return max(unknown, key=lambda one: one.used)
    return top


def _volumes(trial: Trial, phase: Phase, limits: Capacity) -> dict[tuple[str, str], float | None]:
    """CPU seconds and bytes by resource and name of its limit; None if they are unknown."""
    value = {name: metric.value for name, metric in phase.metrics.items()}
    copies = limits.stored_per_byte or _replication(trial, phase.name)
    read, written = value.get("hdfs_bytes_read"), value.get("hdfs_bytes_written")
    local_read, local_written = value.get("file_bytes_read"), value.get("file_bytes_written")
    found: dict[tuple[str, str], float | None] = {_CPU: value.get("cpu_time")}
    if not limits.external:
        return found | {
            ("disk read", "disk_read"): _add(read, local_read),
            ("disk write", "disk_write"): _add(_times(written, copies), local_written),
            ("network", "network"): _network(value, copies, limits),
        }
    tasks, stores = _network_apart(value, copies, limits)
    return found | {
        ("disk read", "store_disk_read"): read,
        ("disk read", "disk_read"): local_read,
        ("disk write", "store_disk_write"): _times(written, copies),
        ("disk write", "disk_write"): local_written,
        ("network", "network"): tasks,
        ("network", "store_network"): stores,
    }


def _network(value: Mapping[str, float], copies: float, limits: Capacity) -> float | None:
    """The bytes that cross the network between hosts with data; None if they are unknown.

    Of the data that tasks write to HDFS, the additional replicas cross it; with an erasure code
    (N-1)/N of all cells that tasks write and read, because each cell is on another host.
    """
    remote = _remote(limits)
    written, read = copies - 1, 0.0
    if limits.stored_per_byte:
        read = 1.0 if remote is None else remote
        written = copies * read
    shuffled = _shuffled(value, limits)
    moved = _add(
        _times(value.get("hdfs_bytes_written"), written),
        _times(value.get("hdfs_bytes_read"), read),
    )
    if shuffled is None and not moved:
        return None  # The shuffle is unknown, not 0.
    return _add(shuffled, moved)


def _network_apart(
    value: Mapping[str, float], copies: float, limits: Capacity
) -> tuple[float | None, float | None]:
    """The bytes of the NICs of hosts that run tasks, and of hosts with data; None if unknown.

    All data that tasks read and write crosses the network. Tasks send each byte once, or all cells
    of an erasure code; the hosts with data send the additional replicas to each other. A NIC
    carries both directions at the same time, so the direction with more bytes counts.
    """
    shuffled = _shuffled(value, limits)
    read, written = value.get("hdfs_bytes_read", 0.0), value.get("hdfs_bytes_written", 0.0)
    if shuffled is None and not read and not written:
        return None, None  # The shuffle is unknown, not 0.
    sent, stored = written * (copies if limits.stored_per_byte else 1.0), written * copies
    return max(read, sent) + (shuffled or 0.0), max(stored, read + stored - sent)


def _shuffled(value: Mapping[str, float], limits: Capacity) -> float | None:
    """The bytes of the shuffle that cross the network: (N-1)/N of all; None if unknown."""
    shuffle, remote = value.get("reduce_shuffle_bytes"), _remote(limits)
    return None if shuffle is None or remote is None else shuffle * remote


def _remote(limits: Capacity) -> float | None:
    """The fraction of the other hosts that run tasks, (N-1)/N; None if they are unknown."""
    return (limits.workers - 1) / limits.workers if limits.workers else None


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
