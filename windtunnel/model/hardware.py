"""The capacities of a described cluster as numbers: one row per cluster.

Unknown values get a stated default; :func:`hardware` returns a line for each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial

import psutil

from windtunnel.cluster import Cluster, parse_bytes, without_hardware
from windtunnel.cluster.host_counts import compute_classes, store_classes, with_role
from windtunnel.cluster.hosts import SMT_GAIN
from windtunnel.cluster.setting_values import (
    CALCULATOR,
    LEAST_MB,
    OWN_LEAST_MIB,
    SCHEDULER,
    counts_vcores,
    granted_mib,
)
from windtunnel.model import parts
from windtunnel.model.uplinks import client_rate, no_limit, racks_of, total_rate

DEFAULT_CONTAINER_MIB = 1024.0  # mapreduce.map.memory.mb
MASTER_CONTAINER_MIB = 1536.0  # yarn.app.mapreduce.am.resource.mb
NODE_MEMORY_SHARE = 0.8  # of the memory for containers, if no setting states it
LOOPBACK_BYTES_S = 1e10
CACHE_SHARE = 0.5
SHARED = ("cores of", "memory of", "rate of")  # defaults that the facts of one machine replace
_VCORES = "yarn.nodemanager.resource.cpu-vcores"
_MASTER_VCORES = "yarn.app.mapreduce.am.resource.cpu-vcores"
OLD_HADOOP = ("0.20", "0.21", "1.")


@dataclass(frozen=True)
class Hardware:
    """The capacities of one cluster; totals are over all hosts with the role.

    Attributes
    ----------
    hosts, stores:
        Physical hosts that run tasks, and that hold data.
    cores, threads_per_core, sockets:
        Per compute host (mean over hosts).
    clock_ghz:
        With all cores active.
    slots:
        Containers that run at the same time on one compute host.
    memory_bytes, store_memory_bytes:
        Memory of a compute host, of a storage host.
    nic_bytes_s, store_nic_bytes_s:
        All ports of one host together, in each direction.
    cross_bytes_s:
        What the uplinks of all racks or the switch let through; infinite if nothing limits it.
    spindles:
        Data disks of a storage host, each times its speed relative to 7200 rpm; 0 if none rotates.
    disk_count:
        Data disks of a storage host.
    fixed_read_bytes_s, fixed_write_bytes_s:
        Rates of the disks of one storage host whose rate is known (given, or of their kind).
    controller_bytes_s:
        What the disks' controller of one storage host lets through; infinite if unknown.
    scratch_spindles, scratch_fixed_bytes_s:
        The own disks of a compute host for spills, if the data is on other hosts; else 0.
    client_nic_bytes_s:
        NIC of the host that copies files in and out.
    external, pinned, old, pooled, warm:
        1 or 0: data on other hosts; virtual machines pinned to sockets; Hadoop 0.20 or 1.x; hosts
        that are processes of one machine, so that idle ones leave their cores to the others; tasks
        in JVMs that wait for them.
    guests:
        Virtual machines of a compute host; 0 without.
    client_cross_bytes_s:
        What the uplink of the client's rack lets through of the bytes that the client copies;
        infinite if nothing limits it.
    racks:
        Racks over which the storage places replicas; 0 if it does not know them.
    assumed:
        A line for each unknown value and its default.
    """

    hosts: float
    stores: float
    cores: float
    threads_per_core: float
    sockets: float
    clock_ghz: float
    slots: float
    memory_bytes: float
    store_memory_bytes: float
    nic_bytes_s: float
    client_nic_bytes_s: float
    store_nic_bytes_s: float
    cross_bytes_s: float
    spindles: float
    disk_count: float
    fixed_read_bytes_s: float
    fixed_write_bytes_s: float
    controller_bytes_s: float
    scratch_spindles: float
    scratch_fixed_bytes_s: float
    external: float
    guests: float
    pinned: float
    old: float
    pooled: float
    warm: float = 0.0
    client_cross_bytes_s: float = math.inf
    racks: float = 0.0
    assumed: tuple[str, ...] = field(default=(), compare=False)


def hardware(cluster: Cluster) -> Hardware:
    """The capacities of a cluster."""
    notes = parts.Notes()
    compute = compute_classes(cluster)
    stores = store_classes(cluster)
    external = not {name for name, _, _ in compute} & {name for name, _, _ in stores}
    if external and not cluster.storage.external:
        notes.add("no host both runs tasks and holds data: all data crosses the network")
    if cluster.storage.kind == "cephfs":
        notes.add("CephFS is treated as HDFS, without the costs of Ceph itself")
    if no_limit(cluster, compute):
        notes.add("the switches carry the full rate of all NICs")
    hosts = sum(count for _, _, count in compute)
    clients = with_role(cluster, "client") or compute
    cores = parts.mean(compute, lambda one: parts.cores(one, notes))
    threads = parts.mean(compute, parts.threads_per_core)
    old = any(cluster.software.hadoop.startswith(line) for line in OLD_HADOOP)
    memory = parts.mean(compute, lambda one: parts.memory_bytes(one, notes))
    clock = parts.mean(compute, lambda one: parts.clock_ghz(one, notes))
    data_hosts = sum(count for _, _, count in stores)
    guests = [guest for _, one, _ in compute for guest in one.vms]
    per_host = sum(guest.count for guest in guests) / max(1, len({n for n, _, _ in compute}))
    spindles, fixed_read, fixed_write, disks = parts.disks(stores, notes)
    own_spindles = own_fixed = 0.0
    if external:  # tasks spill to their own hosts, to the disk of the system if there is no other
        own_spindles, own_fixed, _, _ = parts.disks(compute, notes, uses=("data", "os"))
    return Hardware(
        hosts=hosts,
        stores=data_hosts,
        cores=cores,
        threads_per_core=threads,
        sockets=parts.mean(compute, lambda one: (one.cpu and one.cpu.sockets) or 1),
        clock_ghz=clock,
        slots=_slots(cluster, cores * threads, memory, hosts, notes),
        memory_bytes=memory,
        store_memory_bytes=parts.mean(stores, lambda one: parts.memory_bytes(one, notes)),
        nic_bytes_s=parts.mean(compute, lambda one: parts.nic_bytes_s(one, notes)),
        client_nic_bytes_s=parts.mean(clients, lambda one: parts.nic_bytes_s(one, notes)),
        store_nic_bytes_s=parts.mean(stores, lambda one: parts.nic_bytes_s(one, notes)),
        cross_bytes_s=total_rate(cluster, compute),
        spindles=spindles,
        disk_count=disks,
        fixed_read_bytes_s=fixed_read,
        fixed_write_bytes_s=fixed_write,
        controller_bytes_s=parts.mean(stores, parts.controller_bytes_s),
        scratch_spindles=own_spindles,
        scratch_fixed_bytes_s=own_fixed,
        external=float(external),
        guests=per_host,
        pinned=float(any(guest.pinned == "socket" for guest in guests)),
        old=float(old),
        pooled=0.0,
        warm=float(cluster.software.task_start == "warm"),
        client_cross_bytes_s=client_rate(cluster, compute, clients, stores),
        racks=racks_of(cluster),
        assumed=tuple(notes.lines),
    )


def on_one_machine(
    capacity: Hardware, cores: float, threads: float, memory_bytes: float
) -> Hardware:
    """The capacities of hosts that are processes of one machine, which they share equally.

    ``capacity`` is that of a description without hardware. Half of the memory is for the page
    cache; the network is the loopback interface.
    """
    memory = memory_bytes * CACHE_SHARE / capacity.hosts
    return replace(
        capacity,
        cores=cores / capacity.hosts,
        threads_per_core=threads / cores,
        sockets=1.0 / capacity.hosts,
        pooled=1.0,
        memory_bytes=memory,
        store_memory_bytes=memory,
        nic_bytes_s=LOOPBACK_BYTES_S,
        client_nic_bytes_s=LOOPBACK_BYTES_S,
        store_nic_bytes_s=LOOPBACK_BYTES_S,
        guests=0.0,
        pinned=0.0,
        assumed=(
            "all hosts share the cores and the memory of one machine",
            *(line for line in capacity.assumed if not line.startswith(SHARED)),
        ),
    )


def with_quota(capacity: Hardware, fraction: float) -> Hardware:
    """The capacities if tasks get a fraction of the processors of a host, at their full clock.

    A core with several threads counts as its work (``SMT_GAIN`` of the description).
    """
    if fraction == 1.0:
        return capacity
    gain = SMT_GAIN if capacity.threads_per_core > 1.0 else 1.0
    cores = capacity.cores * gain * fraction
    return replace(capacity, cores=cores, threads_per_core=1.0)


def on_this_machine(cluster: Cluster) -> Hardware:
    """The capacities of a cluster whose hosts are processes of this machine."""
    threads = psutil.cpu_count() or 1
    cores = psutil.cpu_count(logical=False) or threads
    memory = psutil.virtual_memory().total
    settings = {LEAST_MB: OWN_LEAST_MIB, **cluster.settings}
    own = without_hardware(cluster).model_copy(update={"settings": settings})
    return on_one_machine(hardware(own), cores, threads, memory)


def _slots(
    cluster: Cluster, threads: float, memory: float, hosts: float, notes: parts.Notes
) -> float:
    """Containers of map tasks at the same time on one host: the mean over the hosts.

    YARN rounds the memory of containers up.
    """
    settings = cluster.settings
    limit = number(settings.get("yarn.nodemanager.resource.memory-mb"))
    each = number(settings.get("mapreduce.map.memory.mb"))
    master = number(settings.get("yarn.app.mapreduce.am.resource.mb"))
    container = _granted_bytes(cluster, each or DEFAULT_CONTAINER_MIB)
    room = limit * 2**20 if limit else memory * NODE_MEMORY_SHARE
    vcores = number(settings.get(_VCORES)) if _counts_vcores(cluster) else None
    if not vcores and not limit:
        notes.add("containers per host unknown: one per hardware thread, as memory permits")
    if not limit and room < container:
        notes.add("memory for containers unknown: one container per host, as the tasks need more")
    fit = math.floor(room / container) if limit else room / container  # an unknown room is a mean
    cores = math.inf if limit else threads
    with_master = cores - 1.0
    if vcores:
        each_cores = number(settings.get("mapreduce.map.cpu.vcores")) or 1.0
        master_cores = number(settings.get(_MASTER_VCORES)) or 1.0
        cores, with_master = vcores // each_cores, (vcores - master_cores) // each_cores
    most = max(1.0, min(cores, fit))
    # one host also runs the application master of the job
    left = room - _granted_bytes(cluster, master or MASTER_CONTAINER_MIB)
    beside = max(0.0, min(with_master, math.floor(left / container)))
    return max(1.0 / hosts, most - max(0.0, most - beside) / hosts)


def _counts_vcores(cluster: Cluster) -> bool:
    """Whether vcores limit the containers of a host; CDH has the FairScheduler by default."""
    return counts_vcores(_text_of(cluster, SCHEDULER), _text_of(cluster, CALCULATOR))


def _granted_bytes(cluster: Cluster, wanted_mib: float) -> float:
    """The container that YARN grants for a request."""
    return granted_mib(wanted_mib, partial(_text_of, cluster)) * 2**20


def _text_of(cluster: Cluster, name: str) -> str:
    """A setting as text, with the default scheduler of the distribution; empty without either."""
    text = str(cluster.settings.get(name, ""))
    if not text and name == SCHEDULER and (cluster.software.distribution or "").startswith("CDH"):
        return "FairScheduler"
    return text


def number(value: object) -> float | None:
    """A setting or parameter as a number; None if it is missing or no positive number."""
    try:
        found = float(str(value)) if value is not None else 0.0
    except ValueError:
        return None
    return found if 0.0 < found < math.inf else None


def bytes_of(value: object) -> float:
    """A size of a workload's parameters: a number of bytes or a text with a unit."""
    return float(value) if isinstance(value, (int, float)) else float(parse_bytes(str(value)))
