"""What a running cluster tells of itself: the web pages and beans of its daemons.

A daemon that does not answer tells nothing; whether that matters is the caller's to know.
"""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from windtunnel.hosts.base import Host

if TYPE_CHECKING:
    import httpx

    from windtunnel.engines.hadoop.layout import Layout

_TIMEOUT_S = 5.0
_WEB = {
    "namenode": "dfs.namenode.http-address",
    "datanode": "dfs.datanode.http.address",
    "resourcemanager": "yarn.resourcemanager.webapp.address",
    "historyserver": "mapreduce.jobhistory.webapp.address",
}
_SERVICE = {"namenode": "NameNode", "datanode": "DataNode"}


class Masters:
    """The web pages of a cluster's daemons, asked through one set of connections.

    Parameters
    ----------
    layout:
        Gives the layout of now: it changes when settings do.
    """

    def __init__(self, layout: Callable[[], Layout]) -> None:
        self._layout = layout

    @cached_property
    def _http(self) -> httpx.Client:
        import httpx  # takes long, and 'plan' talks to no daemon

        return httpx.Client(timeout=_TIMEOUT_S, trust_env=False)

    def close(self) -> None:
        """Close the connections, if there are any."""
        if "_http" in self.__dict__:
            self._http.close()

    def namenode_bean(self, name: str) -> dict[str, Any]:
        """A bean of the NameNode (JMX); empty where it does not answer."""
        return self._bean("namenode", name)

    def pending_deletions(self) -> int:
        """Blocks of deleted files that DataNodes have not been told to remove yet."""
        found = self.namenode_bean("FSNamesystem").get("PendingDeletionBlocks", 0)
        return found if isinstance(found, int) else 0

    def live_datanodes(self) -> tuple[int, bool]:
        """How many DataNodes the NameNode counts, and whether HDFS is in safe mode."""
        beans: dict[str, object] = {}
        for name in ("NameNodeInfo", "FSNamesystemState"):
            beans |= self.namenode_bean(name)
        live = beans.get("NumLiveDataNodes", 0)
        return (live if isinstance(live, int) else 0), beans.get("Safemode", "unknown") != ""

    def file_check(self) -> str:
        """What the NameNode's check of all files says (fsck); empty where it does not answer."""
        answer = self._ask("namenode", f"/fsck?ugi={getpass.getuser()}&path=/")
        return answer.text if answer is not None else ""

    def active_nodemanagers(self) -> int:
        """How many NodeManagers the ResourceManager gives work to."""
        metrics = self._json("resourcemanager", "/ws/v1/cluster/metrics").get("clusterMetrics")
        return int(metrics["activeNodes"]) if isinstance(metrics, dict) else 0

    def yarn_nodes(self) -> list[dict[str, Any]]:
        """The NodeManagers as the ResourceManager knows them."""
        nodes = self._json("resourcemanager", "/ws/v1/cluster/nodes").get("nodes")
        return list(nodes.get("node", [])) if isinstance(nodes, dict) else []

    def application_progress(self, since: float) -> float | None:
        """Share that is done of an application that began after ``since`` (epoch seconds).

        None if none of them is running. MapReduce counts half for maps and half for reduces.
        """
        path = f"/ws/v1/cluster/apps?states=RUNNING&startedTimeBegin={int(since * 1e3)}"
        found = self._json("resourcemanager", path).get("apps")
        running = found.get("app") if isinstance(found, dict) else None
        return max(one["progress"] for one in running) / 100 if running else None

    def history_answers(self) -> bool:
        """Whether the history server serves."""
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
        path = f"/jmx?qry=Hadoop:service={_SERVICE[role]},name={name}"
        found = self._json(role, path, host).get("beans")
        return dict(found[0]) if isinstance(found, list) and found else {}

    def _json(self, role: str, path: str, host: Host | None = None) -> dict[str, object]:
        answer = self._ask(role, path, host)
        try:
            found: dict[str, object] = answer.json() if answer is not None else {}
        except ValueError:
            return {}
        return found

    def _ask(self, role: str, path: str, host: Host | None = None) -> httpx.Response | None:
        import httpx

        ip, port = self._layout().address(_WEB[role], host)
        try:
            answer = self._http.get(f"http://{ip}:{port}{path}")
        except httpx.HTTPError:
            return None
        return answer if answer.is_success else None
