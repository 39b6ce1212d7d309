"""A real Prometheus server and real node exporters, inside the network of a deployment."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from windtunnel.engines.transport import Transport
from windtunnel.hosts.leftovers import entering
from windtunnel.testbeds.local import LocalDeployment

SERVER, EXPORTER = "prometheus", "prometheus-node-exporter"
_URL = "http://127.0.0.1:9090"
_COLLECTORS = ("cpu", "diskstats", "loadavg", "meminfo", "netclass", "netdev", "uname")
_LIMIT_S = 60


def missing() -> str:
    """Why no server can run; empty if one can."""
    lacking = [name for name in (SERVER, EXPORTER) if shutil.which(name) is None]
    if not lacking:
        return ""
    return f"not installed: {', '.join(lacking)} (on Debian and Ubuntu: packages of these names)"


@contextmanager
def running(deployment: LocalDeployment, folder: Path) -> Iterator[str]:
    """The URL, within the network of the deployment, of a server that has scraped all hosts."""
    targets = [f"{host.address}:9100" for host in deployment.hosts if host.name != "client"]
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [{"job_name": "node", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    collectors = [f"--collector.{name}" for name in _COLLECTORS]
    commands = [
        [EXPORTER, f"--web.listen-address={target}", "--collector.disable-defaults", *collectors]
        for target in targets
    ]
    commands.append(
        [
            SERVER,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'prometheus'}",
            "--web.listen-address=127.0.0.1:9090",
        ]
    )
    log = folder / "prometheus.log"
    with ExitStack() as stack:
        output = stack.enter_context(log.open("w"))
        for command in commands:
            argv = entering(deployment.registration.folder, "network", command)
            process = subprocess.Popen(argv, stdout=output, stderr=subprocess.STDOUT)
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
        _wait_for_scrapes(deployment, len(targets), log)
        yield _URL


def _wait_for_scrapes(deployment: LocalDeployment, count: int, log: Path) -> None:
    """Wait until each target was scraped three times."""
    deadline = time.monotonic() + _LIMIT_S
    query = {"query": "count_over_time(node_load1[30s]) > 2"}
    with httpx.Client(transport=Transport(deployment.hosts[0].open_socket)) as client:
        while time.monotonic() < deadline:
            try:
                answer = client.get(f"{_URL}/api/v1/query", params=query).json()
                if len(answer["data"]["result"]) == count:
                    return
            except (httpx.TransportError, ValueError, KeyError):
                pass  # it does not listen yet, or is not ready
            time.sleep(0.2)
    raise AssertionError(f"Prometheus has not scraped {count} hosts: {log.read_text()[-2000:]}")
