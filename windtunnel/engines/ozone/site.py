"""Hosts, ports and settings of Ozone's daemons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from windtunnel.cluster import Cluster
from windtunnel.engines.hadoop.layout import Placement
from windtunnel.engines.ports import Ports, plan_ports
from windtunnel.hosts.base import Host

SCM, OM, DATANODE = "scm", "om", "ozone-datanode"
# The ports of each role, with Ozone's defaults.
_PORTS: Final = {
    SCM: {
        "client": 9860,
        "datanode": 9861,
        "block": 9863,
        "ratis": 9894,
        "grpc": 9895,
        "security": 9961,
        "web": 9876,
    },
    OM: {"rpc": 9862, "ratis": 9872, "web": 9874},
    DATANODE: {
        "ipc": 9859,
        "ratis": 9858,
        "admin": 9857,
        "server": 9856,
        "datastream": 9855,
        "client": 19864,
        "web": 9882,
    },
}
_OF_DATANODE: Final = {
    "ipc": "hdds.container.ipc.port",
    "ratis": "hdds.container.ratis.ipc.port",
    "admin": "hdds.container.ratis.admin.port",
    "server": "hdds.container.ratis.server.port",
    "datastream": "hdds.container.ratis.datastream.port",
    "client": "hdds.datanode.client.port",
}
_CELL: Final = "1024k"  # as HDFS's


@dataclass(frozen=True)
class Site:
    """Hosts and ports of a deployment of Ozone; ``hosts`` maps a role to its hosts."""

    cluster: Cluster
    hosts: Mapping[str, Sequence[Host]]
    ports: Ports

    def web(self, role: str) -> str:
        """Address of the web server of a master, IP address and port."""
        host = self.hosts[role][0]
        return f"{host.address}:{self.ports[role, host.name, 'web']}"

    @property
    def manager(self) -> str:
        """Host name and port of the ozone manager."""
        return self._at(OM, "rpc")

    def client(self) -> dict[str, str]:
        """Properties of clients and daemons."""
        storage = self.cluster.storage
        found = {
            "ozone.om.address": self.manager,
            "ozone.scm.names": self.hosts[SCM][0].name,
            "ozone.scm.client.address": self._at(SCM, "client"),
            "ozone.security.enabled": "false",
            "ozone.acl.enabled": "false",
            # with one loopback interface, every datanode has the IP address 127.0.0.1
            "hdds.datanode.use.datanode.hostname": "true",
            # the server's defaults do not count: by default, clients request three replicas
            "ozone.replication.type": "EC" if storage.code else "RATIS",
            "ozone.replication": self._replication(),
        }
        if storage.block_size:
            found["ozone.scm.block.size"] = f"{int(storage.block_size)}B"
        return found

    def common(self, own: Mapping[str, str]) -> dict[str, str]:
        """Properties of all daemons; ``own``, from the description, override them."""
        code = self.cluster.storage.code
        return {
            **self.client(),
            # without a pipeline of three replicas, the storage container manager stays in safe
            # mode; it creates pipelines of this type, and erasure codes have none in advance
            **({"ozone.replication.type": "RATIS", "ozone.replication": "THREE"} if code else {}),
            "ozone.scm.block.client.address": self._at(SCM, "block"),
            "ozone.scm.datanode.address": self._at(SCM, "datanode"),
            "ozone.scm.security.service.address": self._at(SCM, "security"),
            # a datanode takes the name from ozone.scm.names, and the port from here
            "ozone.scm.datanode.port": self._port(SCM, "datanode"),
            "ozone.scm.ratis.port": self._port(SCM, "ratis"),
            "ozone.scm.grpc.port": self._port(SCM, "grpc"),
            "ozone.om.ratis.port": self._port(OM, "ratis"),
            "ozone.server.default.replication.type": "EC" if code else "RATIS",
            "ozone.server.default.replication": self._replication(),
            "hdds.scm.safemode.min.datanode": str(len(self.hosts[DATANODE])),
            # the defaults of 30 s and more delay the start by as much
            "hdds.heartbeat.interval": "1s",
            "ozone.scm.heartbeat.thread.interval": "1s",
            "hdds.pipeline.report.interval": "2s",
            "hdds.node.report.interval": "2s",
            "ozone.scm.pipeline.creation.interval": "1s",
            "ozone.scm.ha.ratis.leader.ready.check.interval": "200ms",
            # the disks of small clusters: a datanode needs room for a container, and 20 GB
            "ozone.scm.container.size": "1GB",
            "hdds.datanode.volume.min.free.space": "100MB",
            **own,
        }

    def of_host(self, placement: Placement) -> dict[str, str]:
        """Properties of the daemons of one host: its name, its folders, its ports."""
        host = placement.host
        meta = f"{host.root}/ozone"
        found = {
            "ozone.metadata.dirs": meta,
            "ozone.scm.datanode.id.dir": meta,
            "hdds.datanode.hostname": host.name,
        }
        for role, prefix in ((SCM, "ozone.scm"), (OM, "ozone.om")):
            if host in self.hosts[role]:
                found[f"{prefix}.http-address"] = self.web(role)
                found[f"{prefix}.http-bind-host"] = host.address
        if host in self.hosts[DATANODE]:
            bases = placement.data_folders or [host.root / "disk-1"]
            found["hdds.datanode.dir"] = ",".join(f"{base}/ozone" for base in bases)
            port = self.ports[DATANODE, host.name, "web"]
            found["hdds.datanode.http-address"] = f"{host.address}:{port}"
            found["hdds.datanode.http-bind-host"] = host.address
            for name, key in _OF_DATANODE.items():
                found[key] = str(self.ports[DATANODE, host.name, name])
        return found

    def _replication(self) -> str:
        code = self.cluster.storage.code
        if code is None:
            return str(self.cluster.replication)
        return f"{code.codec}-{code.data}-{code.parity}-{_CELL}".lower()

    def _port(self, role: str, name: str) -> str:
        return str(self.ports[role, self.hosts[role][0].name, name])

    def _at(self, role: str, name: str) -> str:
        return f"{self.hosts[role][0].name}:{self._port(role, name)}"


def plan_site(cluster: Cluster, placements: Sequence[Placement], *, own_networks: bool) -> Site:
    """Give every daemon its default ports or, if hosts share a network, free ports."""
    known = {placement.host.name: placement.host for placement in placements}
    hosts = {
        role: [known[node.name] for node in cluster.nodes_with(role)]
        for role in (SCM, OM, DATANODE)
    }
    return Site(cluster, hosts, plan_ports(hosts, _PORTS, own_networks=own_networks))
