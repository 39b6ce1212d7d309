"""The status that Ozone reports: the beans of its two managers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windtunnel.engines.ozone.site import OM, SCM, Site
from windtunnel.engines.web import WebPages

_SCM_SERVICE, _OM_SERVICE = "StorageContainerManager", "OzoneManager"
_RUNTIME = "component=ServerRuntime"


@dataclass(frozen=True)
class Nodes:
    """The view of the storage container manager.

    ``healthy`` counts datanodes, ``wanting`` containers with too few replicas. ``safe_mode``: no
    block can be allocated yet.
    """

    healthy: int
    safe_mode: bool
    wanting: int


class Status(WebPages):
    """Queries the web servers of the managers."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.hosts[SCM][0].open_socket)
        self._site = site

    def nodes(self) -> Nodes | None:
        """The datanodes; None if the storage container manager does not answer."""
        info = self._bean(SCM, _SCM_SERVICE, f"StorageContainerManagerInfo,{_RUNTIME}")
        count = self._bean(SCM, "SCMNodeManager", "SCMNodeManagerInfo")
        if "InSafeMode" not in info or "NodeCount" not in count:
            return None
        metrics = self._bean(SCM, _SCM_SERVICE, "ReplicationManagerMetrics")
        return Nodes(
            healthy=_healthy(count["NodeCount"]),
            safe_mode=bool(info["InSafeMode"]),
            wanting=int(metrics.get("UnderReplicatedContainers", 0)),
        )

    def manager_serves(self) -> bool:
        """Whether the ozone manager answers."""
        return bool(self._bean(OM, _OM_SERVICE, f"OzoneManagerInfo,{_RUNTIME}"))

    def _bean(self, role: str, service: str, name: str) -> dict[str, Any]:
        return self._bean_at(self._site.web(role), service, name)


def _healthy(count: Any) -> int:
    """Datanodes in service and healthy, from a nested map as Hadoop's servlet writes it."""
    for state in count:
        if state.get("key") == "IN_SERVICE":
            return sum(int(h["value"]) for h in state["value"] if h.get("key") == "HEALTHY")
    return 0
