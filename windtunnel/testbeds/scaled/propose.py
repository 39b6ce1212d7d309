"""A scale for this machine: the largest rate that leaves a fifth of its capacity idle.

The rate is the largest at which CPU quotas, disks and NICs together stay below the limits of the
machine, so that the limited resources bind. If the memory of the machine does not suffice for the
described number of slots, slots and disks are combined by one factor (``combine.py``), which keeps
waves, spills and streams per disk. The data fraction is the largest that the time of a trial and
the free disk space allow.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from windtunnel.cluster import Cluster
from windtunnel.errors import NotRealisableError
from windtunnel.results.record import SimilarityGroup
from windtunnel.testbeds.base import Load
from windtunnel.testbeds.scaled.scale import FULL_SIZE, Combine, Scale
from windtunnel.testbeds.scaled.scale_model import (
    CARRIERS,
    CLIENT_BYTES,
    MASTERS_BYTES,
    WORKER_BYTES,
)
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.similarity import (
    JVM_START_S,
    Size,
    busiest_s,
    similarity,
    sizes,
    start_cpu_s,
)
from windtunnel.testbeds.scaled.tasks import MIB, number, tasks_of

BUSY_AT_MOST = 0.80  # of the machine's CPUs and disk: see saturation.py
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
_PROBE_BYTES = 128 * MIB


@dataclass(frozen=True)
class Machine:
    """The host machine; ``disk_bytes_s`` is the write rate of the disk with the state folder."""

    cores: int
    memory_bytes: int
    disk_free_bytes: int
    disk_bytes_s: float


@dataclass(frozen=True)
class Proposal:
    """A scale and its consequences.

    ``limits`` state the reasons; ``slots`` and ``disks`` are those of one worker of the model.
    """

    scale: Scale
    limits: list[str]
    cluster: Cluster
    slots: int
    disks: int
    hosts: int
    trial_s: float
    study_s: float
    groups: list[SimilarityGroup]
    notes: list[str] = field(default_factory=list)


def this_machine(folder: Path) -> Machine:
    """This machine; one write of 128 MiB in ``folder`` measures its disk."""
    there = next(p for p in (folder, *folder.parents) if p.exists())
    return Machine(
        cores=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().available,
        disk_free_bytes=psutil.disk_usage(str(there)).free,
        disk_bytes_s=_written_per_s(there),
    )


def _written_per_s(folder: Path) -> float:
    block = os.urandom(MIB)
    with tempfile.TemporaryFile(dir=folder) as file:
        began = time.monotonic()
        for _ in range(_PROBE_BYTES // MIB):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        return _PROBE_BYTES / (time.monotonic() - began)


def memory_needed(cluster: Cluster, scale: Scale) -> int:
    """Maximum memory of the hosts of a model in bytes: their limits, masters and a client."""
    plan = fabric_plan(cluster, scale)
    return sum(h.memory_bytes or 0 for h in plan.hosts) + MASTERS_BYTES + CLIENT_BYTES


def problems(cluster: Cluster, scale: Scale, machine: Machine) -> list[str]:
    """The reasons why a model does not fit a machine or would saturate it."""
    found = (
        too_large(cluster, scale, machine.memory_bytes),
        too_busy(cluster, scale, machine.cores),
    )
    return [problem for problem in found if problem]


def too_large(cluster: Cluster, scale: Scale, memory_bytes: int) -> str | None:
    """The reason why the hosts of a model exceed the memory; None if they do not."""
    needed = memory_needed(cluster, scale)
    if needed <= memory_bytes:
        return None
    return (
        f"the hosts of the model need {needed / 2**30:.1f} GiB of memory; "
        f"{memory_bytes / 2**30:.1f} GiB are available"
    )


def too_busy(cluster: Cluster, scale: Scale, machine_cores: int) -> str | None:
    """The reason why the hosts of a model could saturate the cores; None if they cannot."""
    cores = sum(host.cpu_cores or 0.0 for host in fabric_plan(cluster, scale).hosts)
    if cores <= BUSY_AT_MOST * machine_cores:
        return None
    return (
        f"the CPU quotas of the model add up to {cores:.2f} cores; at most "
        f"{BUSY_AT_MOST * machine_cores:.2f} of the {machine_cores} cores of this machine may be "
        "busy"
    )


def propose(
    clusters: Sequence[Cluster], loads: Sequence[Load], trials: int, machine: Machine
) -> Proposal:
    """A scale for the clusters of a study, that of the baseline first.

    Parameters
    ----------
    loads:
        The workloads at full size (their ``model_bytes`` are computed here).
    trials:
        Number of trials of the study.

    Raises
    ------
    NotRealisableError
        If a description lacks a required value, or its hosts do not fit this machine.
    """
    base = clusters[0]
    rate, limits = _rate(clusters, machine)
    combine = _combined(base, clusters, machine)
    loads = [replace(load, task_fraction=1 / combine.slots) for load in loads]
    size = sizes(base, Scale(rate=rate, data=1.0, combine=combine))[1]
    starts = sum(_starts_s(load, size) for load in loads) / max(len(loads), 1)
    data, why = _data(loads, size, starts, machine, base, combine)
    limits.append(why)
    scale = Scale(rate=rate, data=data, combine=combine)
    run = [_in_model(load, data) for load in loads]
    trial_s = sum(_work_s(load, size) * data + _starts_s(load, size) for load in loads)
    each = trial_s / max(len(loads), 1)
    return Proposal(
        scale=scale,
        limits=limits,
        cluster=base,
        slots=size.tasks.slots,
        disks=max(len(host.disks) for host in size.hosts),
        hosts=len(size.fabric.hosts),
        trial_s=each,
        study_s=each * trials + DEPLOY_S * len(clusters),
        groups=similarity(base, scale, run),
        notes=problems(base, scale, machine),
    )


def _rate(clusters: Sequence[Cluster], machine: Machine) -> tuple[float, list[str]]:
    """The largest rate with the reciprocal of a whole number, and its reasons."""
    bounds: dict[str, float] = {}
    for cluster in clusters:
        size = Size(cluster, fabric_plan(cluster, FULL_SIZE), tasks_of(cluster), 1.0)
        cores = max(machine.cores * BUSY_AT_MOST - UNSHAPED_CORES, 0.1 * machine.cores)
        disk = max(size.disk("read"), size.disk("write"))
        nic = max(host.nic_bytes_s or 0.0 for host in size.hosts)
        own = {
            f"CPU: {size.cores:.0f} hardware threads on {cores:.2f} of {machine.cores} cores": (
                cores / size.cores
            ),
            f"disk: {disk / 1e6:.0f} MB/s in all on one of {machine.disk_bytes_s / 1e6:.0f} MB/s": (
                BUSY_AT_MOST * machine.disk_bytes_s / disk
            ),
            f"network: NICs of {nic * 8 / 1e9:.3g} Gb/s as at most 1 Gb/s": NIC_AT_MOST / nic,
        }
        for name, bound in own.items():
            bounds[name] = min(bound, bounds.get(name, math.inf))
    binding = min(bounds, key=bounds.__getitem__)
    rate = 1 / math.ceil(1 / min(1.0, bounds[binding]) - 1e-9)
    by = sorted(bounds.items(), key=lambda item: item[1])
    lines = [f"rate at most {bound:.4g} by {name}" for name, bound in by[:3]]
    return rate, lines


def _combined(base: Cluster, clusters: Sequence[Cluster], machine: Machine) -> Combine:
    """The factor by which slots and disks are combined until the machine's memory suffices.

    Raises
    ------
    NotRealisableError
        If the memory does not suffice for one slot per worker.
    """
    slots = min(_slots_that_fit(cluster, machine) for cluster in clusters)
    factor = math.ceil(tasks_of(base).slots / slots)
    disks = max(
        (disk.count for host in base.hosts.values() for disk in host.disks or ()), default=1
    )
    return Combine(slots=factor, disks=max(1, min(factor, disks)))


def _slots_that_fit(cluster: Cluster, machine: Machine) -> int:
    tasks = tasks_of(cluster)
    workers = len(cluster.nodes_with("nodemanager"))
    carriers = sum(bool(CARRIERS & {*node.roles}) for node in cluster.nodes())
    room = MEMORY_AT_MOST * machine.memory_bytes
    room -= MASTERS_BYTES + CLIENT_BYTES + carriers * WORKER_BYTES
    smallest = sizes(cluster, Scale(rate=1e-6, data=1e-6))[1].tasks.map_mib * MIB
    if not workers or room < workers * smallest:
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
    if not load.tasks:
        return JVM_START_S * max(1, len(load.phases))
    tasks = (load.writers or 0) * load.task_fraction
    if not load.writers:
        tasks = math.ceil(load.data_bytes / size.tasks.block_bytes)
        reduces = load.reduces and load.reduces * load.task_fraction
        tasks += reduces or number(size.cluster, "mapreduce.job.reduces", 1)
    jobs = max(1, len(load.phases))
    return jobs * (JOB_S + tasks * start_cpu_s(size.cluster) / size.cores)


def _data(
    loads: Sequence[Load],
    size: Size,
    starts_s: float,
    machine: Machine,
    cluster: Cluster,
    combine: Combine,
) -> tuple[float, str]:
    """The largest fraction of the data that time and free disk space allow, with its reason."""
    work = max((_work_s(load, size) for load in loads), default=0.0)
    written = max((sum(p.write_bytes for p in load.phases) for load in loads), default=0.0)
    budget = max(TRIAL_S - starts_s, starts_s)
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
        memory_needed(cluster, Scale(rate=rate, data=data, combine=combine))
        for data in (1e-6, 1e-3)
    )
    room = MEMORY_AT_MOST * machine.memory_bytes - few
    slope = (more - few) / (1e-3 - 1e-6)
    return max(room / slope, 1e-6) if slope > 0 else 1.0


def _in_model(load: Load, data: float) -> Load:
    return replace(load, model_bytes=load.data_bytes * data)


def lines(proposal: Proposal) -> list[str]:
    """The proposal as text, without its groups."""
    study = proposal.scale
    nic = max(h.nic_bytes_s or 0.0 for h in fabric_plan(proposal.cluster, study).hosts)
    disk = next(h for h in fabric_plan(proposal.cluster, study).hosts if h.cpu_cores).disks[0]
    found = [
        "proposal for this machine (copy it to the study file):",
        f"  testbed: {{kind: scaled, {str(study)[1:-1]}}}",
    ]
    found += [
        f"  {proposal.hosts} hosts as described; per worker {proposal.slots} slots, "
        f"{proposal.disks} disk{'s' * (proposal.disks != 1)} of "
        f"{(disk.read_bytes_s or 0) / 1e6:.3g} MB/s read, NIC "
        f"{nic * 8 / 1e6:.3g} Mb/s",
        f"  about {proposal.trial_s / 60:.1f} min per trial, {proposal.study_s / 3600:.1f} h in "
        "total (estimated from the baseline, not measured)",
    ]
    found += [f"  {line}" for line in (*proposal.limits, *proposal.notes)]
    found += [f"  one second of the model is {1 / study.time:.3g} s at full size"]
    return found
