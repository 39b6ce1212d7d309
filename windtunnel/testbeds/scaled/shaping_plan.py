"""The limits of the virtual hosts of a model: the numbers of the description times the scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from windtunnel.cluster import Cluster, Disk, HostClass, Node, host_rates
from windtunnel.errors import NotRealisableError
from windtunnel.hosts.fabric.plan import (
    DiskPlan,
    FabricPlan,
    GuestPlan,
    HostPlan,
    RackPlan,
    raid0,
)
from windtunnel.testbeds.scaled.combine import combined
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.scale_model import MemoryLimits, carries, disk_bytes, unknown_values

ONE_RACK = "rack-1"
_MTU = 1500


def refuse_unknown(cluster: Cluster) -> None:
    """Raise NotRealisableError, with the paths, if the description lacks required values."""
    paths = unknown_values(cluster)
    if paths:
        raise NotRealisableError(
            f"a model of '{cluster.name}' requires values that the description lacks: "
            + ", ".join(paths),
            remedy=f"add them to the cluster file, to 'set:', or with --set {paths[0]}=...",
        )


def fabric_plan(cluster: Cluster, scale: Scale) -> FabricPlan:
    """The fabric of a full-size description at a scale (1/1 is the full size).

    Hosts and guests have the names of ``cluster.nodes()``. CPU quotas are the work of the cores
    (``Cpu.work``: two hardware threads are not two cores) times ``rate``, by ``core_speed``.
    Hosts that run only masters are not limited, because the model has as many files and tasks as
    the full size, in less time.

    Raises
    ------
    NotRealisableError
        If the description lacks a required value.
    """
    refuse_unknown(cluster)
    cluster = combined(cluster, scale.combine)
    hosts = tuple(_hosts(cluster, scale))
    racks = tuple(_racks(cluster, scale.rate, hosts))
    return FabricPlan(hosts, racks, cluster.storage.file_system or "ext4")


def _hosts(cluster: Cluster, scale: Scale) -> Iterator[HostPlan]:
    nodes = list(cluster.nodes())
    limit_of = MemoryLimits(cluster, scale)
    for name, host in cluster.hosts.items():
        loaded = carries(cluster, name)
        for index in range(host.count):
            full_name = host.host_name(name, index)
            own = [node for node in nodes if node.host == full_name]
            disks = tuple(_disks(host, index, scale))
            limits = [limit_of(node) for node in own]
            work = _work(host, index) if loaded else None
            yield HostPlan(
                name=full_name,
                rack=cluster.rack_of(name, index) or ONE_RACK,
                cpu_cores=None if work is None else work * scale.rate / scale.core_speed,
                memory_bytes=None if None in limits else sum(limit or 0 for limit in limits),
                disks=disks,
                controller_bytes_s=_times(host_rates.controller_bytes_s(host), scale),
                nic_bytes_s=_times(host_rates.nic_bytes_s(cluster, name, index), scale),
                mtu=min((nic.mtu for nic in host.nics or () if nic.mtu), default=_MTU),
                latency_s=((cluster.network and cluster.network.latency) or 0.0) * scale.time,
                guests=tuple(_guests(host, own, limits, disks, scale)) if host.vms else (),
            )


def _guests(
    host: HostClass,
    nodes: Sequence[Node],
    limits: Sequence[int | None],
    disks: Sequence[DiskPlan],
    scale: Scale,
) -> Iterator[GuestPlan]:
    """Guests with their limits; the disks of the host are assigned in turn, if they suffice."""
    seen = [_data_disks(node.guest.disks if node.guest else None) for node in nodes]
    assigned = 0 < sum(seen) <= len(disks) and all(seen)
    names = iter([disk.name for disk in disks])
    for node, limit, count in zip(nodes, limits, seen, strict=True):
        assert node.guest is not None
        vcpus = node.guest.vcpus
        yield GuestPlan(
            name=node.name,
            cpu_cores=None if vcpus is None else vcpus * scale.rate / scale.core_speed,
            memory_bytes=limit,
            disks=tuple(next(names) for _ in range(count)) if assigned else (),
        )


def _data_disks(disks: Sequence[Disk] | None) -> int:
    return sum(disk.count for disk in disks or () if disk.use == "data")


def _work(host: HostClass, index: int) -> float | None:
    if host.cpu is None or host.cpu.work is None:
        return None
    return host.cpu.work * host_rates.remaining(host, index, "cpu")


def _disks(host: HostClass, index: int, scale: Scale) -> Iterator[DiskPlan]:
    """The data disks; an array is one disk."""
    made = 0
    for group, left in host_rates.disk_groups(host, index):
        own = [_disk(group, fraction, scale) for fraction in left]
        layout = group.layout or "jbod"
        if layout != "jbod":
            own = [_array(layout, own)]
        for disk in own:
            made += 1
            yield replace(disk, name=f"disk-{made}")


def _disk(group: Disk, left: float, scale: Scale) -> DiskPlan:
    factor = scale.rate * left
    iops = None if group.iops is None else max(1, round(group.iops * factor))
    return DiskPlan(
        name="disk",
        size_bytes=disk_bytes(group.size, scale),
        read_bytes_s=None if group.read_rate is None else group.read_rate * factor,
        write_bytes_s=None if group.write_rate is None else group.write_rate * factor,
        read_iops=iops,
        write_iops=iops,
    )


def _array(layout: str, disks: list[DiskPlan]) -> DiskPlan:
    """An array as one disk with streaming rates; parity and mirrors reduce writes and capacity."""
    whole, parts = raid0("disk", disks), host_rates.array_parts(layout, len(disks))
    return replace(
        whole,
        size_bytes=int(whole.size_bytes * parts.capacity),
        read_bytes_s=whole.read_bytes_s and whole.read_bytes_s * parts.reads,
        write_bytes_s=whole.write_bytes_s and whole.write_bytes_s * parts.writes,
    )


def _times(rate_bytes_s: float | None, scale: Scale) -> float | None:
    return None if rate_bytes_s is None else rate_bytes_s * scale.rate


def _racks(cluster: Cluster, rate: float, hosts: Sequence[HostPlan]) -> Iterator[RackPlan]:
    """Racks in the order of their hosts; an oversubscribed uplink has the NIC rates / factor."""
    network = cluster.network
    for name in dict.fromkeys(host.rack for host in hosts):
        rack = network.racks.get(name) if network else None
        uplink = (rack and rack.uplink) or (network and network.uplink)
        factor = (rack and rack.oversubscription) or (network and network.oversubscription)
        behind = sum(host.nic_bytes_s or 0.0 for host in hosts if host.rack == name)
        if uplink:
            yield RackPlan(name, uplink * rate)
        else:
            yield RackPlan(name, behind / factor if factor and behind else None)
