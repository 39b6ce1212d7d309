"""Hosts by class: CPU, memory, disks, NICs, virtual machines, roles, price and power.

Almost all keys are optional: a missing value is *unknown*; there are no default values.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from windtunnel.cluster.quantity import (
    ByteSize,
    Duration,
    Fraction,
    Frequency,
    LinkRate,
    Money,
    Power,
    Price,
    Rate,
)
from windtunnel.cluster.roles import Role
from windtunnel.cluster.validation_messages import blame

Count = Annotated[int, Field(strict=True, ge=1, le=100_000)]
Index = Annotated[int, Field(strict=True, ge=0)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$", max_length=40)]


class Part(BaseModel):
    """Base of every part of a description: closed and immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# Work of a core that runs two threads, relative to one: TeraSort of 1 TB took 22.33 min without
# and 17.97 min with Hyper-Threading (Cisco 2014, tests 7 and 6, E5-2690 v2).
SMT_GAIN = 1.24


class Cpu(Part):
    """Processors of one host."""

    model: str | None = Field(None, description="Name of the model; not used in computations.")
    sockets: Count | None = Field(None, description="Processors of the host.")
    cores_per_socket: Count | None = Field(None, description="Physical cores of a processor.")
    threads_per_core: Annotated[int, Field(strict=True, ge=1, le=8)] | None = Field(
        None, description="Hardware threads of a core; 1 if SMT (Hyper-Threading) is off."
    )
    clock: Frequency | None = Field(None, description="Base clock.")
    turbo: Frequency | None = Field(None, description="Clock in turbo mode; predictions use it.")
    tdp: Power | None = Field(
        None, description="Thermal design power of a processor; not used in computations."
    )

    @property
    def cores(self) -> int | None:
        """Physical cores of the host, if known."""
        if self.sockets is None or self.cores_per_socket is None:
            return None
        return self.sockets * self.cores_per_socket

    @property
    def threads(self) -> int | None:
        """Hardware threads of the host, if known."""
        if self.cores is None or self.threads_per_core is None:
            return None
        return self.cores * self.threads_per_core

    @property
    def work(self) -> float | None:
        """The work of all hardware threads, in cores that run one thread; None if unknown."""
        if self.cores is None or self.threads_per_core is None:
            return None
        return self.cores * (SMT_GAIN if self.threads_per_core > 1 else 1.0)

    @model_validator(mode="after")
    def _turbo_above_clock(self) -> Cpu:
        if self.clock is not None and self.turbo is not None and self.turbo < self.clock:
            raise blame("the turbo clock is below the base clock", "turbo")
        return self


class Disk(Part):
    """Equal disks of one host. Rates and ``iops`` are of one disk, ``controller_rate`` of all."""

    kind: Literal["hdd", "ssd", "nvme"] | None = Field(
        None, description="Kind of the disks; predictions use it."
    )
    count: Count = Field(1, description="Number of these disks in each host.")
    model: str | None = Field(None, description="Name of the model; not used in computations.")
    use: Literal["data", "os", "metadata", "journal"] = Field(
        "data", description="Purpose. Only `data` disks hold the data of HDFS, Ceph or Ozone."
    )
    size: ByteSize | None = Field(None, description="Capacity of one disk.")
    read_rate: Rate | None = Field(None, description="Sequential read rate of one disk.")
    write_rate: Rate | None = Field(None, description="Sequential write rate of one disk.")
    iops: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = Field(
        None, description="Operations per second of one disk."
    )
    rpm: Count | None = Field(None, description="Revolutions per minute; predictions use it.")
    interface: str | None = Field(None, description="Such as `SAS`; not used in computations.")
    layout: Literal["jbod", "raid0", "raid1", "raid5", "raid6", "raid10"] | None = Field(
        None,
        description="How the disks are combined; `jbod` (the default) means separate disks. "
        "`local` and predictions treat all disks as separate.",
    )
    filesystem: str | None = Field(
        None,
        description="File system of the described cluster; not used in computations. For scale "
        "models, see `storage.file_system`.",
    )
    controller: str | None = Field(
        None, description="Name of the controller; not used in computations."
    )
    controller_rate: Rate | None = Field(
        None, description="Limit of all disks of the controller together."
    )
    write_cache: ByteSize | None = Field(
        None, description="Write cache of the controller; no testbed supports it."
    )


class Nic(Part):
    """Equal network ports of one host. ``rate`` and ``measured_rate`` are those of one port."""

    rate: LinkRate | None = Field(None, description="Nominal rate of one port.")
    count: Count = Field(1, description="Number of these ports in each host.")
    model: str | None = Field(None, description="Name of the model; not used in computations.")
    mtu: Annotated[int, Field(strict=True, ge=576, le=65_535)] | None = Field(
        None, description="Largest packet, in bytes; 1,500 if unknown."
    )
    measured_rate: LinkRate | None = Field(
        None, description="Measured rate of one port, if it is lower than `rate`."
    )


class Guest(Part):
    """Equal virtual machines of one host."""

    name: Name = Field(
        "vm", description="Name of the virtual machines: `vm` becomes `worker-1-vm-1`."
    )
    count: Count = Field(1, description="Number of these virtual machines in each host.")
    vcpus: Count | None = Field(None, description="Virtual cores of one virtual machine.")
    memory: ByteSize | None = Field(None, description="Memory of one virtual machine.")
    disks: tuple[Disk, ...] | None = Field(None, description="Disks of each virtual machine.")
    pinned: Literal["no", "socket"] | None = Field(
        None,
        description="`socket`: the virtual machines are assigned to the sockets in turn and stay "
        "there. Scale models do not support it.",
    )
    roles: tuple[Role, ...] | None = Field(
        None, description="Roles of the virtual machines; default: those of the host."
    )


class HostPower(Part):
    """Electrical power of one host."""

    idle: Power | None = Field(None, description="Power of an idle host.")
    peak: Power | None = Field(None, description="Power of a host at full load.")

    @model_validator(mode="after")
    def _peak_above_idle(self) -> HostPower:
        if self.idle is not None and self.peak is not None and self.peak < self.idle:
            raise blame("the peak power is below the idle power", "peak")
        return self


class Degraded(Part):
    """One part of one host that is slower than described by its class: a degraded disk or port."""

    host: Index = Field(description="Index of the host in its class, from 0.")
    part: Literal["cpu", "disk", "nic"] = Field(description="Part of the host that is slower.")
    index: Index | None = Field(
        None, description="Index of the disk or port, from 0; default: all of the host."
    )
    to: Fraction = Field(description="Remaining fraction of the rate.")
    latency: Duration | None = Field(
        None, description="Additional latency; no testbed supports it."
    )


class HostClass(Part):
    """``count`` equal hosts: their hardware and their roles."""

    count: Count = Field(description="Number of these hosts.")
    roles: tuple[Role, ...] = Field((), description="Daemons that run on each of these hosts.")
    extra_roles: dict[Annotated[int, Field(ge=0)], tuple[Role, ...]] = Field(
        default_factory=dict, description="Additional roles of single hosts, by index from 0."
    )
    model: str | None = Field(
        None, description="Name of the server model; not used in computations."
    )
    cpu: Cpu | None = Field(None, description="Processors.")
    memory: ByteSize | None = Field(None, description="Memory of one host.")
    disks: tuple[Disk, ...] | None = Field(None, description="Groups of equal disks.")
    nics: tuple[Nic, ...] | None = Field(None, description="Groups of equal network ports.")
    vms: tuple[Guest, ...] = Field(
        (), description="Groups of virtual machines; the daemons then run in them."
    )
    price: Price | None = Field(None, description="Price of one host.")
    price_parts: dict[str, Price] = Field(
        default_factory=dict, description="Prices of the parts of one host, instead of `price`."
    )
    power: HostPower | None = Field(None, description="Electrical power of one host.")
    degraded: tuple[Degraded, ...] = Field(
        (), description="Parts of single hosts that are slower than described."
    )

    @property
    def host_price(self) -> Money | None:
        """The price of one host: as given, or the sum of its parts; None if unknown."""
        parts = list(self.price_parts.values())
        if self.price is not None or not parts:
            return self.price
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def host_name(self, class_name: str, index: int) -> str:
        """``master`` if the class has one host, else ``worker-1``, ``worker-2``, ..."""
        return class_name if self.count == 1 else f"{class_name}-{index + 1}"

    def roles_of(self, index: int) -> tuple[Role, ...]:
        """The roles of the host with the number ``index`` (from 0)."""
        return tuple(dict.fromkeys((*self.roles, *self.extra_roles.get(index, ()))))

    @property
    def common_roles(self) -> frozenset[str]:
        """The roles that each host of the class has, itself or in its virtual machines."""
        groups = [guest.roles for guest in self.vms] or [None]
        return frozenset(r for own in groups for r in (self.roles if own is None else own))

    def role_counts(self) -> Counter[str]:
        """Number of nodes (hosts, or VMs if there are any) of the class with each role."""
        groups = [(guest.count, guest.roles) for guest in self.vms] or [(1, None)]
        counts: Counter[str] = Counter()
        for number, own in groups:
            for role in set(self.roles if own is None else own):
                counts[role] += number * self.count
        first = groups[0][1]  # The first VM of a host has its extra roles.
        held = set(self.roles if first is None else first)
        for extra in self.extra_roles.values():
            counts.update(set(extra) - held)
        return counts

    @model_validator(mode="after")
    def _consistent(self) -> HostClass:
        if not self.roles and not self.extra_roles:
            remedy = "add a line such as 'roles: [datanode, nodemanager]'"
            raise blame("a host class needs at least one role", "roles", remedy=remedy)
        for index in self.extra_roles:
            self._check_host(index, "extra_roles", str(index))
        for position, entry in enumerate(self.degraded):
            self._check_host(entry.host, "degraded", position, "host")
            self._check_part(entry, "degraded", position, "index")
        if self.price is not None and self.price_parts:
            remedy = "keep the price of the host or the prices of its parts"
            raise blame("'price' and 'price_parts' exclude each other", "price", remedy=remedy)
        currencies = {price.currency for price in self.price_parts.values()}
        if len(currencies) > 1:
            names = " and ".join(sorted(currencies))
            raise blame(
                f"prices in {names} cannot be added", "price_parts", remedy="use one currency"
            )
        names_seen: set[str] = set()
        for position, guest in enumerate(self.vms):
            if guest.name in names_seen:
                raise blame(
                    f"there are two groups of VMs named '{guest.name}'", "vms", position, "name"
                )
            names_seen.add(guest.name)
        return self

    def _check_host(self, index: int, *loc: str | int) -> None:
        if index >= self.count:
            raise blame(
                f"there is no host {index}: the class has {self.count}, counted from 0", *loc
            )

    def _check_part(self, entry: Degraded, *loc: str | int) -> None:
        group = {"disk": self.disks, "nic": self.nics}.get(entry.part)
        if entry.index is None or group is None:
            return
        total = sum(item.count for item in group)
        if entry.index >= total:
            raise blame(
                f"there is no {entry.part} {entry.index}: the host has {total}, counted from 0",
                *loc,
            )
