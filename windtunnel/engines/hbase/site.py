"""Hosts, ports and settings of HBase's daemons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from windtunnel.cluster import ROLES
from windtunnel.engines.hbase.sizes import cache_settings
from windtunnel.engines.ports import Ports, plan_ports
from windtunnel.hosts.base import Host

MASTER = "hbase-master"
MAIN_CLASS = ROLES.main_classes("hbase")
# The ports of each role, with the defaults of HBase and ZooKeeper.
_PORTS = {
    "zookeeper": {"client": 2181, "peer": 2888, "election": 3888},
    MASTER: {"rpc": 16000, "web": 16010},
    "regionserver": {"rpc": 16020, "web": 16030},
}


@dataclass(frozen=True)
class Site:
    """Hosts and ports of one start of HBase.

    ``hosts`` maps a role to its hosts, ``ports`` holds their ports, ``root`` is the folder on HDFS.
    """

    hosts: Mapping[str, Sequence[Host]]
    ports: Ports
    root: str

    def web(self, role: str, host: Host) -> str:
        """Address of a daemon's web server, IP address and port."""
        return f"{host.address}:{self.ports[role, host.name, 'web']}"

    def common(self, own: Mapping[str, str]) -> dict[str, str]:
        """Properties of all daemons and clients; ``own``, from the description, override them."""
        quorum = [f"{h.name}:{self._client_port(h)}" for h in self.hosts["zookeeper"]]
        servers = len(self.hosts["regionserver"])
        return {
            "hbase.cluster.distributed": "true",
            "hbase.rootdir": self.root,
            "hbase.zookeeper.quorum": ",".join(quorum),
            "hbase.zookeeper.property.clientPort": str(self._client_port(None)),
            # The loss of a RegionServer is noticed after this time; HBase's default of 90 s is
            # longer than complete runs here (docs/decisions/0009).
            "zookeeper.session.timeout": "10000",
            "hbase.master.wait.on.regionservers.mintostart": str(servers),
            "hbase.master.wait.on.regionservers.interval": "200",
            "hbase.regionserver.msginterval": "1000",
            # The counts of a run are read at its start and its end.
            "hbase.regionserver.metrics.period": "1000",
            # Native sockets would bypass the class that binds a JVM to its host's address.
            "hbase.netty.nativetransport": "false",
            **cache_settings(own),
            **own,
        }

    def of_host(self, host: Host) -> dict[str, str]:
        """Properties of the daemons of one host: its name, its address, its ports."""
        found = {
            "hbase.tmp.dir": f"{host.root}/hbase",
            "hbase.master.hostname": host.name,
            "hbase.master.ipc.address": host.address,
            "hbase.master.info.bindAddress": host.address,
            "hbase.unsafe.regionserver.hostname": host.name,
            "hbase.regionserver.ipc.address": host.address,
            "hbase.regionserver.info.bindAddress": host.address,
        }
        names = {MASTER: "hbase.master", "regionserver": "hbase.regionserver"}
        for role, prefix in names.items():
            if host in self.hosts[role]:
                found[f"{prefix}.port"] = str(self.ports[role, host.name, "rpc"])
                found[f"{prefix}.info.port"] = str(self.ports[role, host.name, "web"])
        return found

    def zookeeper(self, host: Host, folder: str) -> str:
        """Text of a ZooKeeper's configuration file."""
        rows = {
            "dataDir": folder,
            "clientPort": self._client_port(host),
            "clientPortAddress": host.address,
            "admin.enableServer": "false",
            "maxClientCnxns": 0,
            # sessions may request a time-out of 2 to 600 ticks
            "tickTime": 1000,
            "maxSessionTimeout": 600_000,
            "initLimit": 20,
            "syncLimit": 10,
        }
        if len(self.hosts["zookeeper"]) > 1:
            for number, peer in enumerate(self.hosts["zookeeper"], start=1):
                ports = [self.ports["zookeeper", peer.name, n] for n in ("peer", "election")]
                rows[f"server.{number}"] = f"{peer.name}:{ports[0]}:{ports[1]}"
        return "".join(f"{name}={value}\n" for name, value in rows.items())

    def number_of(self, host: Host) -> int:
        """Number of a ZooKeeper server in its ensemble, from 1."""
        return list(self.hosts["zookeeper"]).index(host) + 1

    def _client_port(self, host: Host | None) -> int:
        return self.ports["zookeeper", (host or self.hosts["zookeeper"][0]).name, "client"]


def plan_site(hosts: Mapping[str, Sequence[Host]], root: str, *, own_networks: bool) -> Site:
    """Give every daemon its default ports or, if hosts share a network, free ports."""
    return Site(hosts, plan_ports(hosts, _PORTS, own_networks=own_networks), root)


def xml_of(properties: Mapping[str, str]) -> str:
    """Text of an hbase-site.xml."""
    site = ElementTree.Element("configuration")
    for name, value in sorted(properties.items()):
        entry = ElementTree.SubElement(site, "property")
        ElementTree.SubElement(entry, "name").text = name
        ElementTree.SubElement(entry, "value").text = value
    ElementTree.indent(site)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(site, "unicode") + "\n"
