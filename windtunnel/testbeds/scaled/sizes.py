"""The full size and its model in numbers: sums over hosts, and the times of tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import psutil

from windtunnel.cluster import Cluster
from windtunnel.hosts.fabric.plan import FabricPlan, HostPlan
from windtunnel.testbeds.base import Load, PhaseLoad
from windtunnel.testbeds.scaled.combine import combined
from windtunnel.testbeds.scaled.scale import FULL_SIZE, Scale
from windtunnel.testbeds.scaled.scale_model import daemon_bytes, scaled, waiting_bytes
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.tasks import MIB, Tasks, tasks_of

_LEAST_FREE_CORES = 0.25  # of a machine whose cores the quotas of the model use up
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
# CPU seconds of a task that do not depend on its data, after the start of its JVM: the JVM compiles
# the code that it runs. TeraSort of 512 and of 256 MB in twelve tasks took 45.5 and 32.1 CPU s,
# TeraGen in four tasks 9.0 and 6.4 (medians of three trials, docs/decisions/0079).
TASK_CPU_S = 1.5
WRITER_CPU_S = 0.9
# Mean CPU of a DataNode or NodeManager while a job runs, in cores: those of a worker, with its
# waiting JVMs, used 0.020 to 0.024 cores in the same trials.
DAEMON_CORES = 0.01


@dataclass(frozen=True)
class Size:
    """The full size or the model in numbers: the sums over the hosts with data or tasks.

    ``rate`` is 1 at full size; a core of the description is ``rate`` cores of the machine that have
    its speed. ``core_speed`` is the work of a core of the machine, in cores of the description.
    ``waiting_bytes`` is the memory of the waiting JVMs of a worker.
    """

    cluster: Cluster
    fabric: FabricPlan
    tasks: Tasks
    rate: float
    waiting_bytes: int = 0
    core_speed: float = 1.0

    @property
    def hosts(self) -> list[HostPlan]:
        """The hosts with data or tasks."""
        return [host for host in self.fabric.hosts if host.cpu_cores is not None]

    @property
    def cores(self) -> float:
        """CPU of these hosts, in cores with the speed of the description's."""
        return sum(host.cpu_cores or 0.0 for host in self.hosts) * self.core_speed

    @property
    def task_hosts(self) -> list[HostPlan]:
        """The hosts that run tasks."""
        names = {node.host for node in self.cluster.nodes_with("nodemanager")}
        return [host for host in self.hosts if host.name in names] or self.hosts

    @property
    def task_cores(self) -> float:
        """CPU of the hosts that run tasks, in cores with the speed of the description's."""
        return sum(host.cpu_cores or 0.0 for host in self.task_hosts) * self.core_speed

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
        own = max(at_once / self.task_cores, 1.0 / self.rate_of_task)
        return JVM_START_S * own * self.core_speed

    def fixed_cpu_s(self, *, writer: bool) -> float:
        """CPU seconds of a task that do not depend on its data, on a core of the description."""
        warm = self.rate < 1.0 and self.cluster.software.task_start == "warm"
        start = 0.0 if warm else JVM_START_S
        return (start + (WRITER_CPU_S if writer else TASK_CPU_S)) * self.core_speed

    @property
    def daemon_share(self) -> float:
        """CPU of the DataNodes and NodeManagers, as a fraction of the CPU of their hosts."""
        roles = ("datanode", "nodemanager")
        daemons = sum(len(self.cluster.nodes_with(role)) for role in roles)
        return daemons * DAEMON_CORES * self.core_speed / self.cores

    @property
    def free_cores(self) -> float:
        """Cores of this machine that the quotas of the model leave."""
        used = self.cores / self.core_speed
        return max((psutil.cpu_count() or 1) - used, _LEAST_FREE_CORES)

    @property
    def per_core(self) -> float:
        """Number of slots per core."""
        return self.slots / self.task_cores

    @property
    def rate_of_task(self) -> float:
        """Cores that a single task can use: one of the machine, or the quota of its host."""
        return min(self.core_speed, self.task_cores / len(self.task_hosts))


def busiest_s(phase: PhaseLoad, size: Size) -> float:
    """Seconds of the resource that a phase uses longest, with all data."""
    return max(
        phase.read_bytes / size.disk("read"),
        phase.write_bytes / size.disk("write"),
        phase.network_bytes / size.nic,
        (phase.read_bytes + phase.write_bytes) * CPU_S_PER_BYTE / size.task_cores,
    )


def wave_s(load: Load, size: Size, data: float, writers: int) -> float:
    """Seconds of a writer: the time of the first phase at its busiest resource, per wave."""
    waves = math.ceil(writers / size.slots)
    return busiest_s(load.phases[0], size) * data / load.data_bytes / waves


def sizes(cluster: Cluster, scale: Scale) -> tuple[Size, Size]:
    """The full size and its model; raises NotRealisableError if a required value is unknown."""
    return full_size(cluster), model_size(cluster, scale)


def full_size(cluster: Cluster) -> Size:
    """The full size; raises NotRealisableError if a required value is unknown."""
    return Size(cluster, fabric_plan(cluster, FULL_SIZE), tasks_of(cluster), 1.0)


def model_size(cluster: Cluster, scale: Scale) -> Size:
    """The model of a cluster; raises NotRealisableError if a required value is unknown."""
    tasks, fewer = tasks_of(scaled(cluster, scale)), combined(cluster, scale.combine)
    waiting = waiting_bytes(fewer, scale)
    plan = fabric_plan(cluster, scale)
    return Size(fewer, plan, tasks, scale.rate, waiting, scale.core_speed)
