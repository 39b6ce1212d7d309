"""Network links that are cut: of a host, or of a rack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from windtunnel.cluster import Cluster, Node, blame
from windtunnel.engines.faults import Faulty, Part, Undo
from windtunnel.study.faults.base import Options, hides_history, node_of, unknown_host
from windtunnel.study.faults.detection import Detection, lost_daemons


class CutLink(Options):
    """The link of a host or of a rack transfers no data; set either `host` or `rack`."""

    part: ClassVar[Part] = "links"
    removes_replicas: ClassVar[bool] = True

    kind: Literal["cut-link"] = Field(description="Name of the fault.")
    host: str | None = Field(None, description="Host whose link is cut.")
    rack: str | None = Field(None, description="Rack whose uplink is cut.")

    @model_validator(mode="after")
    def _one_link(self) -> CutLink:
        if (self.host is None) == (self.rack is None):
            raise blame("give either 'host' or 'rack'", remedy="write 'host: worker-1'.")
        return self

    def target(self, cluster: Cluster) -> str:
        """The link."""
        return f"the link of {self.host}" if self.host else f"the uplink of {self.rack}"

    def does(self) -> str:
        """Cut."""
        return "cut"

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host or rack must be in the description."""
        node = node_of(cluster, self.host) if self.host is not None else None
        if self.host is not None and node is None:
            yield unknown_host(cluster, self.host)
        elif node is not None and (hidden := hides_history(self, node)):
            yield hidden
        elif self.rack is not None and self.rack not in (racks := _racks(cluster)):
            yield f"there is no rack '{self.rack}'; the racks are {', '.join(racks) or 'not given'}"

    def inject(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Cut the link."""
        return faulty.cut(self.host or self.rack or "")

    def detections(self, cluster: Cluster) -> Iterator[Detection]:
        """A master notices the workers on the other side of the link, with their containers."""
        lost = [
            worker
            for master, worker in (("namenode", "datanode"), ("resourcemanager", "nodemanager"))
            if self._separates(cluster, master, worker)
        ]
        yield from lost_daemons(cluster, lost, containers=True)

    def _separates(self, cluster: Cluster, master: str, worker: str) -> bool:
        """Whether a daemon of one role and one of the other are on different sides of the link."""
        sides = {
            role: {self._beyond(cluster, node) for node in cluster.nodes() if role in node.roles}
            for role in (master, worker)
        }
        return any(side != other for side in sides[master] for other in sides[worker])

    def _beyond(self, cluster: Cluster, node: Node) -> bool:
        if self.host is not None:
            return self.host in (node.name, node.host)
        return cluster.rack_of(node.class_name, node.index) == self.rack


def _racks(cluster: Cluster) -> list[str]:
    found = (cluster.rack_of(node.class_name, node.index) for node in cluster.nodes())
    return list(dict.fromkeys(rack for rack in found if rack is not None))
