"""Web servers of a cluster on the loopback interface, with recorded answers of Hadoop 3.5."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

CLUSTER = "CID-fb083aa4-1fd3-4b3f-a609-764ac189d9cf"


def application(name: str, tags: str = "", **facts: Any) -> dict[str, Any]:
    """An application as the ResourceManager returns it."""
    return {
        "id": f"application_1795560214636_{name}",
        "state": "RUNNING",
        "queue": "root.default",
        "applicationType": "MAPREDUCE",
        "applicationTags": tags,
        "runningContainers": 2,
        "resourceRequests": [],
        **facts,
    }


@dataclass
class ClusterWeb:
    """The answers of the NameNode, the ResourceManager and the history server.

    ``beans`` are those of the NameNode by name, ``conf`` the properties in force,
    ``nodes`` the NodeManagers, ``scheduler`` the scheduler and its queues.
    """

    applications: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(
        default_factory=lambda: {"containersPending": 0, "activeNodes": 1}
    )
    conf: dict[str, str] = field(default_factory=dict)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    beans: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            "NameNodeStatus": {"State": "active"},
            "NameNodeInfo": {"ClusterId": CLUSTER, "SoftwareVersion": "3.5.0"},
            "FSNamesystem": {
                "CapacityTotal": 1000,
                "CapacityRemaining": 600,
                "MissingBlocks": 0,
                "UnderReplicatedBlocks": 3,
            },
            "FSNamesystemState": {"NumLiveDataNodes": 1},
        }
    )
    scheduler: dict[str, Any] = field(
        default_factory=lambda: {
            "queues": {"queue": [{"queueName": "default"}, {"queueName": "bench"}]}
        }
    )
    requests: list[str] = field(default_factory=list)

    def answer(self, target: str) -> dict[str, Any] | None:
        """The JSON object for a request; None for 404."""
        self.requests.append(target)
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/jmx":
            name = query["qry"].rpartition("name=")[2]
            return {"beans": [self.beans[name]] if name in self.beans else []}
        if parts.path == "/conf":
            value = self.conf.get(query["name"])
            return {"property": {"key": query["name"], "value": value}} if value else None
        if parts.path == "/ws/v1/cluster/apps":
            tag = query.get("applicationTags")
            found = [
                a for a in self.applications if tag in (None, *a["applicationTags"].split(","))
            ]
            return {"apps": {"app": found} if found else None}
        others: dict[str, dict[str, Any]] = {
            "/ws/v1/cluster/info": {"clusterInfo": {"hadoopVersion": "3.5.0"}},
            "/ws/v1/cluster/nodes": {"nodes": {"node": self.nodes} if self.nodes else None},
            "/ws/v1/cluster/metrics": {"clusterMetrics": self.metrics},
            "/ws/v1/cluster/scheduler": {"scheduler": {"schedulerInfo": self.scheduler}},
            "/ws/v1/history/info": {"historyInfo": {"hadoopVersion": "3.5.0"}},
        }
        return others.get(parts.path)


def write_site(file: Path, properties: Mapping[str, str], *, final: bool = False) -> None:
    """Write a site file with these properties."""
    end = "<final>true</final></property>" if final else "</property>"
    rows = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value>{end}"
        for name, value in properties.items()
    )
    file.write_text(f"<configuration>{rows}</configuration>")


@contextmanager
def serving(web: ClusterWeb, folder: Path) -> Iterator[Path]:
    """A configuration folder below ``folder`` whose addresses are a server with these answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = web.answer(self.path)
            body = json.dumps(found or {}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"127.0.0.1:{server.server_port}"
    names = (
        "dfs.namenode.http-address",
        "yarn.resourcemanager.webapp.address",
        "mapreduce.jobhistory.webapp.address",
    )
    conf = folder / "conf"
    conf.mkdir()
    properties = {**dict.fromkeys(names, address), "fs.defaultFS": "hdfs://nn:8020"}
    write_site(conf / "core-site.xml", properties)
    try:
        yield conf
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
