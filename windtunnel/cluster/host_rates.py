"""The rates that one host provides: NICs, data disks, and what a degraded component keeps.

Scale models limit their virtual hosts by these rules, and reports compare measured rates with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from windtunnel.cluster.description import Cluster
from windtunnel.cluster.hosts import Disk, HostClass

# Number of disks of an array that store parity, which add no capacity and no streaming rate.
_PARITY = {"raid0": 0, "raid5": 1, "raid6": 2}
_MIRRORS = ("raid1", "raid10")


@dataclass(frozen=True, slots=True)
class ArrayParts:
    """What an array keeps of the sums over its disks, as fractions."""

    capacity: float = 1.0
    reads: float = 1.0
    writes: float = 1.0


def array_parts(layout: str | None, count: int) -> ArrayParts:
    """The fractions of an array of ``count`` disks: parity and mirrors reduce them.

    Separate disks (``jbod``, the default) keep everything.
    """
    if layout in _MIRRORS:
        room = 1 / count if layout == "raid1" else 0.5
        return ArrayParts(room, 1.0, room)
    if layout in _PARITY:
        room = max(count - _PARITY[layout], 1) / count
        return ArrayParts(room, room, room)
    return ArrayParts()


def remaining(
    host: HostClass, index: int, part: Literal["cpu", "disk", "nic"], place: int = 0
) -> float:
    """The remaining fraction of the rate of a component of one host (``degraded``).

    ``index`` is that of the host in its class, ``place`` that of the disk or port, both from 0.
    """
    fraction = 1.0
    for entry in host.degraded:
        if (entry.host, entry.part) == (index, part) and entry.index in (None, place):
            fraction *= entry.to
    return fraction


def disk_groups(
    host: HostClass, index: int, uses: Sequence[str] = ("data",)
) -> Iterator[tuple[Disk, list[float]]]:
    """The groups of disks of one host with one of the uses, and what each disk keeps."""
    place = 0
    for group in host.disks or ():
        if group.use in uses:
            places = range(place, place + group.count)
            yield group, [remaining(host, index, "disk", one) for one in places]
        place += group.count


def controller_bytes_s(host: HostClass) -> float | None:
    """The joint limit of all data disks of a host; None unless every group has a limit."""
    groups = [disk.controller_rate for disk in host.disks or () if disk.use == "data"]
    known = [limit for limit in groups if limit is not None]
    return float(sum(known)) if known and len(known) == len(groups) else None


def disk_bytes_s(
    host: HostClass, index: int, uses: Sequence[str] = ("data",)
) -> tuple[float | None, float | None]:
    """Read and write rate of all disks of one host together; None if a disk does not state it.

    Data disks are limited by their controller. A host without such disks has no known rate.
    """
    reads: list[float | None] = []
    writes: list[float | None] = []
    for group, left in disk_groups(host, index, uses):
        parts = array_parts(group.layout, group.count)
        reads.append(None if group.read_rate is None else group.read_rate * sum(left) * parts.reads)
        rate = group.write_rate
        writes.append(None if rate is None else rate * sum(left) * parts.writes)
    limit = controller_bytes_s(host) if "data" in uses else None
    return _total(reads, limit), _total(writes, limit)


def _total(rates: Sequence[float | None], limit: float | None) -> float | None:
    known = [rate for rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    return sum(known) if limit is None else min(sum(known), limit)


def nic_bytes_s(cluster: Cluster, name: str, index: int) -> float | None:
    """The rate of all ports of a host: as measured or described, at most that of the switch.

    None if the rate of a port is unknown, or if the host has no ports.
    """
    host = cluster.hosts[name]
    port = port_bytes_s(cluster, name, index)
    total, place = 0.0, 0
    for nic in host.nics or ():
        limits = [limit for limit in (nic.rate, nic.measured_rate, port) if limit is not None]
        if not limits:
            return None
        for _ in range(nic.count):
            total += min(limits) * remaining(host, index, "nic", place)
            place += 1
    return total or None


def port_bytes_s(cluster: Cluster, name: str, index: int) -> float | None:
    """The rate of a port of the switch of a host: that of its rack, if the rack has a switch."""
    network = cluster.network
    if network is None:
        return None
    rack = network.racks.get(cluster.rack_of(name, index) or "")
    switch = (rack and rack.switch) or network.switch
    return None if switch is None or switch.port_rate is None else float(switch.port_rate)


def oversubscription(cluster: Cluster) -> float | None:
    """The rates of the NICs of a rack divided by its uplink, of the rack with the most.

    It is that of the description, or computed from the nominal rates of the NICs. None with less
    than two racks, or if no rack has a known uplink.
    """
    network = cluster.network
    behind: dict[str, float] = {}
    for name, host in cluster.hosts.items():
        rate = sum((nic.rate or nic.measured_rate or 0) * nic.count for nic in host.nics or ())
        for index in range(host.count):
            place = cluster.rack_of(name, index)
            if place is not None:
                behind[place] = behind.get(place, 0.0) + rate
    if network is None or len(behind) < 2:
        return None
    found = []
    for place, rates in behind.items():
        rack = network.racks.get(place)
        uplink = (rack and rack.uplink) or network.uplink
        factor = (rack and rack.oversubscription) or network.oversubscription
        if uplink and rates:
            found.append(rates / uplink)
        elif factor and not uplink:
            found.append(factor)
    return max(found, default=None)
