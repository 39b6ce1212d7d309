"""The plan of a fabric: plain data in bytes, bytes/s, cores and seconds; None is unlimited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DiskPlan:
    """One disk of a host: a file system of its own, limited in both directions."""

    name: str
    size_bytes: int
    read_bytes_s: float | None = None
    write_bytes_s: float | None = None
    read_iops: int | None = None
    write_iops: int | None = None


def raid0(name: str, disks: Sequence[DiskPlan]) -> DiskPlan:
    """Disks striped into one: sizes and rates are summed. (JBOD uses single disks instead.)"""

    def total(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    read_iops = total([disk.read_iops for disk in disks])
    write_iops = total([disk.write_iops for disk in disks])
    return DiskPlan(
        name,
        sum(disk.size_bytes for disk in disks),
        total([disk.read_bytes_s for disk in disks]),
        total([disk.write_bytes_s for disk in disks]),
        None if read_iops is None else int(read_iops),
        None if write_iops is None else int(write_iops),
    )


@dataclass(frozen=True)
class GuestPlan:
    """A virtual machine, limited within its host's limits; ``disks``: host disks, () for all."""

    name: str
    cpu_cores: float | None = None
    cpuset: tuple[int, ...] = ()
    memory_bytes: int | None = None
    disks: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostPlan:
    """One host. If it has guests, processes run in the guests and share the host's limits.

    ``cpuset`` holds numbers of the machine's CPUs, () for all; ``memory_bytes`` limits processes
    and page cache together; half of ``latency_s`` is added to outgoing and half to incoming
    packets.
    """

    name: str
    rack: str
    cpu_cores: float | None = None
    cpuset: tuple[int, ...] = ()
    memory_bytes: int | None = None
    disks: tuple[DiskPlan, ...] = ()
    controller_bytes_s: float | None = None
    nic_bytes_s: float | None = None
    mtu: int = 1500
    latency_s: float = 0.0
    guests: tuple[GuestPlan, ...] = ()


@dataclass(frozen=True)
class RackPlan:
    """One rack; ``uplink_bytes_s`` applies to each direction between it and all others."""

    name: str
    uplink_bytes_s: float | None = None


@dataclass(frozen=True)
class FabricPlan:
    """All hosts and racks. ``file_system`` of the disks: ext4 or xfs."""

    hosts: tuple[HostPlan, ...]
    racks: tuple[RackPlan, ...]
    file_system: str = "ext4"
