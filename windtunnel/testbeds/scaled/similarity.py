"""The similarity report: dimensionless groups at full size and in the model.

Results of a model apply to the full size as far as these groups agree: a group matches within 10 %,
is near within 30 % and is broken otherwise, with a consequence for the results. Absolute seconds of
a model are never those of the full size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psutil

from windtunnel.cluster import Cluster
from windtunnel.hosts.fabric.plan import FabricPlan, HostPlan
from windtunnel.results.record import SimilarityGroup, SimilarityState
from windtunnel.testbeds.base import Load, PhaseLoad
from windtunnel.testbeds.scaled.combine import combined
from windtunnel.testbeds.scaled.scale import FULL_SIZE, Scale
from windtunnel.testbeds.scaled.scale_model import daemon_bytes, scaled, waiting_bytes
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.tasks import MIB, Tasks, number, tasks_of

_LEAST_FREE_CORES = 0.25  # of a machine whose cores the quotas of the model use up
MATCH, NEAR = 0.10, 0.30
# CPU seconds from the launch of the container of a task to its first record, on a separate core:
# about two, measured on a machine with two cores and Java 17 (docs/decisions/0010).
JVM_START_S = 2.0
# If a waiting JVM runs the container (docs/decisions/0032): the median of task_start was 0.27 to
# 0.32 of that of stock starts (TeraGen, TeraSort, TeraValidate of 64 MB on `local`, one run each).
WARM_START_S = 0.6
# CPU time per byte that a task moves: a TeraSort of 667 MB with Snappy took 83 CPU s without the
# start-up of its tasks, and moves four bytes per byte of data. At full size, the Cisco study has
# 109 ns per byte with start-up. It is an estimate for fractions and plans, never a result.
CPU_S_PER_BYTE = 120e-9 / 4


@dataclass(frozen=True)
class Size:
    """The full size or the model in numbers: the sums over the hosts with data or tasks.

    ``rate`` is 1 at full size; a core of the description is ``rate`` cores of the machine.
    ``waiting_bytes`` is the memory of the waiting JVMs of a worker.
    """

    cluster: Cluster
    fabric: FabricPlan
    tasks: Tasks
    rate: float
    waiting_bytes: int = 0

    @property
    def hosts(self) -> list[HostPlan]:
        """The hosts with data or tasks."""
        return [host for host in self.fabric.hosts if host.cpu_cores is not None]

    @property
    def cores(self) -> float:
        """CPU of these hosts, in cores of the machine."""
        return sum(host.cpu_cores or 0.0 for host in self.hosts)

    @property
    def nic(self) -> float:
        """NIC rates of these hosts, bytes/s in one direction."""
        return sum(host.nic_bytes_s or 0.0 for host in self.hosts)

    def disk(self, way: str) -> float:
        """Disk rates of these hosts within controller limits, bytes/s; ``way`` is read or write."""
        total = 0.0
        for host in self.hosts:
            rates = [getattr(disk, f"{way}_bytes_s") or 0.0 for disk in host.disks]
            total += min(sum(rates), host.controller_bytes_s or math.inf)
        return total

    @property
    def disks(self) -> int:
        """Number of disks of these hosts."""
        return sum(len(host.disks) for host in self.hosts)

    @property
    def workers(self) -> int:
        """Number of nodes that run tasks."""
        return len(self.cluster.nodes_with("nodemanager"))

    @property
    def slots(self) -> int:
        """Number of map containers of all nodes."""
        return self.tasks.slots * self.workers

    def cache(self, *, busy: bool) -> float:
        """Memory available to the page cache, in bytes, with all slots ``busy`` or none."""
        memory = sum(host.memory_bytes or 0 for host in self.hosts)
        names = {host.name for host in self.hosts}
        own = sum(daemon_bytes(n.roles) for n in self.cluster.nodes() if n.host in names)
        containers = self.slots * self.tasks.map_mib * MIB if busy else 0
        waiting = self.workers * self.waiting_bytes
        return max(0.0, memory - own - containers - waiting)

    @property
    def oversubscription(self) -> float:
        """The NIC rates behind the tightest uplink, divided by its rate; 1 without uplinks."""
        found = [1.0]
        for rack in self.fabric.racks:
            behind = sum(h.nic_bytes_s or 0.0 for h in self.fabric.hosts if h.rack == rack.name)
            if rack.uplink_bytes_s and len(self.fabric.racks) > 1:
                found.append(behind / rack.uplink_bytes_s)
        return max(found)

    def task_s(self) -> float:
        """Seconds of a task that streams one block with all slots busy, limited by disk or CPU."""
        block, each = self.tasks.block_bytes, self.slots
        disk = block * each / self.disk("read") if self.disk("read") else 0.0
        cpu = 2 * block * CPU_S_PER_BYTE  # in and out
        return max(disk, cpu * max(self.per_core, 1.0 / self.rate_of_task))

    def start_s(self, tasks: int | None = None) -> float:
        """Seconds to start a task if all slots (or fewer ``tasks``) start together.

        A model may use waiting JVMs, whose start is outside the CPU quotas; at full size JVMs
        always start with their tasks.
        """
        at_once = min(self.slots, tasks or self.slots)
        if self.rate < 1.0 and self.cluster.software.task_start == "warm":
            return WARM_START_S * max(at_once / self.free_cores, 1.0)
        return JVM_START_S * max(at_once / self.cores, 1.0 / self.rate_of_task)

    @property
    def free_cores(self) -> float:
        """Cores of this machine that the quotas of the model leave."""
        return max((psutil.cpu_count() or 1) - self.cores, _LEAST_FREE_CORES)

    @property
    def per_core(self) -> float:
        """Number of slots per core of the machine."""
        return self.slots / self.cores

    @property
    def rate_of_task(self) -> float:
        """Cores of the machine that a single task can use: one, or the quota of its host."""
        return min(1.0, self.cores / len(self.hosts))


def busiest_s(phase: PhaseLoad, size: Size) -> float:
    """Seconds of the resource that a phase uses longest, with all data."""
    return max(
        phase.read_bytes / size.disk("read"),
        phase.write_bytes / size.disk("write"),
        phase.network_bytes / size.nic,
        (phase.read_bytes + phase.write_bytes) * CPU_S_PER_BYTE / size.cores,
    )


def wave_s(load: Load, size: Size, data: float, writers: int) -> float:
    """Seconds of a writer: the time of the first phase at its busiest resource, per wave."""
    waves = math.ceil(writers / size.slots)
    return busiest_s(load.phases[0], size) * data / load.data_bytes / waves


def sizes(cluster: Cluster, scale: Scale) -> tuple[Size, Size]:
    """The full size and its model; raises NotRealisableError if a required value is unknown."""
    full = Size(cluster, fabric_plan(cluster, FULL_SIZE), tasks_of(cluster), 1.0)
    tasks, fewer = tasks_of(scaled(cluster, scale)), combined(cluster, scale.combine)
    waiting = waiting_bytes(fewer, scale)
    return full, Size(fewer, fabric_plan(cluster, scale), tasks, scale.rate, waiting)


def similarity(cluster: Cluster, scale: Scale, loads: Sequence[Load]) -> list[SimilarityGroup]:
    """All groups: those of the hardware, then those of each workload.

    The model is compared with the full-size description of which it is made, before slots, disks
    and waves are combined.
    """
    full, model = sizes(cluster, scale)
    found = [*_hardware(full, model)]
    for load in loads:
        if load.data_bytes and load.tasks:
            found += _of_tasks(load, full, model)
        if load.data_bytes:
            found += _of_data(load, full, model)
        if load.tasks:
            found += _start_up(load, full, model)
    return found


def state_of(full: float | None, model: float | None) -> SimilarityState:
    """``match`` within 10 % of the full size, ``near`` within 30 %, else ``broken``."""
    if full is None or model is None:
        return "unknown"
    if full == 0:
        return "match" if model == 0 else "broken"
    off = abs(model / full - 1)
    # the margin covers rounding errors of the ratio
    return "match" if off <= MATCH + 1e-9 else "near" if off <= NEAR + 1e-9 else "broken"


def _group(
    name: str,
    pair: Sequence[float | None],
    more: str,
    less: str,
    *,
    workload: str | None = None,
    unit: str = "ratio",
    state: SimilarityState | None = None,
) -> SimilarityGroup:
    """A group; ``more`` and ``less`` are the consequences of a larger or smaller model value."""
    full, model = pair
    found = state or state_of(full, model)
    says = ""
    if found in ("near", "broken") and full is not None and model is not None:
        says = more if model > full else less
    return SimilarityGroup(
        name=name, workload=workload, full=full, model=model, unit=unit, state=found, says=says
    )


def _hardware(full: Size, model: Size) -> Iterator[SimilarityGroup]:
    pair = (full, model)
    yield _group(
        "disk : network",
        [size.disk("write") / size.nic for size in pair],
        more="disks are too fast relative to the network, which binds too early",
        less="disks are too slow relative to the network and bind too early",
    )
    yield _group(
        "disk : CPU",
        [size.disk("read") / size.cores for size in pair],
        more="disks are too fast relative to the CPUs, which bind too early",
        less="disks are too slow relative to the CPUs and bind too early",
        unit="bytes/s per core",
    )
    yield _group(
        "network : CPU",
        [size.nic / size.cores for size in pair],
        more="the network is too fast relative to the CPUs, which bind too early",
        less="the network is too slow relative to the CPUs and binds too early",
        unit="bytes/s per core",
    )
    yield _group(
        "slots per core",
        [size.slots / (size.cores / size.rate) for size in pair],
        more="more tasks share a core: start-up and waiting take more of the time",
        less="fewer tasks share a core: CPUs can be idle although they would not be at full size",
    )
    yield _group(
        "CPU of a single task, fraction of its host",
        [size.rate_of_task * len(size.hosts) / size.cores for size in pair],
        more="a single task can use more of the CPU of its host: tails of waves and single "
        "streams are too fast; phases with all slots busy are not affected",
        less="a single task has too little CPU: tails of waves are too slow",
        unit="share",
    )
    yield _group(
        "streams per disk",
        [size.slots / max(size.disks, 1) for size in pair],
        more="more streams compete for a disk than at full size",
        less="fewer streams compete for a disk than at full size",
    )
    yield _group("replication", [float(s.cluster.replication) for s in pair], _REPLICAS, _REPLICAS)
    yield _group(
        "(N-1)/N",
        [(size.workers - 1) / size.workers if size.workers else None for size in pair],
        more="a larger fraction of the shuffle crosses the network",
        less="a smaller fraction of the shuffle crosses the network",
        unit="share",
    )
    yield _group("racks", [float(len(s.fabric.racks)) for s in pair], _RACKS, _RACKS)
    yield _group(
        "oversubscription",
        [size.oversubscription for size in pair],
        more="uplinks have less capacity per NIC than at full size",
        less="uplinks have more capacity per NIC than at full size",
    )
    vms = [sum(max(1, len(h.guests)) for h in s.hosts) / len(s.hosts) for s in pair]
    yield _group("VMs per host", vms, _GUESTS, _GUESTS)


_REPLICAS = "other amounts of data are written and sent"
_RACKS = "replicas have other places, and other fractions of the traffic cross uplinks"
_GUESTS = "another number of virtual machines share a host"


def _of_tasks(load: Load, full: Size, model: Size) -> Iterator[SimilarityGroup]:
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    yield _group(
        "waves of maps",
        waves(load, full, model),
        more="more waves: the effect of start-up is larger, that of stragglers smaller",
        less="fewer waves: hosts can be idle, and the effect of the last wave is larger",
        workload=load.workload,
    )
    if load.writers:
        return
    yield _group(
        "spills per map",
        [_spills(size.tasks, data) for size, data in pair],
        more="maps spill and merge more often: too much disk traffic",
        less="maps spill and merge less often: too little disk traffic",
        workload=load.workload,
    )
    given = [
        reduces or number(size.cluster, "mapreduce.job.reduces", 1)
        for (size, _), reduces in zip(pair, counts(load.reduces, load), strict=True)
    ]
    yield _group(
        "reducer data : buffer",
        [
            data / reduces / size.tasks.reduce_buffer if reduces else None
            for (size, data), reduces in zip(pair, given, strict=True)
        ],
        more="reducers write more of the shuffle to disk than at full size",
        less="reducers keep more of the shuffle in memory: too little disk traffic",
        workload=load.workload,
    )


def counts(tasks: int | None, load: Load) -> tuple[int | None, int | None]:
    """A number of tasks at full size and in the model."""
    return tasks, tasks and max(1, round(tasks * load.task_fraction))


def _of_data(load: Load, full: Size, model: Size) -> Iterator[SimilarityGroup]:
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    copies = full.cluster.replication
    for noun, busy in (("tasks running", True), ("between jobs", False)):
        yield _group(
            f"data that the cache can hold, {noun}",
            [min(1.0, size.cache(busy=busy) / (data * copies)) for size, data in pair],
            more="caches hold more of the data in the model: disk reads are too fast "
            "(drop caches between phases: 'cache: drop')",
            less="caches hold less of the data in the model: disk reads are too slow",
            workload=load.workload,
            unit="share",
        )


def _spills(tasks: Tasks, data: float) -> float:
    buffer = tasks.sort_mib * MIB * tasks.spill_share
    return float(max(1, math.ceil(min(tasks.block_bytes, data) / buffer)))


def start_shares(load: Load, full: Size, model: Size) -> tuple[float, float]:
    """Start-up as a fraction of the time of a task, at full size and in the model (estimates)."""
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    found = []
    for (size, data), writers in zip(pair, counts(load.writers, load), strict=True):
        start = size.start_s(writers)
        task = wave_s(load, size, data, writers) if writers else size.task_s()
        found.append(start / (start + task))
    return found[0], found[1]


def waves(load: Load, full: Size, model: Size) -> tuple[float, float]:
    """The waves of the map tasks of a workload, at full size and in the model."""
    pair = ((full, load.data_bytes), (model, load.model_bytes))
    found = [
        (writers or math.ceil(data / size.tasks.block_bytes)) / size.slots
        for (size, data), writers in zip(pair, counts(load.writers, load), strict=True)
    ]
    return found[0], found[1]


def _start_up(load: Load, full: Size, model: Size) -> Iterator[SimilarityGroup]:
    """Start-up of a task as a fraction of its time; the state depends on the rest, the work.

    The task time of a workload without data is unknown.
    """
    shares: Sequence[float | None] = [None, None]
    state: SimilarityState = "unknown"
    if load.data_bytes:
        known = start_shares(load, full, model)
        shares, state = known, state_of(*(1 - share for share in known))
    ours = "unknown" if shares[1] is None else f"{shares[1] * 100:.0f} %"
    yield _group(
        "start-up, fraction of task time",
        shares,
        more=f"start-up is about {ours} of a task in the model: phases that are short at full size "
        "are not meaningful, and all differences are too small",
        less=f"start-up is about {ours} of a task in the model, less than at full size",
        workload=load.workload,
        unit="share",
        state=state,
    )
