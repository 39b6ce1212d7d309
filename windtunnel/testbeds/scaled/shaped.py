"""The calibrated resources of a fabric, and the probes that measure each.

The fabric has instruments in addition to its hosts: one unlimited host in each rack and two in a
separate rack, so that the peer does not limit the measurement of a NIC or uplink.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from windtunnel.hosts.fabric.network import ends
from windtunnel.hosts.fabric.plan import DiskPlan, FabricPlan, GuestPlan, HostPlan, RackPlan

How = Literal["write buffered", "read cold", "write direct"]
Stage = Literal["network", "write buffered", "read cold", "write direct", "operations", "CPU"]
HOWS: tuple[How, ...] = ("write buffered", "read cold", "write direct")  # reads what was written
STAGES: tuple[Stage, ...] = ("network", *HOWS, "operations", "CPU")
FAR, FARTHER = "wt-instrument", "wt-instrument-2"
MACHINE_DISK = "machine"
MACHINE = "machine"
PAGE_BYTES = 4096
_FIRST_PAIR_TURN = 4  # after NICs and uplinks, each out and in


@dataclass(frozen=True)
class Flow:
    """A stream from one network end to another."""

    source: str
    target: str


@dataclass(frozen=True)
class Blocks:
    """A file on a disk that a host or guest writes or reads.

    With ``operations``, the probe counts single pages, otherwise bytes.
    """

    end: str
    disk: str
    how: How
    operations: bool = False


@dataclass(frozen=True)
class Spin:
    """Busy loops in a host or guest."""

    end: str
    processes: int


Probe = Flow | Blocks | Spin


@dataclass(frozen=True)
class Shaped:
    """A resource of the model and its set rate; None if it is unlimited.

    ``shares`` are the rates of its probes if there are several. Resources of one ``group`` are
    measured at the same time, those of one ``stage`` and ``turn`` can be. ``built`` distinguishes
    resources with the same name on hosts of different builds.
    """

    kind: str
    name: str
    set: float | None
    unit: str
    probes: tuple[Probe, ...]
    stage: Stage
    group: str
    turn: int = 0
    built: tuple[str, ...] = ()
    shares: tuple[float | None, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for resources that need only one measurement."""
        if self.set is None:
            return (self.kind, self.name if self.kind == MACHINE else None)
        return (self.kind, self.name, self.set, self.built)


def instrumented(plan: FabricPlan, disk_bytes: int) -> FabricPlan:
    """The plan with instruments, equal disk sizes, and without CPU and memory limits of hosts.

    CPU limits would slow down the other probes; they are set only for their own measurement.
    """
    hosts = [
        replace(
            host,
            cpu_cores=None,
            memory_bytes=None,
            disks=tuple(replace(disk, size_bytes=disk_bytes) for disk in host.disks),
            guests=tuple(replace(guest, memory_bytes=None) for guest in host.guests),
        )
        for host in plan.hosts
    ]
    near = [HostPlan(name, rack) for rack, name in instruments(plan).items()]
    disk = DiskPlan(MACHINE_DISK, disk_bytes)
    far = HostPlan(FAR, FAR + "s", disks=(disk,)), HostPlan(FARTHER, FAR + "s")
    racks = (*plan.racks, RackPlan(FAR + "s"))
    return replace(plan, hosts=(*hosts, *near, *far), racks=racks)


def instruments(plan: FabricPlan) -> dict[str, str]:
    """The name of the instrument of each rack."""
    return {rack.name: f"wt-at-{rack.name}" for rack in plan.racks}


def machine_limits(processors: int) -> list[Shaped]:
    """The resources of the host machine without limits: its network, disk and CPUs."""
    flow = (Flow(FARTHER, FAR),)
    found = [Shaped(MACHINE, "network", None, "bytes/s", flow, "network", "network")]
    for how in HOWS:
        probe = Blocks(FAR, MACHINE_DISK, how)
        found.append(Shaped(MACHINE, f"disk {how}", None, "bytes/s", (probe,), how, "disk"))
    spin = (Spin(FAR, processors),)
    return [*found, Shaped(MACHINE, "CPU", None, "cores", spin, "CPU", "CPU")]


def parts_of(plan: FabricPlan) -> Iterator[Shaped]:
    """All limited resources of a plan, and one unlimited resource of each kind."""
    yield from itertools.chain(_nics(plan), _uplinks(plan), _pairs(plan))
    for host in plan.hosts:
        yield from _disks(host)
        yield from _cpus(host)


def new_parts(plans: Iterable[FabricPlan]) -> Iterator[tuple[FabricPlan, list[Shaped]]]:
    """Each plan with the resources that no earlier plan has."""
    seen: set[tuple[object, ...]] = set()
    for plan in plans:
        new = {part.key: part for part in parts_of(plan) if part.key not in seen}
        seen |= new.keys()
        yield plan, list(new.values())


def _nics(plan: FabricPlan) -> Iterator[Shaped]:
    near = instruments(plan)
    for host in plan.hosts:
        end, other = ends(host)[0], near[host.rack]
        ways = {"out": Flow(end, other), "in": Flow(other, end)}
        for turn, (way, flow) in enumerate(ways.items()):
            yield Shaped(
                "NIC",
                f"{host.name} {way}",
                host.nic_bytes_s,
                "bytes/s",
                (flow,),
                "network",
                host.name,
                turn,
                _build(host),
            )


def _uplinks(plan: FabricPlan) -> Iterator[Shaped]:
    for rack, end in instruments(plan).items():
        rate = next(r.uplink_bytes_s for r in plan.racks if r.name == rack)
        ways = {"out": Flow(end, FAR), "in": Flow(FAR, end)}
        for turn, (way, flow) in enumerate(ways.items(), start=2):
            name = f"{rack} {way}"
            yield Shaped("uplink", name, rate, "bytes/s", (flow,), "network", rack, turn)


def _pairs(plan: FabricPlan) -> Iterator[Shaped]:
    """One pair of hosts, in both directions, for each class of pairs and each rate in it."""
    uplinks = {rack.name: rack.uplink_bytes_s for rack in plan.racks}
    members = [(end, host) for host in plan.hosts for end in ends(host)]
    seen: set[tuple[str, float | None]] = set()
    for (one, host), (other, peer) in itertools.combinations(members, 2):
        kind = _class_of(host, peer)
        rates = [] if host is peer else [host.nic_bytes_s, peer.nic_bytes_s]
        if host.rack != peer.rack:
            rates += [uplinks[host.rack], uplinks[peer.rack]]
        rate = min((rate for rate in rates if rate is not None), default=None)
        if (kind, rate) in seen:
            continue
        turn = _FIRST_PAIR_TURN + 2 * len(seen)
        seen.add((kind, rate))
        for way, (source, target) in enumerate(((one, other), (other, one))):
            name = f"{source} to {target}"
            flow = (Flow(source, target),)
            yield Shaped(kind, name, rate, "bytes/s", flow, "network", kind, turn + way)


def _class_of(host: HostPlan, peer: HostPlan) -> str:
    if host is peer:
        return "guests of one host"
    if host.guests and peer.guests:
        return "guests of two hosts"
    return "same rack" if host.rack == peer.rack else "across racks"


def _disks(host: HostPlan) -> Iterator[Shaped]:
    """Each disk, and all disks of a host together; disks of one controller in different turns."""
    built = _build(host)
    shared = host.controller_bytes_s
    for how in HOWS:
        rates = [
            disk.read_bytes_s if how == "read cold" else disk.write_bytes_s for disk in host.disks
        ]
        probes = [Blocks(_user(host, disk), disk.name, how) for disk in host.disks]
        for place, (probe, rate) in enumerate(zip(probes, rates, strict=True)):
            name, kind = f"{host.name} {probe.disk}", f"disk {how}"
            turn = 0 if shared is None else 1 + place
            set_ = _least(rate, shared)
            yield Shaped(kind, name, set_, "bytes/s", (probe,), how, host.name, turn, built)
        if len(probes) > 1:
            kind, total = f"all disks, {how}", _least(_sum(rates), shared)
            every = tuple(probes)
            shares = _shares(rates, total)
            yield Shaped(kind, host.name, total, "bytes/s", every, how, host.name, 0, built, shares)
    yield from _operations(host)


def _operations(host: HostPlan) -> Iterator[Shaped]:
    built = _build(host)
    for disk in host.disks:
        ways: dict[How, int | None]
        ways = {"write direct": disk.write_iops, "read cold": disk.read_iops}
        for turn, (how, rate) in enumerate(ways.items()):
            if rate is None:
                continue
            probes = (Blocks(_user(host, disk), disk.name, how, operations=True),)
            kind, name = f"disk {how.split()[0]} operations", f"{host.name} {disk.name}"
            set_ = float(rate)
            yield Shaped(kind, name, set_, "1/s", probes, "operations", name, turn, built)


def _cpus(host: HostPlan) -> Iterator[Shaped]:
    """The quota of a host, and those of its guests."""
    members: list[HostPlan | GuestPlan] = [*host.guests] or [host]
    total = _least(_sum([member.cpu_cores for member in members]), host.cpu_cores)
    built = _build(host)
    if total is not None:
        spins = tuple(
            Spin(member.name, math.ceil(_least(member.cpu_cores, total) or 1)) for member in members
        )
        yield Shaped("CPU", host.name, total, "cores", spins, "CPU", host.name, 0, built)
    for turn, guest in enumerate(host.guests, start=1):
        quota = _least(guest.cpu_cores, host.cpu_cores)
        if quota is not None and len(members) > 1:
            spin = (Spin(guest.name, math.ceil(quota)),)
            yield Shaped("CPU", guest.name, quota, "cores", spin, "CPU", host.name, turn, built)


def _user(host: HostPlan, disk: DiskPlan) -> str:
    """The host, or the first guest that uses the disk."""
    users = [guest.name for guest in host.guests if disk.name in (guest.disks or (disk.name,))]
    return users[0] if users else host.name


def _build(host: HostPlan) -> tuple[str, ...]:
    return tuple(guest.name for guest in host.guests)


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum; None (unlimited) if a value is None or there are no values."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _shares(rates: Sequence[float | None], total: float | None) -> tuple[float | None, ...]:
    """The rate of each disk when all are used: equal parts, but at most its own limit."""
    if total is None:
        return tuple(rates)
    shares, left = [0.0] * len(rates), total
    most = [math.inf if rate is None else rate for rate in rates]
    for done, place in enumerate(sorted(range(len(most)), key=most.__getitem__)):
        shares[place] = min(most[place], left / (len(most) - done))
        left -= shares[place]
    return tuple(shares)


def _least(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)


def batches(
    parts: Iterable[Shaped], capacity: Mapping[Stage, float]
) -> Iterator[tuple[Stage, list[Shaped]]]:
    """The resources that are measured at the same time, within the capacity of the host machine.

    Parameters
    ----------
    capacity:
        The maximum sum of the rates of a batch, for each stage. A group that exceeds it is measured
        alone, as is an unlimited resource.
    """
    kept = list(parts)
    for stage in STAGES:
        mine = [part for part in kept if part.stage == stage]
        for turn in sorted({part.turn for part in mine}):
            groups: dict[str, list[Shaped]] = {}
            for part in mine:
                if part.turn == turn:
                    groups.setdefault(part.group, []).append(part)
            batch: list[Shaped] = []
            load = 0.0
            for group in groups.values():
                demand = max(math.inf if part.set is None else part.set for part in group)
                several = sum(part.set or 0.0 for part in group if len(part.probes) == 1)
                demand = max(demand, several)
                if batch and load + demand > capacity.get(stage, math.inf):
                    yield stage, batch
                    batch, load = [], 0.0
                batch += group
                load += demand
            if batch:
                yield stage, batch
