"""The capacities of the parts of hosts, as means over the hosts of classes.

Unknown values get a default; :class:`Notes` has a line for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from windtunnel.cluster import Disk, HostClass, host_rates
from windtunnel.cluster.host_counts import Classes
from windtunnel.model.uplinks import port_rate

# Part of the step from the base clock to the highest turbo clock that remains with all cores
# active: mean over the 5 processors of Cisco 2014 (turbo bins of the report, section 3.1).
TURBO_HELD = 0.45
RPM = 7200.0  # the speed to which the rates of disks in constants.py refer
DEFAULT_CLOCK_GHZ = 2.5
DEFAULT_CORES = 8
DEFAULT_MEMORY_BYTES = 16 * 2.0**30
DEFAULT_NIC_BYTES_S = 1.25e9
SSD_RATE = 450e6  # bytes/s of one SATA solid-state disk; measured ones reach 400 to 520 MB/s
NVME_RATE = 1.5e9  # bytes/s of one drive on PCIe 3.0 with four lanes, half of its largest rate


@dataclass
class Notes:
    """Defaults that were assumed, each once."""

    lines: dict[str, None] = field(default_factory=dict)

    def add(self, what: str) -> None:
        """Note a default, once."""
        self.lines[what] = None


def mean(classes: Classes, value: Callable[[HostClass], float]) -> float:
    """The mean of a value over all hosts of the classes."""
    total = sum(count for _, _, count in classes)
    return float(sum(value(one) * count for _, one, count in classes) / total)


def cores(one: HostClass, notes: Notes) -> float:
    """Cores of a host; the virtual ones if its processors are unknown."""
    cpu = one.cpu
    if cpu is not None and cpu.cores is not None:
        return cpu.cores * _left(one, "cpu")
    vcpus = sum((guest.vcpus or 0) * guest.count for guest in one.vms)
    if vcpus:
        return float(vcpus)
    sockets = (cpu.sockets if cpu else None) or 1
    notes.add(f"cores of a processor unknown: {DEFAULT_CORES} in each socket")
    return float(sockets * DEFAULT_CORES)


def threads_per_core(one: HostClass) -> float:
    """Hardware threads of a core; 1 if unknown."""
    return float((one.cpu and one.cpu.threads_per_core) or 1)


def clock_ghz(one: HostClass, notes: Notes) -> float:
    """The clock with all cores active, GHz."""
    cpu = one.cpu
    if cpu is None or cpu.clock is None:
        notes.add(f"clock of the processors unknown: {DEFAULT_CLOCK_GHZ} GHz")
        return DEFAULT_CLOCK_GHZ
    turbo = cpu.turbo or cpu.clock
    return float(cpu.clock + TURBO_HELD * (turbo - cpu.clock)) / 1e9


def memory_bytes(one: HostClass, notes: Notes) -> float:
    """Memory of a host, bytes."""
    if one.memory is None:
        notes.add("memory of the hosts unknown: 16 GiB")
        return DEFAULT_MEMORY_BYTES
    return float(one.memory)


def nic_bytes_s(one: HostClass, notes: Notes) -> float:
    """Rate of all ports of a host in one direction, bytes/s."""
    total, place = 0.0, 0
    for port in one.nics or ():
        for _ in range(port.count):
            total += (port_rate(port) or 0.0) / port.count * _left(one, "nic", place)
            place += 1
    if not total:
        notes.add("rate of the NICs unknown: 10 Gb/s")
        return DEFAULT_NIC_BYTES_S
    return total


def _left(one: HostClass, part: Literal["cpu", "disk", "nic"], place: int = 0) -> float:
    """The remaining fraction of a component (by index from 0), as mean over the hosts."""
    hosts = {entry.host for entry in one.degraded}
    lost = sum(1.0 - host_rates.remaining(one, host, part, place) for host in hosts)
    return max(0.05, 1.0 - lost / one.count)


def disks(
    classes: Classes, notes: Notes, uses: Sequence[str] = ("data",)
) -> tuple[float, float, float, float]:
    """Relative spindles, fixed read and write rate in bytes/s, and disks of a mean host."""
    spindles = read = write = count = 0.0
    hosts = sum(number for _, _, number in classes)
    for _, one, number in classes:
        if not any(disk.use in uses for disk in one.disks or ()):
            notes.add("data disks of a host unknown: one of 7200 rpm")
        for disk, place in _single_disks(one, uses):
            part = number * _left(one, "disk", place) / hosts
            count += number / hosts
            fixed = {"ssd": SSD_RATE, "nvme": NVME_RATE}.get(disk.kind or "hdd")
            # one stated rate limits both directions: volumes of clouds often state only one
            given = disk.read_rate or disk.write_rate or fixed
            if given is None:
                spindles += part * (disk.rpm or RPM) / RPM
            else:
                read += part * float(disk.read_rate or given)
                write += part * float(disk.write_rate or given)
    return spindles, read, write, count


def _single_disks(one: HostClass, uses: Sequence[str]) -> Iterator[tuple[Disk, int]]:
    """Each disk of a host with one of the uses, and its index from 0; one disk if none has."""
    place, found = 0, False
    for group in one.disks or ():
        for index in range(place, place + group.count):
            if group.use in uses:
                found = True
                yield group, index
        place += group.count
    if not found:
        yield Disk(kind="hdd"), 0


def controller_bytes_s(one: HostClass) -> float:
    """The joint limit of the data disks, bytes/s; infinite unless every group has a limit."""
    limit = host_rates.controller_bytes_s(one)
    return math.inf if limit is None else limit
