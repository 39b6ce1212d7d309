"""Hardware that limps or is full: a part that answers, and does less than it should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster, Fraction, format_fraction
from windtunnel.engines.faulty import Faulty, Part, Undo
from windtunnel.study.faults.base import Options, holders, node_of, unknown_host


class OnWorker(Options):
    """Base of the faults of one host's hardware."""

    host: str | None = Field(None, description="The host; left out: the last with a DataNode.")

    def on(self, cluster: Cluster) -> str:
        """The host."""
        return self.host or next(reversed(holders(cluster, "datanode")), "no host")

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host must be there."""
        if node_of(cluster, self.on(cluster)) is None:
            yield unknown_host(cluster, self.on(cluster))


class OnDisk(OnWorker):
    """Base of the faults of one disk."""

    part: ClassVar[Part] = "disks"

    disk: PositiveInt = Field(1, description="Which of the host's data disks, counted from 1.")

    def target(self, cluster: Cluster) -> str:
        """The disk and its host."""
        return f"disk {self.disk} of {self.on(cluster)}"

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host must have so many disks for data."""
        yield from super().problems(cluster)
        node = node_of(cluster, self.on(cluster))
        count = _disks(cluster, node.class_name) if node is not None else self.disk
        if self.disk > count:
            yield f"{self.on(cluster)} has {count} disk{'s' * (count != 1)} for data"


class SlowDisk(OnDisk):
    """A limping disk: it reads and writes at a share of its rates."""

    kind: Literal["slow-disk"] = Field(description="Name of the fault.")
    to: Fraction = Field(
        "10 %", description="The share of its rates that is left.", gt=0, validate_default=True
    )

    def does(self) -> str:
        """It is slow."""
        return f"slowed to {format_fraction(self.to)}"

    def strike(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Slow it."""
        return faulty.slow_disk(self.on(cluster), self.disk, self.to)


class SlowNic(OnWorker):
    """A limping NIC: it sends and receives at a share of its rate."""

    part: ClassVar[Part] = "NICs"

    kind: Literal["slow-nic"] = Field(description="Name of the fault.")
    to: Fraction = Field(
        "10 %", description="The share of its rate that is left.", gt=0, validate_default=True
    )

    def target(self, cluster: Cluster) -> str:
        """The NIC and its host."""
        return f"the NIC of {self.on(cluster)}"

    def does(self) -> str:
        """It is slow."""
        return f"slowed to {format_fraction(self.to)}"

    def strike(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Slow it."""
        return faulty.slow_nic(self.on(cluster), self.to)


class FillDisk(OnDisk):
    """A disk without free space."""

    kind: Literal["fill-disk"] = Field(description="Name of the fault.")
    to: Fraction = Field(
        "100 %", description="The share of the disk that is then taken.", validate_default=True
    )

    def does(self) -> str:
        """It is full."""
        return f"filled to {format_fraction(self.to)}"

    def strike(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Fill it."""
        return faulty.fill_disk(self.on(cluster), self.disk, self.to)


def _disks(cluster: Cluster, class_name: str) -> int:
    """Disks for data as a host shows them: an array is one."""
    groups = [disk for disk in cluster.hosts[class_name].disks or () if disk.use == "data"]
    return sum(disk.count if disk.layout in (None, "jbod") else 1 for disk in groups)
