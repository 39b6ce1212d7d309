"""A scale for this machine: the one with the least expected error in the available time.

The rate is the largest at which CPU quotas, disks and NICs together stay below the limits of the
machine, so that the limited resources bind. Candidates differ in their slots per worker, waves of
maps (``combine.py``) and starts of tasks; each has the largest data fraction that its time, memory
and disk space allow. ``expected_error.py`` compares them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psutil

from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.engines.hadoop.pool_sizes import JVM_BYTES
from windtunnel.engines.hadoop.pool_sizes import MEMORY_AT_MOST as WARM_MEMORY_AT_MOST
from windtunnel.engines.storage_systems import storage_system
from windtunnel.errors import NotRealisableError, StorageFullError
from windtunnel.testbeds.base import Load
from windtunnel.testbeds.scaled.expected_error import expected_error, total
from windtunnel.testbeds.scaled.machine import BUSY_AT_MOST, Machine, memory_needed, problems
from windtunnel.testbeds.scaled.proposal import Proposal
from windtunnel.testbeds.scaled.scale import Combine, Scale
from windtunnel.testbeds.scaled.scale_model import (
    CARRIERS,
    CLIENT_BYTES,
    MASTERS_BYTES,
    WORKER_BYTES,
)
from windtunnel.testbeds.scaled.similarity import similarity
from windtunnel.testbeds.scaled.sizes import (
    JVM_START_S,
    WARM_START_S,
    Size,
    busiest_s,
    full_size,
    model_size,
    sizes,
)
from windtunnel.testbeds.scaled.tasks import MIB, number, tasks_of, uber_tasks

MEMORY_AT_MOST = 0.85  # of the memory that is available
DISK_AT_MOST = 0.50  # of the free disk
# Cores for everything without limits: masters, client, sampler, shaping by the kernel. An estimate.
UNSHAPED_CORES = 0.3
# A tbf at 1 Gb/s transferred 864 Mb/s of a raw socket, at 100 Mb/s 94 (field notes).
NIC_AT_MOST = 125e6
TRIAL_S = 600.0  # long enough to measure and short enough to repeat
JOB_S = 10.0  # submission, application master, commit: stock pi took 21.7 s, two waves of it tasks
DEPLOY_S = 45.0  # a rebuilt cluster of six workers on two cores
ENOUGH_SLOTS = 4  # with 4 slots per host, ratios were accurate within 3-4 % (field notes)
_WAVES = (1, 2, 3, 4, 6, 8, 12, 16)  # numbers of waves to choose from
_WARM = ("software.task_start", "software.warm_jvms")
WARM_UP_CPU_S = 5.5  # of a waiting JVM (docs/decisions/0032)


def propose(
    clusters: Sequence[Cluster],
    loads: Sequence[Load],
    trials: int,
    machine: Machine,
    within_s: float | None = None,
) -> Proposal:
    """The scale with the least expected error for the clusters of a study, the baseline first.

    Parameters
    ----------
    loads:
        The workloads at full size (their ``model_bytes`` are computed here).
    trials:
        Number of trials of the study.
    within_s:
        Time of the whole study; by default trials of at most ten minutes.

    Raises
    ------
    NotRealisableError
        If a description lacks a required value, its hosts do not fit this machine, or no scale
        fits the time.
    StorageFullError
        If the disk has no free space.
    """
    base = clusters[0]
    if not machine.disk_free_bytes:
        raise StorageFullError(
            "the disk of the state folder is full",
            remedy="free some space, or set WINDTUNNEL_STATE to a folder on a larger disk.",
        )
    rate, limits = _rate(clusters, machine)
    deploys = DEPLOY_S * len(clusters)
    each_s = TRIAL_S if within_s is None else max(0.0, within_s - deploys) / max(trials, 1)
    slots = min(_slots_that_fit(cluster, machine) for cluster in clusters)

    def candidates(each_s: float | None) -> list[_Candidate]:
        return [
            candidate
            for cluster in _starts(base, machine, loads)
            for combine in _combinations(cluster, loads, slots)
            if (candidate := _candidate(cluster, rate, combine, loads, machine, each_s)) is not None
        ]

    if found := candidates(each_s):
        best = min(found, key=lambda one: (round(total(one.errors), 2), one.trial_s))
    elif within_s is None and (found := candidates(None)):
        best = min(found, key=lambda one: one.trial_s)
    else:
        raise NotRealisableError(_none_fits(base, trials, within_s), remedy=_ALLOW_MORE)
    scale, size = best.scale, model_size(best.cluster, best.scale)
    run = [_in_model(load, scale) for load in loads]
    return Proposal(
        scale=scale,
        limits=[*limits, best.why],
        cluster=best.cluster,
        slots=size.tasks.slots,
        disks=max(len(host.disks) for host in size.hosts),
        hosts=len(size.fabric.hosts),
        trial_s=best.trial_s,
        study_s=best.trial_s * trials + deploys,
        groups=similarity(best.cluster, scale, run),
        errors=best.errors,
        settings=_warm_settings(best.cluster) if best.cluster != base else {},
        notes=[*problems(best.cluster, scale, machine), *_without_time(loads)],
    )


def _without_time(loads: Sequence[Load]) -> list[str]:
    """Notes on workloads whose work is not part of the times of a proposal."""
    return [
        f"{load.workload}: the time of its work is unknown, because "
        f"{'its demands are unknown' if load.data_bytes else 'it depends on no data'}; the times "
        "above contain only its start"
        for load in loads
        if not any(phase.read_bytes + phase.write_bytes for phase in load.phases)
    ]


_ALLOW_MORE = "allow more time ('--within'), or plan fewer rounds or treatments."


def _none_fits(base: Cluster, trials: int, within_s: float | None) -> str:
    time = "" if within_s is None else f" in {within_s / 3600:.3g} hours"
    return f"no scale model of '{base.name}' runs {trials} trials{time} on this machine"


@dataclass(frozen=True)
class _Candidate:
    cluster: Cluster
    scale: Scale
    trial_s: float
    errors: Mapping[str, float]
    why: str


def _starts(base: Cluster, machine: Machine, loads: Sequence[Load]) -> list[Cluster]:
    """The description, and the same with as many warm starts as memory allows, if jobs use them.

    For a description with warm starts but without a number of JVMs, only the number is added.
    """
    warm = base.software.task_start == "warm"
    if base.software.warm_jvms or not any(load.tasks for load in loads):
        return [base]
    room = int(WARM_MEMORY_AT_MOST * machine.memory_bytes)
    each = room // max(1, len(base.nodes_with("nodemanager"))) // JVM_BYTES - 1
    if each < 1:
        return [base]
    bounded = apply_overrides(base, dict(zip(_WARM, ("warm", each), strict=True)))
    if warm:
        return [bounded]
    return [base] if _refusals(bounded) - _refusals(base) else [base, bounded]


def _refusals(cluster: Cluster) -> set[str]:
    """Reasons why the testbed refuses a description, among them all that concern warm starts."""
    storage = storage_system(cluster.storage.kind)
    found = storage.problems(cluster) if storage else []
    return {*found, *filter(None, [uber_tasks(cluster)])}


def _warm_settings(cluster: Cluster) -> dict[str, Any]:
    values = (cluster.software.task_start, cluster.software.warm_jvms)
    return dict(zip(_WARM, values, strict=True))


def _combinations(cluster: Cluster, loads: Sequence[Load], slots: int) -> list[Combine]:
    """Combinations with at most ``slots`` slots per worker, and with several numbers of waves."""
    tasks, workers = tasks_of(cluster), len(cluster.nodes_with("nodemanager"))
    blocks = max((load.data_bytes for load in loads if not load.writers), default=0.0)
    full_waves = max(1.0, blocks / tasks.block_bytes / (tasks.slots * max(workers, 1)))
    disks = max(
        (disk.count for host in cluster.hosts.values() for disk in host.disks or ()), default=1
    )
    found = []
    for own in range(1, slots + 1):
        factor = math.ceil(tasks.slots / own)
        kept = {max(1, round(full_waves / few)) for few in _WAVES if few <= full_waves} | {1}
        found += [Combine(slots=factor, disks=min(factor, disks), waves=w) for w in sorted(kept)]
    return found


def _candidate(
    cluster: Cluster,
    rate: float,
    combine: Combine,
    loads: Sequence[Load],
    machine: Machine,
    each_s: float | None,
) -> _Candidate | None:
    """The model with the largest data that the time of a trial allows; None if there is none.

    Without ``each_s``, the work of a trial may take as long as its starts.
    """
    parts = [replace(load, task_fraction=1 / combine.slots) for load in loads]
    size = model_size(cluster, machine.scale(rate, 1.0, combine))
    if cluster.software.warm_jvms:
        tasks = max((_tasks(load, size) for load in parts if load.tasks), default=0.0)
        wanted = math.ceil(tasks / size.workers) + 1  # tasks do not spread evenly
        if wanted > cluster.software.warm_jvms:
            return None
        cluster = apply_overrides(cluster, {_WARM[1]: wanted})
    starts = sum(_starts_s(load, size) for load in parts) / max(len(parts), 1)
    if each_s is None:
        each_s = 2 * starts
    elif starts > each_s / 2:
        return None
    data, why = _data(parts, size, (starts, each_s), machine, cluster, combine)
    scale = machine.scale(rate, data, combine)
    run = [_in_model(load, scale) for load in loads]
    full, model = sizes(cluster, scale)
    trial_s = sum(_work_s(load, size) * data + _starts_s(load, size) for load in parts)
    errors = expected_error(run, full, model)
    return _Candidate(cluster, scale, trial_s / max(len(loads), 1), errors, why)


def _rate(clusters: Sequence[Cluster], machine: Machine) -> tuple[float, list[str]]:
    """The largest rate with the reciprocal of a whole number, and its reasons."""
    bounds: dict[str, float] = {}
    for cluster in clusters:
        size = full_size(cluster)
        cores = max(machine.cores * BUSY_AT_MOST - UNSHAPED_CORES, 0.1 * machine.cores)
        disk = max(size.disk("read"), size.disk("write"))
        nic = max(host.nic_bytes_s or 0.0 for host in size.hosts)
        own = {
            f"CPU: {size.cores:.0f} cores at full size, {cores:.2f} of {machine.cores} here": (
                cores * machine.core_speed / size.cores
            ),
            f"disk: {disk / 1e6:.0f} MB/s at full size, {machine.disk_bytes_s / 1e6:.0f} here": (
                BUSY_AT_MOST * machine.disk_bytes_s / disk
            ),
            f"network: NICs of {nic * 8 / 1e9:.3g} Gb/s, here at most 1 Gb/s": NIC_AT_MOST / nic,
        }
        for name, bound in own.items():
            bounds[name] = min(bound, bounds.get(name, math.inf))
    binding = min(bounds, key=bounds.__getitem__)
    rate = 1 / math.ceil(1 / min(1.0, bounds[binding]) - 1e-9)
    by = sorted(bounds.items(), key=lambda item: item[1])
    lines = [f"rate at most {bound:.4g} by {name}" for name, bound in by[:3]]
    return rate, lines


def _slots_that_fit(cluster: Cluster, machine: Machine) -> int:
    tasks = tasks_of(cluster)
    workers = len(cluster.nodes_with("nodemanager"))
    if not workers:
        raise NotRealisableError(
            f"no host of '{cluster.name}' runs tasks: the scale of a model follows from them",
            remedy="add the role 'nodemanager' to a host class, or choose 'rate' and 'data'.",
        )
    carriers = sum(bool(CARRIERS & {*node.roles}) for node in cluster.nodes())
    room = MEMORY_AT_MOST * machine.memory_bytes
    room -= MASTERS_BYTES + CLIENT_BYTES + carriers * WORKER_BYTES
    smallest = model_size(cluster, machine.scale(1e-6, 1e-6)).tasks.map_mib * MIB
    if room < workers * smallest:
        fit = int(MEMORY_AT_MOST * machine.memory_bytes - MASTERS_BYTES - CLIENT_BYTES)
        fewer = max(0, fit // (WORKER_BYTES + ENOUGH_SLOTS * smallest))
        raise NotRealisableError(
            f"{carriers} hosts of '{cluster.name}' do not fit in this machine's memory "
            f"({machine.memory_bytes / 2**30:.1f} GiB available)",
            remedy=f"describe at most {fewer} of them ('--set hosts.NAME.count=...').",
        )
    fits = int(room // workers // smallest)
    return min(tasks.slots, max(1, fits), _slots_worth_it(tasks.slots))


def _slots_worth_it(slots: int) -> int:
    """The number of slots of a worker, limited because more only increase the start-up time."""
    return min(slots, ENOUGH_SLOTS)


def _work_s(load: Load, size: Size) -> float:
    """Seconds of the phases of a trial in a model with all data, by their busiest resource."""
    return sum(busiest_s(phase, size) for phase in load.phases)


def _starts_s(load: Load, size: Size) -> float:
    """Seconds of a trial for starting jobs and tasks, which do not depend on their data."""
    jobs = max(1, len(load.phases))
    if not load.tasks:
        return JVM_START_S * jobs
    tasks = _tasks(load, size)
    if size.cluster.software.task_start == "warm":
        waiting = tasks + size.workers  # with an application master for each worker
        filling = waiting * WARM_UP_CPU_S / (psutil.cpu_count() or 1)
        return jobs * (JOB_S + filling + tasks * WARM_START_S / size.free_cores)
    return jobs * (JOB_S + tasks * JVM_START_S / size.task_cores)


def _tasks(load: Load, size: Size) -> float:
    """The number of tasks of a job of a workload in the model."""
    if load.writers:
        return load.writers * load.task_fraction
    reduces = load.reduces and load.reduces * load.task_fraction
    reduces = reduces or number(size.cluster, "mapreduce.job.reduces", 1)
    return math.ceil(load.data_bytes / size.tasks.block_bytes) + reduces


def _data(
    loads: Sequence[Load],
    size: Size,
    times_s: tuple[float, float],
    machine: Machine,
    cluster: Cluster,
    combine: Combine,
) -> tuple[float, str]:
    """The largest fraction of the data that time and free disk space allow, with its reason.

    ``times_s`` are the start-up and the time of a trial.
    """
    starts_s, each_s = times_s
    work = max((_work_s(load, size) for load in loads), default=0.0)
    written = max((sum(p.write_bytes for p in load.phases) for load in loads), default=0.0)
    budget = each_s - starts_s
    bounds = {
        f"trials of about {(budget + starts_s) / 60:.0f} min, {starts_s / 60:.1f} min of them "
        "start-up": budget / work if work else 1.0,
        f"half of {machine.disk_free_bytes / 1e9:.0f} GB of free disk": (
            DISK_AT_MOST * machine.disk_free_bytes / written if written else 1.0
        ),
        "memory for page caches": _cache_bound(cluster, size.rate, combine, machine),
        "all of the data": 1.0,
    }
    name = min(bounds, key=bounds.__getitem__)
    return 1 / math.ceil(1 / bounds[name] - 1e-9), f"data at most {bounds[name]:.4g} by {name}"


def _cache_bound(cluster: Cluster, rate: float, combine: Combine, machine: Machine) -> float:
    """The fraction of the data at which the page caches of the hosts fill the machine's memory.

    The memory of a host is linear in that fraction as long as containers have their minimum size.
    """
    few, more = (
        memory_needed(cluster, machine.scale(rate, data, combine)) for data in (1e-6, 1e-3)
    )
    room = MEMORY_AT_MOST * machine.memory_bytes - few
    slope = (more - few) / (1e-3 - 1e-6)
    return max(room / slope, 1e-6) if slope > 0 else 1.0


def _in_model(load: Load, scale: Scale) -> Load:
    fraction = 1 / scale.combine.slots
    return replace(load, model_bytes=load.data_bytes * scale.data, task_fraction=fraction)
