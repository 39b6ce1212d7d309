"""Daemons that are killed: a single one, or all of a host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from windtunnel.cluster import ROLES, Cluster, RoleEntry
from windtunnel.cluster.roles import KillableRole
from windtunnel.engines.faults import Faulty, Part, Undo
from windtunnel.engines.registry import ENGINES
from windtunnel.study.faults.base import Options, hides_history, holders, node_of, unknown_host
from windtunnel.study.faults.detection import Detection, lost_daemons

ACTIVE = "active"
"""In place of a host: that of the active NameNode."""


class KillDaemon(Options):
    """SIGKILL of one daemon; with `lasts`, the daemon is restarted after that time."""

    part: ClassVar[Part] = "daemons"

    kind: Literal["kill-daemon"] = Field(description="Name of the fault.")
    role: KillableRole = Field(
        description="The daemon; see [what can be killed](faults.md#what-can-be-killed)."
    )
    host: str | None = Field(
        None,
        description="Host of the daemon; default: the last one with the role. `active` is the host "
        "of the active NameNode at the time of the fault (`storage.ha`).",
    )

    def on(self, cluster: Cluster) -> str:
        """The host of the daemon."""
        return self.host or next(reversed(self._able(cluster)), "no host")

    @property
    def entry(self) -> RoleEntry:
        """The entry of the role in the table of roles."""
        return ROLES[self.role]

    def _able(self, cluster: Cluster) -> list[str]:
        """The hosts on which the daemon runs."""
        if (engine := self.engine()) is not None:
            kind = ENGINES.get(engine)
            return list(kind.placed(cluster)[self.entry.name]) if kind else []
        return holders(cluster, self.entry.name)

    def engine(self) -> str | None:
        """The engine that has the role; None for Hadoop and for storage systems."""
        engine = self.entry.engine
        return engine if engine in ENGINES else None

    def within_phase(self) -> bool:
        """Whether the daemon runs only in one phase, as Trino's servers do."""
        return self.entry.within_phase

    def target(self, cluster: Cluster) -> str:
        """The daemon and its host."""
        if self.host == ACTIVE:
            return f"the active {self.entry.name}"
        return f"the {self.entry.name} on {self.on(cluster)}"

    def does(self) -> str:
        """Killed."""
        return "killed"

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host must have the role."""
        host = self.on(cluster)
        if host == ACTIVE:
            if self.entry.name != "namenode" or not cluster.storage.ha:
                yield "host: active is for the role namenode of a cluster with storage.ha"
            return
        if self.host is not None and node_of(cluster, host) is None:
            yield unknown_host(cluster, host)
        elif host not in (able := self._able(cluster)):
            yield f"no {self.entry.name} runs on {host}; it runs on {', '.join(able) or 'no host'}"

    def inject(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Kill the daemon."""
        return faulty.kill_daemon(self.entry.name, self.on(cluster))

    def affects_replicas(self, cluster: Cluster) -> bool:
        """Whether the daemon stores replicas, or knows where they are."""
        return self.entry.replicas

    def detections(self, cluster: Cluster) -> Iterator[Detection]:
        """Its master notices it; the containers of a NodeManager continue."""
        yield from lost_daemons(cluster, [self.entry.name], containers=False)


class KillHost(Options):
    """SIGKILL of all daemons and containers of a host; `lasts` as for `kill-daemon`."""

    part: ClassVar[Part] = "daemons"

    kind: Literal["kill-host"] = Field(description="Name of the fault.")
    host: str = Field(description="The host.")

    def target(self, cluster: Cluster) -> str:
        """The host."""
        return f"all daemons of {self.host}"

    def does(self) -> str:
        """Killed."""
        return "killed"

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host must run daemons."""
        node = node_of(cluster, self.host)
        if node is None or node.name != self.host:
            yield unknown_host(cluster, self.host)
        elif not any(ROLES[role].main for role in node.roles):
            yield f"no daemon runs on {self.host}"
        elif mounts := [role for role in node.roles if ROLES[role].mounts]:
            yield f"the {mounts[0]} on {self.host} cannot be restarted: all hosts use its mount"
        elif hidden := hides_history(self, node):
            yield hidden

    def inject(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Kill all daemons."""
        return faulty.kill_host(self.host)

    def affects_replicas(self, cluster: Cluster) -> bool:
        """Whether one of its daemons stores replicas, or knows where they are."""
        node = node_of(cluster, self.host)
        return node is not None and any(ROLES[role].replicas for role in node.roles)

    def detections(self, cluster: Cluster) -> Iterator[Detection]:
        """The masters on other hosts notice it; a master that was killed notices nothing."""
        node = node_of(cluster, self.host)
        roles = set(node.roles) if node else set()
        roles -= {"datanode"} if "namenode" in roles else set()
        roles -= {"nodemanager"} if "resourcemanager" in roles else set()
        yield from lost_daemons(cluster, roles, containers=True)
