"""Hosts, ports and settings of Trino's servers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engines.ports import Ports, plan_ports
from windtunnel.hosts.base import Host

COORDINATOR, WORKER = "trino-coordinator", "trino-worker"
CATALOG = "hive"
VERSION = "474"
"""The version that servers report; the coordinator ignores workers with another version."""
_ENVIRONMENT = "windtunnel"
_INVENTORY = "workers.json"
_PORTS = {COORDINATOR: {"http": 8080}, WORKER: {"http": 8081}}
# Prefixes of the properties that the connector reads instead of the server.
_CONNECTOR = ("hive.", "parquet.", "orc.", "fs.")


@dataclass(frozen=True)
class Site:
    """Hosts and ports of one start of Trino, which ``stamp`` identifies.

    ``hadoop_conf`` is a folder with the settings of Hadoop's clients, ``plugins`` the folder of
    the plug-ins.
    """

    hosts: Mapping[str, Sequence[Host]]
    ports: Ports
    stamp: str
    hadoop_conf: Path
    plugins: Path

    def url(self, role: str, host: Host) -> str:
        """URL of a server."""
        return f"http://{host.address}:{self.ports[role, host.name, 'http']}"

    @property
    def coordinator(self) -> str:
        """URL of the coordinator, which receives the queries."""
        return self.url(COORDINATOR, self.hosts[COORDINATOR][0])

    def folder(self, role: str, host: Host) -> Path:
        """Folder of a server, for its settings and its output."""
        return host.root / f"trino-{self.stamp}" / role

    def files(self, role: str, host: Host, own: Mapping[str, str]) -> dict[str, str]:
        """Text of a server's settings by their names in its folder.

        ``own`` are the description's, ``trino.PROPERTY``: they override choices of this method, but
        not addresses and folders.
        """
        wanted = {name.removeprefix("trino."): value for name, value in own.items()}
        connector = {k: v for k, v in wanted.items() if k.startswith(_CONNECTOR)}
        server = {k: v for k, v in wanted.items() if k not in connector}
        return {
            "config.properties": _text(self._server(role, host, server)),
            _INVENTORY: json.dumps(self._inventory(), indent=1),
            "log.properties": "io.trino=INFO\n",
            f"catalog/{CATALOG}.properties": _text(self._connector(connector)),
        }

    def _server(self, role: str, host: Host, own: Mapping[str, str]) -> dict[str, str]:
        chosen = {"http-server.log.enabled": "false"}
        if role == COORDINATOR:
            chosen["web-ui.enabled"] = "false"
            # Windtunnel detects dead servers itself; waiting for heartbeats takes seconds
            chosen["failure-detector.enabled"] = "false"
        place = {
            "coordinator": str(role == COORDINATOR).lower(),
            "http-server.http.port": str(self.ports[role, host.name, "http"]),
            "discovery.uri": self.coordinator,
            "plugin.dir": str(self.plugins),
            "catalog.config-dir": str(self.folder(role, host) / "catalog"),
        }
        if role == COORDINATOR:
            place["node-scheduler.include-coordinator"] = "false"
            # the workers are known in advance
            place["service-inventory.uri"] = f"file://{self.folder(role, host) / _INVENTORY}"
        return {**chosen, **own, **place, **self._node(role, host)}

    def _inventory(self) -> dict[str, object]:
        """All workers, in the format of the coordinator's service discovery."""
        properties = {"node_version": VERSION, "coordinator": "false"}
        workers = [
            {
                "id": str(uuid.uuid5(uuid.NAMESPACE_URL, self._id(WORKER, host))),
                "nodeId": self._id(WORKER, host),
                "type": "trino",
                "pool": "general",
                "location": f"/{host.name}",
                "state": "RUNNING",
                "properties": {**properties, "http": self.url(WORKER, host)},
            }
            for host in self.hosts[WORKER]
        ]
        return {"environment": _ENVIRONMENT, "services": workers}

    def _id(self, role: str, host: Host) -> str:
        return f"{role}-{host.name}-{self.stamp}"

    def _node(self, role: str, host: Host) -> dict[str, str]:
        return {
            "node.environment": _ENVIRONMENT,
            "node.id": self._id(role, host),
            "node.internal-address": host.address,
            "node.bind-ip": host.address,
        }

    def _connector(self, own: Mapping[str, str]) -> dict[str, str]:
        catalog = self.folder(COORDINATOR, self.hosts[COORDINATOR][0]) / "tables"
        sites = [str(self.hadoop_conf / f"{name}-site.xml") for name in ("core", "hdfs")]
        place = {
            "connector.name": "hive",
            # only the coordinator looks up the files of a table
            "hive.metastore": "file",
            "hive.metastore.catalog.dir": f"file://{catalog}",
            "hive.config.resources": ",".join(sites),
            "fs.hadoop.enabled": "true",
        }
        return {**own, **place}


def _text(properties: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def plan_site(
    hosts: Mapping[str, Sequence[Host]],
    stamp: str,
    hadoop_conf: Path,
    plugins: Path,
    *,
    own_networks: bool,
) -> Site:
    """Give every server its port."""
    ports = plan_ports(hosts, _PORTS, own_networks=own_networks)
    return Site(hosts, ports, stamp, hadoop_conf, plugins)
