"""Degraded hardware: components that work, but are slow or full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, PositiveInt

from windtunnel.cluster import ROLES, Cluster, Fraction, format_fraction
from windtunnel.engines.faults import Faulty, Part, Undo
from windtunnel.study.faults.base import Options, holders, node_of, unknown_host
from windtunnel.study.faults.detection import Detection, full_disk


class OnWorker(Options):
    """Base of the faults of the hardware of one host."""

    host: str | None = Field(None, description="The host; default: the last one that holds data.")

    def on(self, cluster: Cluster) -> str:
        """The host."""
        holder = ROLES.holder(cluster.storage.kind) or "datanode"
        return self.host or next(reversed(holders(cluster, holder)), "no host")

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host must be in the description."""
        if node_of(cluster, self.on(cluster)) is None:
            yield unknown_host(cluster, self.on(cluster))


class OnDisk(OnWorker):
    """Base of the faults of one disk."""

    part: ClassVar[Part] = "disks"

    disk: PositiveInt = Field(1, description="Number of the data disk of the host, from 1.")

    def target(self, cluster: Cluster) -> str:
        """The disk and its host."""
        return f"disk {self.disk} of {self.on(cluster)}"

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host must have that many data disks."""
        yield from super().problems(cluster)
        node = node_of(cluster, self.on(cluster))
        count = _disks(cluster, node.class_name) if node is not None else self.disk
        if self.disk > count:
            yield f"{self.on(cluster)} has {count} data disk{'s' * (count != 1)}"


class SlowDisk(OnDisk):
    """A fail-slow disk: it reads and writes at a fraction of its rates."""

    hidden: ClassVar[str] = "tasks and transfers are slower"

    kind: Literal["slow-disk"] = Field(description="Name of the fault.")
    to: Fraction = Field(
        "10 %", description="Remaining fraction of its rates.", gt=0, lt=1, validate_default=True
    )

    def does(self) -> str:
        """Slow."""
        return f"slowed to {format_fraction(self.to)}"

    def inject(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Reduce its rates."""
        return faulty.slow_disk(self.on(cluster), self.disk, self.to)


class SlowNic(OnWorker):
    """A fail-slow NIC: it sends and receives at a fraction of its rate."""

    part: ClassVar[Part] = "NICs"
    hidden: ClassVar[str] = "tasks and transfers are slower"

    kind: Literal["slow-nic"] = Field(description="Name of the fault.")
    to: Fraction = Field(
        "10 %", description="Remaining fraction of its rate.", gt=0, lt=1, validate_default=True
    )

    def target(self, cluster: Cluster) -> str:
        """The NIC and its host."""
        return f"the NIC of {self.on(cluster)}"

    def does(self) -> str:
        """Slow."""
        return f"slowed to {format_fraction(self.to)}"

    def inject(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Reduce its rate."""
        return faulty.slow_nic(self.on(cluster), self.to)


class FillDisk(OnDisk):
    """A disk without free space."""

    kind: Literal["fill-disk"] = Field(description="Name of the fault.")
    to: Fraction = Field(
        "100 %", description="Fraction of the disk that is then used.", gt=0, validate_default=True
    )

    def does(self) -> str:
        """Full."""
        return f"filled to {format_fraction(self.to)}"

    def inject(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Fill the disk."""
        return faulty.fill_disk(self.on(cluster), self.disk, self.to)

    def detections(self, cluster: Cluster) -> Iterator[Detection]:
        """The daemons on the host notice that it is full."""
        node = node_of(cluster, self.on(cluster))
        yield from full_disk(cluster, node.roles if node else (), self.to)


def _disks(cluster: Cluster, class_name: str) -> int:
    """Number of data disks that a host has; an array counts as one."""
    groups = [disk for disk in cluster.hosts[class_name].disks or () if disk.use == "data"]
    return sum(disk.count if disk.layout in (None, "jbod") else 1 for disk in groups)
