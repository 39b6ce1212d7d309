"""Storage that is taken out of service while its daemon runs, and put into service again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from windtunnel.cluster import Cluster
from windtunnel.engines.faults import Faulty, Part, Undo
from windtunnel.engines.storage_systems import storage_of
from windtunnel.study.faults.base import Options, holders, node_of, unknown_host
from windtunnel.study.faults.detection import Detection, decommissioned

# Storage plans the copies within a few seconds; until then it may report that nothing is missing.
_PLANNED_S = 5.0


class Decommission(Options):
    """The data of a host is copied to the others; with `lasts`, the host is then put back."""

    part: ClassVar[Part] = "daemons"
    removes_replicas: ClassVar[bool] = True
    moves_data: ClassVar[bool] = True

    kind: Literal["decommission"] = Field(description="Name of the fault.")
    host: str | None = Field(
        None,
        description="Host whose storage is taken out of service; default: the last one that "
        "stores data.",
    )

    def on(self, cluster: Cluster) -> str:
        """The host whose storage is taken out of service."""
        return self.host or next(reversed(self._able(cluster)), "no host")

    def _able(self, cluster: Cluster) -> list[str]:
        return holders(cluster, storage_of(cluster).stores)

    def target(self, cluster: Cluster) -> str:
        """The storage and its host."""
        return f"the storage on {self.on(cluster)}"

    def does(self) -> str:
        """Decommissioned."""
        return "decommissioned"

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host must store data, and the others must be able to hold all replicas."""
        storage, able, host = storage_of(cluster), self._able(cluster), self.on(cluster)
        code = cluster.storage.code
        needed = code.hosts if code else cluster.replication
        if not storage.stores:
            yield f"storage of kind {storage.name} cannot be decommissioned"
        elif self.host is not None and node_of(cluster, host) is None:
            yield unknown_host(cluster, host)
        elif host not in able:
            yield f"no {storage.stores} runs on {host}; it runs on {', '.join(able) or 'no host'}"
        elif len(able) <= needed:
            yield (
                f"{needed} hosts must store each block, and only {len(able) - 1} remain in service"
            )

    def inject(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Take the storage out of service."""
        return faulty.decommission(self.on(cluster))

    def sure_s(self, faulty: Faulty) -> float:
        """Seconds after which the storage has planned all new replicas."""
        return _PLANNED_S

    def detections(self, cluster: Cluster) -> Iterator[Detection]:
        """The NameNode plans the copies at an interval; Ceph plans them at once."""
        yield from decommissioned(cluster)
