"""Daemons that die: one of them, or all of a host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from windtunnel.cluster import Cluster
from windtunnel.engines.faulty import Faulty, Part, Undo
from windtunnel.engines.registry import ENGINES
from windtunnel.study.faults.base import Options, holders, node_of, unknown_host

_COPIES = ("namenode", "datanode")
_ENGINE_OF = {
    "zookeeper": "hbase",
    "hmaster": "hbase",
    "regionserver": "hbase",
    "kudu-master": "kudu",
    "kudu-tserver": "kudu",
}


class KillDaemon(Options):
    """SIGKILL of one daemon; with `lasts` it is started again after that time."""

    part: ClassVar[Part] = "daemons"

    kind: Literal["kill-daemon"] = Field(description="Name of the fault.")
    role: Literal[
        "datanode",
        "nodemanager",
        "namenode",
        "resourcemanager",
        "zookeeper",
        "hmaster",
        "regionserver",
        "kudu-master",
        "kudu-tserver",
    ] = Field(description="The daemon; the last five are those of HBase and of Kudu.")
    host: str | None = Field(None, description="Its host; left out: the last that plays the role.")

    def on(self, cluster: Cluster) -> str:
        """The host of the daemon."""
        return self.host or next(reversed(self._able(cluster)), "no host")

    def _able(self, cluster: Cluster) -> list[str]:
        """The hosts that the daemon runs on."""
        if (engine := self.engine()) is not None:
            return list(ENGINES[engine].placed(cluster)[self.role])
        return holders(cluster, self.role)

    def engine(self) -> str | None:
        """The engine that has such a role."""
        return _ENGINE_OF.get(self.role)

    def target(self, cluster: Cluster) -> str:
        """The daemon and its host."""
        return f"the {self.role} on {self.on(cluster)}"

    def does(self) -> str:
        """It dies."""
        return "killed"

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The host must play the role."""
        host = self.on(cluster)
        if self.host is not None and node_of(cluster, host) is None:
            yield unknown_host(cluster, host)
        elif host not in (able := self._able(cluster)):
            yield f"no {self.role} runs on {host}; it runs on {', '.join(able) or 'no host'}"

    def strike(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Kill it."""
        return faulty.kill_daemon(self.role, self.on(cluster))

    def touches_copies(self, cluster: Cluster) -> bool:
        """Daemons of HDFS hold copies, or know where they are."""
        return self.role in _COPIES


class KillHost(Options):
    """SIGKILL of all daemons of a host with all their containers; `lasts` as above."""

    part: ClassVar[Part] = "daemons"

    kind: Literal["kill-host"] = Field(description="Name of the fault.")
    host: str = Field(description="The host.")

    def target(self, cluster: Cluster) -> str:
        """The host."""
        return f"all daemons of {self.host}"

    def does(self) -> str:
        """They die."""
        return "killed"

    def problems(self, cluster: Cluster) -> Iterator[str]:
        """Daemons must run on it."""
        node = node_of(cluster, self.host)
        if node is None or node.name != self.host:
            yield unknown_host(cluster, self.host)
        elif not {*node.roles} - {"client"}:
            yield f"no daemon runs on {self.host}"

    def strike(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Kill all."""
        return faulty.kill_host(self.host)

    def touches_copies(self, cluster: Cluster) -> bool:
        """As with its daemons."""
        node = node_of(cluster, self.host)
        return node is not None and bool({*_COPIES} & {*node.roles})
