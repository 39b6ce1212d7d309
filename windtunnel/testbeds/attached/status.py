"""The state of an existing cluster, by read-only requests to its daemons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from windtunnel.errors import ClusterAccessError
from windtunnel.inspection.queues import LeafQueues
from windtunnel.testbeds.attached.site import Site
from windtunnel.testbeds.attached.web import Web

CLUSTER_APPS = "/ws/v1/cluster/apps"
REQUESTS = (
    "NameNode /jmx (NameNodeInfo, FSNamesystem, FSNamesystemState)",
    "ResourceManager /ws/v1/cluster/info, /ws/v1/cluster/metrics, " + CLUSTER_APPS,
    "history server /ws/v1/history/info",
)
"""The requests of :class:`Status`, for lists."""
_UNFINISHED = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_ENDING_S = 15.0
"""How long an ended application can still have a container: its master waits 5 s for clients."""


@dataclass(frozen=True)
class Identity:
    """What a cluster reports about itself: its id, and the versions of its daemons."""

    cluster: str
    versions: dict[str, str]
    namenode: str
    resourcemanager: str


@dataclass(frozen=True)
class Application:
    """An unfinished application; ``containers`` is None if the user may not view them."""

    id: str
    queue: str
    kind: str
    state: str
    containers: int | None
    pending: int


@dataclass(frozen=True)
class Hidden:
    """Running containers, and applications, of other tenants that are not in the list."""

    containers: int = 0
    applications: int = 0


@dataclass(frozen=True)
class Reading:
    """The state of a cluster at one time (``t``, epoch seconds).

    ``own`` and ``others`` are the unfinished applications; ``pending`` are containers for which
    other tenants wait. ``capacity_bytes`` and ``free_bytes`` are those of HDFS. ``hidden`` is what
    other tenants have beyond the list, which lacks what the user may not view.
    """

    t: float
    own: Sequence[Application]
    others: Sequence[Application]
    pending: int
    capacity_bytes: int
    free_bytes: int
    missing_blocks: int
    under_replicated: int
    datanodes: int
    nodemanagers: int
    hidden: Hidden = Hidden()

    @property
    def other_containers(self) -> int:
        """Running containers of other tenants."""
        return _containers(self.others) + self.hidden.containers

    @property
    def own_containers(self) -> int:
        """Running containers of the study."""
        return _containers(self.own)

    @property
    def free_fraction(self) -> float:
        """The free fraction of the capacity of HDFS."""
        return self.free_bytes / self.capacity_bytes if self.capacity_bytes else 0.0


class Status:
    """Queries an existing cluster; its methods raise ClusterAccessError without an answer."""

    def __init__(self, site: Site, web: Web) -> None:
        self.site = site
        self.web = web
        self._own: set[str] = set()  # in the last reading
        self._ended: dict[str, float] = {}  # own applications -> when they had left the list

    def identity(self) -> Identity:
        """The id of the cluster, and the versions that its daemons report."""
        namenode, info = self._namenode("NameNodeInfo")
        cluster = _cluster_id(namenode, info)
        rm, found = self.web.first(
            self.site.resourcemanagers, "/ws/v1/cluster/info", active="clusterInfo"
        )
        versions = {
            "namenode": str(info.get("SoftwareVersion", "UNKNOWN")),
            "resourcemanager": str(found["clusterInfo"].get("hadoopVersion", "UNKNOWN")),
            "historyserver": self._history_version(),
        }
        return Identity(cluster, versions, namenode, rm)

    def storage_identity(self) -> tuple[str, str]:
        """The id of the cluster and the active NameNode; no other daemon is queried."""
        namenode, info = self._namenode("NameNodeInfo")
        return _cluster_id(namenode, info), namenode

    def read(self, tag: str, now: float) -> Reading:
        """The present state; applications with ``tag`` are the study's own."""
        namenode, space = self._namenode("FSNamesystem")
        state = self._bean(namenode, "FSNamesystemState")
        rm, metrics = self._metrics()
        own: list[Application] = []
        others: list[Application] = []
        for row in self._applications(rm):
            mine = tag in str(row.get("applicationTags", "")).split(",")
            (own if mine else others).append(_application(row))
        waiting = sum(one.state != "RUNNING" for one in others)
        seen = [metrics]
        if _unlisted(metrics, [*own, *others]):
            # an own application can have ended between both requests, or have started after them
            seen.append(self._metrics()[1])
        ending = self._ending(own, now)
        hidden = min(
            (_hidden(one, own, others, ending=ending) for one in seen),
            key=lambda one: (one.applications, one.containers),
        )
        shared = bool(others) or min(_unlisted(one, [*own, *others]) for one in seen) > 0
        pending = min(_number(one, "containersPending") for one in seen)
        pending -= sum(one.pending for one in own)
        return Reading(
            t=now,
            own=own,
            others=others,
            pending=max(pending if shared else 0, waiting),
            capacity_bytes=int(space["CapacityTotal"]),
            free_bytes=int(space["CapacityRemaining"]),
            missing_blocks=int(space["MissingBlocks"]),
            under_replicated=int(space["UnderReplicatedBlocks"]),
            datanodes=int(state["NumLiveDataNodes"]),
            nodemanagers=int(metrics["activeNodes"]),
            hidden=hidden,
        )

    def _metrics(self) -> tuple[str, dict[str, Any]]:
        """The active ResourceManager, and its metrics of the whole cluster."""
        rm, found = self.web.first(
            self.site.resourcemanagers, "/ws/v1/cluster/metrics", active="clusterMetrics"
        )
        return rm, found["clusterMetrics"]

    def _ending(self, own: Sequence[Application], now: float) -> int:
        """The number of own applications that ended a short time ago.

        They are not in the list, but their application master still has its container.
        """
        listed = {one.id for one in own}
        self._ended |= dict.fromkeys(self._own - listed, now)
        self._ended = {id_: t for id_, t in self._ended.items() if now - t < _ENDING_S}
        self._own = listed
        return len(self._ended)

    def unfinished(self, tag: str) -> list[str]:
        """The ids of the unfinished applications with a tag."""
        rm, _ = self.web.first(
            self.site.resourcemanagers, "/ws/v1/cluster/info", active="clusterInfo"
        )
        rows = self._applications(rm, applicationTags=tag)
        return [str(row["id"]) for row in rows]

    def queues(self) -> LeafQueues:
        """The queues to which applications can be submitted."""
        _, found = self.web.first(
            self.site.resourcemanagers, "/ws/v1/cluster/scheduler", active="scheduler"
        )
        return LeafQueues.of(found["scheduler"].get("schedulerInfo", {}))

    def in_force(self, address: str, name: str) -> str | None:
        """The value of a property in a running daemon; None if it does not report one."""
        try:
            found = self.web.json(address, "/conf", name=name, format="json")
        except ClusterAccessError as error:
            if error.reason == "not found":
                return None
            raise
        prop = found.get("property")
        return str(prop["value"]) if isinstance(prop, dict) and "value" in prop else None

    def daemons(self, role: str) -> dict[str, str | None]:
        """Name -> URL of the web servers of the daemons with a role; None if it is unknown.

        Workers are those that their master lists as running.
        """
        # httpx is slow to import, and 'plan' needs none
        from windtunnel.inspection.services import datanode_url, nodemanager_url

        if role == "datanode":
            _, info = self._namenode("NameNodeInfo")
            nodes = json.loads(str(info.get("LiveNodes") or "{}"))
            return {name: datanode_url(name.rpartition(":")[0], one) for name, one in nodes.items()}
        if role == "nodemanager":
            rm, answer = self.web.first(
                self.site.resourcemanagers, "/ws/v1/cluster/nodes", active="nodes", states="RUNNING"
            )
            rows = (answer["nodes"] or {}).get("node", [])
            hosts = [str(one.get("nodeHostName")) for one in rows]
            return {
                str(one.get("nodeHTTPAddress") or host): nodemanager_url(host, one, rm)
                for host, one in zip(hosts, rows, strict=True)
            }
        masters = {
            "namenode": self.site.namenodes,
            "resourcemanager": self.site.resourcemanagers,
            "historyserver": [self.site.history_server],
        }
        return {urlsplit(url).netloc: url for url in masters[role]}

    def hosts(self) -> dict[str, bool]:
        """Name of each host of the cluster -> whether it is a worker."""
        workers = [
            name.rpartition(":")[0] or name
            for role in ("datanode", "nodemanager")
            for name in self.daemons(role)
        ]
        urls = [*self.site.namenodes, *self.site.resourcemanagers, self.site.history_server]
        masters = [urlsplit(url).hostname or "" for url in urls]
        return dict.fromkeys(filter(None, masters), False) | dict.fromkeys(workers, True)

    def storage_types(self) -> set[str]:
        """The types of the disks of HDFS, such as DISK and SSD; empty if nothing states them."""
        active, _ = self._namenode("NameNodeInfo")
        try:
            stats = self._bean(active, "BlockStats")
        except ClusterAccessError as error:
            if error.reason == "no bean":
                return set()
            raise
        return {str(one["key"]) for one in stats.get("StorageTypeStats") or []}

    def safe_mode(self) -> bool:
        """Whether the NameNode is in safe mode."""
        return bool(self._namenode("NameNodeInfo")[1].get("Safemode"))

    def _applications(self, rm: str, **query: str) -> list[dict[str, Any]]:
        found = self.web.json(rm, CLUSTER_APPS, states=_UNFINISHED, **query).get("apps")
        return list(found.get("app", [])) if isinstance(found, dict) else []

    def _namenode(self, bean: str) -> tuple[str, dict[str, Any]]:
        """The active NameNode and one of its beans."""
        failure: ClusterAccessError | None = None
        for address in self.site.namenodes:
            try:
                state = self._bean(address, "NameNodeStatus").get("State", "active")
                if state == "active":
                    return address, self._bean(address, bean)
                failure = ClusterAccessError(
                    f"the NameNode at {address} is in the state {state}",
                    remedy="wait for the end of its failover.",
                )
            except ClusterAccessError as error:
                failure = error
        raise failure or ClusterAccessError(
            "the configuration names no NameNode",
            remedy="set dfs.namenode.http-address in hdfs-site.xml of 'conf'.",
        )

    def _bean(self, address: str, name: str) -> dict[str, Any]:
        found = self.web.json(address, "/jmx", qry=f"Hadoop:service=NameNode,name={name}")
        beans = found.get("beans")
        if not isinstance(beans, list) or not beans:
            raise ClusterAccessError(
                f"{address}/jmx has no bean {name}",
                remedy="check that 'conf' has the address of the NameNode.",
                reason="no bean",
            )
        return dict(beans[0])

    def _history_version(self) -> str:
        try:
            found = self.web.json(self.site.history_server, "/ws/v1/history/info")
        except ClusterAccessError as error:
            raise ClusterAccessError(
                f"the history server does not answer: {error.message}",
                remedy=error.remedy,
            ) from error
        info = found.get("historyInfo")
        return str(info.get("hadoopVersion", "UNKNOWN")) if isinstance(info, dict) else "UNKNOWN"


def _cluster_id(namenode: str, info: dict[str, Any]) -> str:
    cluster = str(info.get("ClusterId", ""))
    if not cluster:
        raise ClusterAccessError(
            f"the NameNode at {namenode} does not report the id of its cluster",
            remedy="check that its page /jmx is accessible.",
        )
    return cluster


def _number(metrics: Mapping[str, Any], name: str) -> int:
    return int(metrics.get(name, 0))


def _containers(applications: Sequence[Application]) -> int:
    return sum(one.containers or 0 for one in applications)


def _unlisted(metrics: Mapping[str, Any], listed: Sequence[Application]) -> int:
    """The number of unfinished applications that are not in the list.

    With ``yarn.webapp.filter-entity-list-by-user``, it has only those that the user may view.
    """
    known = _number(metrics, "appsRunning") + _number(metrics, "appsPending")
    return max(0, known - len(listed))


def _hidden(
    metrics: Mapping[str, Any],
    own: Sequence[Application],
    others: Sequence[Application],
    *,
    ending: int,
) -> Hidden:
    """What other tenants have beyond the list, from the metrics of the whole cluster.

    The metrics are those of a moment before the list, and containers start and end meanwhile.
    Therefore a list from which nothing is missing is preferred to them.
    """
    unlisted = _unlisted(metrics, [*own, *others])
    if not unlisted and all(one.containers is not None for one in others):
        return Hidden()
    allocated = _number(metrics, "containersAllocated")
    if metrics.get("crossPartitionMetricsAvailable") in (True, "true"):
        # those above are of the nodes without a label; these contain reserved containers
        everywhere = _number(metrics, "totalAllocatedContainersAcrossPartition")
        allocated = max(allocated, everywhere - _number(metrics, "containersReserved"))
    masters = min(ending, unlisted)
    listed = _containers(own) + _containers(others)
    return Hidden(max(0, allocated - listed - masters), unlisted - masters)


def _application(row: dict[str, Any]) -> Application:
    wanted = row.get("resourceRequests") or []
    state, containers = str(row.get("state", "")), int(row.get("runningContainers", 0))
    # one that runs has at least its master: without the right to view it, the number is 0 or -1
    unknown = state == "RUNNING" and containers < 1
    return Application(
        id=str(row["id"]),
        queue=str(row.get("queue", "")),
        kind=str(row.get("applicationType", "")),
        state=state,
        containers=None if unknown else max(0, containers),
        pending=sum(int(w["numContainers"]) for w in wanted if w.get("resourceName") == "*"),
    )
