"""The status that a running cluster reports: the web pages and beans of its daemons.

A daemon that does not answer yields an empty result; the caller decides whether that matters.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from windtunnel.engines.hadoop import ha
from windtunnel.engines.hadoop.layout import WEB_ADDRESSES
from windtunnel.engines.web import WebPages
from windtunnel.hosts.base import Host

if TYPE_CHECKING:
    from windtunnel.engines.hadoop.layout import Layout

_SERVICE = {"namenode": "NameNode", "datanode": "DataNode"}


class Masters(WebPages):
    """The web pages of a cluster's daemons, queried through one pool of connections.

    Parameters
    ----------
    layout:
        Returns the present layout: it changes when settings change.

    Attributes
    ----------
    two_namenodes:
        The cluster has an active NameNode and a standby.
    """

    two_namenodes = False

    def __init__(self, layout: Callable[[], Layout]) -> None:
        super().__init__(self._open)
        self._layout = layout

    def _open(self) -> socket.socket:
        return self._layout().placements[0].host.open_socket()

    def namenode_bean(self, name: str) -> dict[str, Any]:
        """A bean of the NameNode (JMX); empty if it does not answer."""
        host = self.active_namenode() if self.two_namenodes else None
        if self.two_namenodes and host is None:
            return {}
        return self._bean("namenode", name, host)

    def active_namenode(self) -> Host | None:
        """The host of the active one of two NameNodes; None while there is none."""
        return ha.active(self.namenode_states(), self._layout().hosts)

    def namenode_states(self) -> dict[str, str]:
        """Host -> ``active`` or ``standby``, of the NameNodes that answer."""
        hosts = [p.host for p in self._layout().placements if "namenode" in p.roles]
        found = {host.name: self._bean("namenode", "NameNodeStatus", host) for host in hosts}
        return {name: str(bean["State"]) for name, bean in found.items() if "State" in bean}

    def pending_deletions(self) -> int:
        """Blocks of deleted files whose removal the NameNode has not requested yet."""
        found = self.namenode_bean("FSNamesystemState").get("PendingDeletionBlocks", 0)
        return found if isinstance(found, int) else 0

    def live_datanodes(self) -> tuple[int, bool]:
        """How many DataNodes the NameNode counts, and whether HDFS is in safe mode."""
        beans: dict[str, object] = {}
        for name in ("NameNodeInfo", "FSNamesystemState"):
            beans |= self.namenode_bean(name)
        live = beans.get("NumLiveDataNodes", 0)
        return (live if isinstance(live, int) else 0), beans.get("Safemode", "unknown") != ""

    def file_check(self, *, blocks: bool = False) -> str:
        """Output of the NameNode's check of all files (fsck); empty if it does not answer.

        With ``blocks``, it lists all files and their blocks.
        """
        account = self._layout().placements[0].host.account
        path = f"/fsck?ugi={account}&path=/" + ("&files=1&blocks=1" if blocks else "")
        host = self.active_namenode() if self.two_namenodes else None
        if self.two_namenodes and host is None:
            return ""
        answer = self._get(f"http://{self._address('namenode', host)}{path}")
        return answer.text if answer is not None else ""

    def active_nodemanagers(self) -> int:
        """How many NodeManagers the ResourceManager considers active."""
        metrics = self._json("resourcemanager", "/ws/v1/cluster/metrics").get("clusterMetrics")
        return int(metrics["activeNodes"]) if isinstance(metrics, dict) else 0

    def yarn_nodes(self) -> list[dict[str, Any]]:
        """The NodeManagers as the ResourceManager reports them."""
        nodes = self._json("resourcemanager", "/ws/v1/cluster/nodes").get("nodes")
        return list(nodes.get("node", [])) if isinstance(nodes, dict) else []

    def hosts_with_unused_disks(self) -> list[str]:
        """Hosts whose NodeManager does not use all of its disks, by the health that it reports.

        Reports about folders contain "local-dirs" or "log-dirs" (``LocalDirsHandlerService``).
        """
        reports = ((n["nodeHostName"], n.get("healthReport", "")) for n in self.yarn_nodes())
        return [host for host, report in reports if "-dirs " in report]

    def application_progress(self, since: float) -> float | None:
        """Completed fraction of an application that began after ``since`` (epoch seconds).

        None if none is running. MapReduce weights maps and reduces with one half each.
        """
        path = f"/ws/v1/cluster/apps?states=RUNNING&startedTimeBegin={int(since * 1e3)}"
        found = self._json("resourcemanager", path).get("apps")
        running = found.get("app") if isinstance(found, dict) else None
        return max(one["progress"] for one in running) / 100 if running else None

    def answers(self, role: str) -> bool:
        """Whether a master answers: a NameNode (also in safe mode), or the ResourceManager."""
        if role == "namenode":
            return bool(self.namenode_states())
        return "clusterInfo" in self._json(role, "/ws/v1/cluster/info")

    def history_answers(self) -> bool:
        """Whether the history server answers."""
        return "historyInfo" in self._json("historyserver", "/ws/v1/history/info")

    def serves(self, name: str, since: float) -> bool:
        """Whether a worker that was started at ``since`` (epoch seconds) has registered."""
        role, host_name = name.split("@")
        if role == "datanode":
            host = next(p.host for p in self._layout().placements if p.host.name == host_name)
            actors = self._bean("datanode", "DataNodeInfo", host).get("BPServiceActorInfo")
            states = [actor["ActorState"] for actor in json.loads(actors or "[]")]
            return bool(states) and set(states) == {"RUNNING"}
        if role == "nodemanager":
            mine = [n for n in self.yarn_nodes() if n["nodeHostName"] == host_name]
            return any(
                n["state"] == "RUNNING" and n["lastHealthUpdate"] / 1e3 >= since for n in mine
            )
        return True

    def _bean(self, role: str, name: str, host: Host | None = None) -> dict[str, Any]:
        return self._bean_at(self._address(role, host), _SERVICE[role], name)

    def _json(self, role: str, path: str) -> dict[str, Any]:
        return self._object(f"http://{self._address(role)}{path}")

    def _address(self, role: str, host: Host | None = None) -> str:
        ip, port = self._layout().address(WEB_ADDRESSES[role], host)
        return f"{ip}:{port}"
