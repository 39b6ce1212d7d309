"""Changes the limits of an existing fabric: to the limits of another plan, or to no limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windtunnel.cluster import format_bytes, format_rate
from windtunnel.errors import DeploymentError
from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, HostPlan, RackPlan


def host_plans(plan: FabricPlan) -> dict[str, HostPlan]:
    """The hosts of a fabric by name."""
    return {host.name: host for host in plan.hosts}


def plan_with_spares(old: FabricPlan, new: FabricPlan) -> FabricPlan:
    """The plan of the existing fabric: hosts that are out of service keep their limits."""
    known = host_plans(new)
    racks = {rack.name: rack for rack in new.racks}
    return replace(
        new,
        hosts=tuple(known.get(host.name, host) for host in old.hosts),
        racks=tuple(racks.get(rack.name, rack) for rack in old.racks),
    )


def unlimited(plan: FabricPlan, *, cpu_only: bool = False) -> FabricPlan:
    """A plan without limits of CPU and, unless ``cpu_only``, of NICs, uplinks and disks.

    Memory keeps its limits, because restoring them would evict its content.
    """
    return replace(
        plan,
        hosts=tuple(_unlimited(host, cpu_only) for host in plan.hosts),
        racks=plan.racks if cpu_only else tuple(RackPlan(rack.name) for rack in plan.racks),
    )


def _unlimited(host: HostPlan, cpu_only: bool) -> HostPlan:
    guests = tuple(replace(guest, cpu_cores=None) for guest in host.guests)
    host = replace(host, cpu_cores=None, guests=guests)
    if cpu_only:
        return host
    disks = tuple(DiskPlan(disk.name, disk.size_bytes) for disk in host.disks)
    return replace(host, disks=disks, controller_bytes_s=None, nic_bytes_s=None)


def shape(fabric: Fabric, before: FabricPlan, plan: FabricPlan) -> list[str]:
    """Change the limits of hosts and racks; returns one line for equal changes of several.

    Raises
    ------
    DeploymentError
        If the kernel rejects a change, such as for a host that does not exist any more.
    """
    from pyroute2.netlink.exceptions import NetlinkError  # 'plan' does not need it

    try:
        return [*_changes(fabric, before, plan)]
    except (OSError, NetlinkError) as error:
        raise DeploymentError(
            f"the limits of the hosts cannot be changed: {error}",
            remedy="the next deployment starts with new hosts.",
        ) from error


def _changes(fabric: Fabric, before: FabricPlan, plan: FabricPlan) -> Iterator[str]:
    old = host_plans(before)
    lines: dict[str, list[str]] = {}

    def note(what: str, name: str) -> None:
        lines.setdefault(what, []).append(name)

    for host in plan.hosts:
        was = old[host.name]
        if host.nic_bytes_s != was.nic_bytes_s:
            fabric.set_nic_rate(host.name, host.nic_bytes_s)
            note(f"NIC {_rate(was.nic_bytes_s)} -> {_rate(host.nic_bytes_s)}", host.name)
        if host.cpu_cores != was.cpu_cores:
            fabric.set_cpu(host.name, host.cpu_cores)
            note(f"CPU {_cores(was.cpu_cores)} -> {_cores(host.cpu_cores)}", host.name)
        for guest, before_guest in zip(host.guests, was.guests, strict=True):
            if guest.cpu_cores != before_guest.cpu_cores:
                # version 1 of control groups refuses a quota above that of the host
                fabric.set_guest_cpu(guest.name, _least(guest.cpu_cores, host.cpu_cores))
                limits = f"{_cores(before_guest.cpu_cores)} -> {_cores(guest.cpu_cores)}"
                note(f"CPU {limits}", guest.name)
        for name, size, new_size in _memories(was, host):
            fabric.set_memory(name, new_size)
            note(f"memory {_bytes(size)} -> {_bytes(new_size)}", name)
        if host.controller_bytes_s != was.controller_bytes_s:
            fabric.set_controller_rate(host.name, host.controller_bytes_s)
            limit = _rate(host.controller_bytes_s)
            note(f"controller {_rate(was.controller_bytes_s)} -> {limit}", host.name)
        disks = {disk.name: disk for disk in was.disks}
        for disk in host.disks:
            before_disk = disks.get(disk.name)
            if before_disk != disk:
                fabric.set_disk(host.name, disk.name, disk)
                note(f"disk {_disk(before_disk)} -> {_disk(disk)}", f"{host.name}:{disk.name}")
    uplinks = {rack.name: rack.uplink_bytes_s for rack in before.racks}
    for rack in plan.racks:
        if rack.uplink_bytes_s != uplinks[rack.name]:
            fabric.set_uplink_rate(rack.name, rack.uplink_bytes_s)
            note(f"uplink {_rate(uplinks[rack.name])} -> {_rate(rack.uplink_bytes_s)}", rack.name)
    for what, names in lines.items():
        yield f"{what}: {', '.join(names)}"


def _least(one: float | None, other: float | None) -> float | None:
    return min((value for value in (one, other) if value is not None), default=None)


def _memories(was: HostPlan, host: HostPlan) -> Iterator[tuple[str, int | None, int | None]]:
    """The memory limits that differ, in an order in which no guest exceeds its host."""
    pairs = [(host.name, was.memory_bytes, host.memory_bytes)]
    pairs += [
        (new.name, old.memory_bytes, new.memory_bytes)
        for old, new in zip(was.guests, host.guests, strict=True)
    ]
    grows = (host.memory_bytes or float("inf")) >= (was.memory_bytes or float("inf"))
    for name, before, after in pairs if grows else reversed(pairs):
        if before != after:
            yield name, before, after


def _rate(bytes_s: float | None) -> str:
    # the rates of a model are not round numbers; three digits distinguish them
    return "unlimited" if bytes_s is None else format_rate(float(f"{bytes_s:.3g}"))


def _bytes(size: int | None) -> str:
    return "unlimited" if size is None else format_bytes(size)


def _cores(cores: float | None) -> str:
    return "unlimited" if cores is None else f"{cores:g} cores"


def _disk(disk: DiskPlan | None) -> str:
    if disk is None:
        return "absent"
    return f"{_rate(disk.read_bytes_s)} read, {_rate(disk.write_bytes_s)} write"
