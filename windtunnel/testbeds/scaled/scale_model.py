"""The description of a model, from a full-size description and a scale.

Hadoop's settings follow :func:`scaled`; ``shaping_plan.py`` computes the limits of the virtual
hosts. Both use the same host names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeVar

from windtunnel.cluster import Cluster, HostClass, Network, Node
from windtunnel.cluster.hosts import Part
from windtunnel.cluster.roles import HADOOP, ROLES, Role
from windtunnel.engines.hadoop.pool_sizes import JVM_BYTES, pool_sizes
from windtunnel.testbeds.scaled.combine import combined
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.tasks import (
    MIB,
    model_block,
    model_settings,
    tasks_of,
)

# Resident memory of daemons, measured on Linux with Java 17 (as in testbeds/local.py):
# masters together, a DataNode with a NodeManager; and a client's JVM.
MASTERS_BYTES = 800 * MIB
WORKER_BYTES = 450 * MIB
CLIENT_BYTES = 512 * MIB
MASTERS: frozenset[Role] = frozenset(
    role.name for role in ROLES if role.engine == HADOOP and not role.worker
)
# Hosts with these roles store data or run tasks, so that their limits must be known.
CARRIERS: frozenset[Role] = frozenset(role.name for role in ROLES if role.shaped)
# A disk image is sparse: additional space for jars, logs and spills costs nothing.
_LEAST_DISK_BYTES = 8 << 30

P = TypeVar("P", bound=Part)


def carries(cluster: Cluster, class_name: str) -> bool:
    """Whether hosts of a class store data or run tasks."""
    return any(CARRIERS & {*n.roles} for n in cluster.nodes() if n.class_name == class_name)


def unknown_values(cluster: Cluster) -> list[str]:
    """Paths of missing values that a model requires; empty if the description is complete.

    Hosts that run only masters are exempt: their unknown resources are not limited.
    """
    found = [
        path for name in cluster.hosts if carries(cluster, name) for path in _gaps(cluster, name)
    ]
    network = cluster.network
    if network is None or network.uplink or network.oversubscription:
        return found
    silent = [n for n, rack in network.racks.items() if not (rack.uplink or rack.oversubscription)]
    if len(network.racks) > 1:
        found += [f"network.racks.{name}.uplink" for name in silent]
    elif (network.spread_over or 1) > 1:
        found.append("network.uplink")
    return found


def _gaps(cluster: Cluster, name: str) -> Iterator[str]:
    host, lead = cluster.hosts[name], f"hosts.{name}"
    for key in ("sockets", "cores_per_socket", "threads_per_core"):
        if host.cpu is None or getattr(host.cpu, key) is None:
            yield f"{lead}.cpu.{key}"
    if host.memory is None:
        yield f"{lead}.memory"
    for i, guest in enumerate(host.vms):
        if guest.memory is None:
            yield f"{lead}.vms.{i}.memory"
    data = [(i, disk) for i, disk in enumerate(host.disks or ()) if disk.use == "data"]
    if not data:
        yield f"{lead}.disks"
    for i, disk in data:
        for key in ("read_rate", "write_rate"):
            if getattr(disk, key) is None:
                yield f"{lead}.disks.{i}.{key}"
    if not host.nics:
        yield f"{lead}.nics"
    for i, nic in enumerate(host.nics or ()):
        if nic.rate is None and nic.measured_rate is None:
            yield f"{lead}.nics.{i}.rate"


def unshaped(cluster: Cluster) -> list[str]:
    """Caveats: parts of the description that a model omits or simplifies."""
    found = []
    for name, host in cluster.hosts.items():
        data = [disk for disk in host.disks or () if disk.use == "data"]
        if not carries(cluster, name):
            found.append(
                f"hosts.{name}: CPU and memory of hosts without data or tasks are not limited"
            )
        if any(guest.pinned == "socket" for guest in host.vms):
            found.append(f"hosts.{name}.vms: pinning to sockets is not supported")
        if any(entry.latency for entry in host.degraded):
            found.append(f"hosts.{name}.degraded: only the rate is supported, latency is not")
        if len(data) > 1 and any(disk.controller_rate for disk in data):
            found.append(f"hosts.{name}.disks: the limits of its controllers are added up to one")
        if any(disk.write_cache for disk in data):
            found.append(f"hosts.{name}.disks: write caches of controllers are not supported")
    if cluster.network and cluster.network.switch and cluster.network.switch.total_rate:
        found.append(
            "network.switch.total_rate is not supported; NICs, ports and uplinks are limited"
        )
    return found


def scaled(cluster: Cluster, scale: Scale) -> Cluster:
    """The description of the model: rates times ``rate``; memory, blocks, buffers times ``data``.

    Slots, disks and waves are combined first. A processor keeps its sockets and cores, because a
    description cannot contain a fraction of a core (the CPU quota of the fabric is its work times
    ``rate``).
    """
    cluster = combined(cluster, scale.combine)
    block = model_block(tasks_of(cluster).block_bytes, scale)
    limit_of = MemoryLimits(cluster, scale)
    return cluster.model_copy(
        update={
            "name": f"{cluster.name} at {scale}",
            "hosts": {name: _host(cluster, name, scale, limit_of) for name in cluster.hosts},
            "settings": model_settings(cluster, scale),
            "storage": cluster.storage.model_copy(update={"block_size": block}),
            "network": cluster.network and _network(cluster.network, scale.rate),
        }
    )


def disk_bytes(size: int | None, scale: Scale) -> int:
    """Size of a disk of the model: its size times ``data``, at least for jars, logs and spills."""
    return max(_LEAST_DISK_BYTES, round((size or 0) * scale.data))


def daemon_bytes(roles: tuple[Role, ...]) -> int:
    """Resident memory of the daemons and of a client on a node."""
    own = {*roles}
    return (
        (WORKER_BYTES if CARRIERS & own else 0)
        + (MASTERS_BYTES if MASTERS & own else 0)
        + (CLIENT_BYTES if "client" in own else 0)
    )


class MemoryLimits:
    """The memory limits of the nodes of a model.

    The slots of ``cluster`` are those of the model. The limit is the memory of the JVMs plus the
    page cache of the full size times ``data``. Nodes of the same kind are computed once.
    """

    def __init__(self, cluster: Cluster, scale: Scale) -> None:
        self._cluster, self._scale = cluster, scale
        self._known: dict[tuple[object, ...], int | None] = {}

    def __call__(self, node: Node) -> int | None:
        """The limit of a node in bytes; None if it is unknown or not limited."""
        key = (node.class_name, node.roles, node.guest and node.guest.name)
        if key not in self._known:
            self._known[key] = self._limit(node)
        return self._known[key]

    @cached_property
    def _containers(self) -> tuple[int, int]:
        """Memory of the containers on a worker: at full size, and in the model with its JVMs."""
        full = tasks_of(self._cluster).nodemanager_mib
        held = model_settings(self._cluster, self._scale)["yarn.nodemanager.resource.memory-mb"]
        return full * MIB, int(held) * MIB + waiting_bytes(self._cluster, self._scale)

    def _limit(self, node: Node) -> int | None:
        host = self._cluster.hosts[node.class_name]
        full = node.guest.memory if node.guest else host.memory
        if full is None or not CARRIERS & {*node.roles}:
            return None
        own = daemon_bytes(node.roles)
        containers = self._containers if "nodemanager" in node.roles else (0, 0)
        cache = float(full - own - containers[0])
        return round(own + containers[1] + max(0.0, cache) * self._scale.data)


def waiting_bytes(cluster: Cluster, scale: Scale) -> int:
    """Memory on each worker for JVMs that wait in addition to those that run (warm starts)."""
    software = cluster.software
    if software.task_start == "stock":
        return 0
    settings = {name: str(value) for name, value in model_settings(cluster, scale).items()}
    workers = len(cluster.nodes_with("nodemanager"))
    sizes = pool_sizes(settings, workers, software.hadoop, software.warm_jvms)
    slots = tasks_of(cluster).slots
    beside = int(settings["yarn.nodemanager.resource.memory-mb"])
    beside -= slots * int(settings["mapreduce.map.memory.mb"])
    # an application master with memory of its own runs in addition to the tasks of all slots
    running = slots + (beside >= int(settings["yarn.app.mapreduce.am.resource.mb"]))
    return max(0, sum(sizes.values()) - running) * JVM_BYTES


def _host(cluster: Cluster, name: str, scale: Scale, limit_of: MemoryLimits) -> HostClass:
    host, rate = cluster.hosts[name], scale.rate
    update: dict[str, Any] = {}
    if host.disks:
        update["disks"] = tuple(
            _times(disk, rate, "read_rate", "write_rate", "iops", "controller_rate").model_copy(
                update={"size": disk.size and disk_bytes(disk.size, scale)}
            )
            for disk in host.disks
        )
    if host.nics:
        update["nics"] = tuple(_times(nic, rate, "rate", "measured_rate") for nic in host.nics)
    nodes = [node for node in cluster.nodes() if node.class_name == name]
    limits = [limit_of(node) for node in nodes if node.host == nodes[0].host]
    if host.vms:
        by_guest = dict(zip((n.guest for n in nodes), limits, strict=False))
        update["vms"] = tuple(
            guest.model_copy(update={"memory": by_guest.get(guest) or guest.memory})
            for guest in host.vms
        )
    known = [limit for limit in limits if limit is not None]
    update["memory"] = sum(known) if known and len(known) == len(limits) else host.memory
    return host.model_copy(update=update)


def _network(network: Network, rate: float) -> Network:
    racks = {
        name: _times(rack, rate, "uplink").model_copy(
            update={"switch": rack.switch and _times(rack.switch, rate, "port_rate", "total_rate")}
        )
        for name, rack in network.racks.items()
    }
    switch = network.switch and _times(network.switch, rate, "port_rate", "total_rate")
    return _times(network, rate, "uplink").model_copy(update={"racks": racks, "switch": switch})


def _times(part: P, factor: float, *names: str) -> P:
    """The part with its known numbers multiplied by ``factor``."""
    known = {name: value for name in names if (value := getattr(part, name)) is not None}
    return part.model_copy(update={name: value * factor for name, value in known.items()})
