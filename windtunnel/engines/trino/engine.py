"""The engine ``trino``: a coordinator and workers that read the files of a Hadoop cluster.

As with Spark nothing of it runs between jobs: its servers are started for one job and end with it,
so that no trial inherits another's compiled code, and nothing idles beside other engines. They
run on a Java of their own, which is newer than Hadoop's.
"""

from __future__ import annotations

import json
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.engines.engine import Engine, java_of
from windtunnel.engines.hadoop.cds import make_archive
from windtunnel.engines.hadoop.client import numbered, watch, why
from windtunnel.engines.hadoop.daemons import tail
from windtunnel.engines.hadoop.providers import ensure_properties
from windtunnel.engines.lines import Line
from windtunnel.engines.trino import ask
from windtunnel.engines.trino.site import (
    CATALOG,
    COORDINATOR,
    VERSION,
    WORKER,
    Site,
    placed,
    plan_site,
)
from windtunnel.engines.trino.sizes import COORDINATOR_MB, planned_bytes, worker_mb
from windtunnel.engines.trino.status import Status
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host, ProcessSpec

JAR = "windtunnel-trino.jar"
MAIN = "io.windtunnel.trino.Main"
_READY_LIMIT_S = 120.0
_STEP_S = 0.2
_END_S = 10.0
# What Trino's own start script tells every server (jvm.config of its packages), as far as it bears
# on small heaps.
_OPTIONS = (
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:PerMethodRecompilationCutoff=10000",
    "-XX:PerBytecodeRecompilationCutoff=10000",
    "-Djdk.attach.allowAttachSelf=true",
    "-Djdk.nio.maxCachedBufferSize=2000000",
    # a second process that would look into this one, for sizes of objects; it fails everywhere
    "-Djol.skipHotspotSAAttach=true",
    "-Dfile.encoding=UTF-8",
    "-XX:+EnableDynamicAgentLoading",
    "--sun-misc-unsafe-memory-access=allow",
    "-XX:-UsePerfData",
)
# The same for the class archive.
_MODULES = ("--enable-native-access=ALL-UNNAMED",)
# The coordinator plans and waits; workers do the work that is measured: the collector that Trino
# asks for, and both compilers.
_COLLECTOR = {
    COORDINATOR: ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    WORKER: ("-XX:+UseG1GC",),
}

# Jars of that client; it shares the others.
_HDFS_ALONE = ("trino-hdfs-", "hadoop-apache-")
# By this a server finds a plug-in's class (java.util.ServiceLoader).
_SERVICE = ("META-INF/services/io.trino.spi.Plugin", "io.trino.plugin.hive.HivePlugin\n")

Step = dict[str, Any]


@dataclass(frozen=True)
class TrinoRun:
    """What the coordinator told of each step; ``started_at`` and ``ready_at`` are epoch seconds.

    ``wall_s`` is how long the servers were up, their start included.
    """

    steps: Sequence[Step]
    started_at: float
    ready_at: float
    wall_s: float
    log: Path


class Trino(Engine):
    """See the module's docstring."""

    name: ClassVar[str] = "trino"
    lines: ClassVar[Mapping[str, Line]] = {VERSION: Line("trino-474", 23, None, own_java=True)}
    roles: ClassVar[tuple[str, ...]] = (COORDINATOR, WORKER)
    guarded: ClassVar[bool] = False

    @classmethod
    def placed(cls, cluster: Cluster) -> Mapping[str, Sequence[str]]:
        """Names of the hosts that each role runs on."""
        return placed(cluster)

    @classmethod
    def memory_bytes(cls, cluster: Cluster) -> int:
        """The heaps, and what a JVM needs beside its heap."""
        return planned_bytes(cluster, len(placed(cluster)[WORKER]), psutil.virtual_memory().total)

    def start(self) -> None:
        """Find its Java and lay what all hosts read; no server is started.

        The first time on a machine a class archive is made, which takes half a minute: without it
        each server parses ten thousand classes of its own before it is ready.
        """
        self._label: str | None = None  # of the job that servers are up for
        java = java_of(type(self), self.hadoop.cluster)
        assert java is not None
        self._java = java.binary
        self._security = ensure_properties(java, self.jars.root)
        self._jar = self.hadoop.shared / JAR
        package = resources.files("windtunnel.engines.trino")
        self._jar.parent.mkdir(parents=True, exist_ok=True)
        self._jar.write_bytes(package.joinpath(JAR).read_bytes())
        self._lay_plugin(self.plugins / CATALOG)
        classes = package.joinpath("classlist/trino.txt.gz").read_bytes()
        self._archive = make_archive(java.binary, java.version, [self.jars.lib], classes, _MODULES)

    @property
    def plugins(self) -> Path:
        """Folder of plug-ins, for all servers: a folder of jars each."""
        return self.hadoop.shared / "trino-plugins"

    def _lay_plugin(self, folder: Path) -> None:
        """Link the jars of the connector, and name the class that a server is to begin with.

        It loads its client of HDFS apart from itself, from a folder within its own.
        """
        inner = folder / "hdfs"
        inner.mkdir(parents=True, exist_ok=True)
        for jar in (*self.jars.plugin.glob("*.jar"), self._jar):
            for place in (inner,) if jar.name.startswith(_HDFS_ALONE) else (inner, folder):
                (place / jar.name).unlink(missing_ok=True)
                (place / jar.name).symlink_to(jar)
        with zipfile.ZipFile(folder / "services.jar", "w") as services:
            services.writestr(*_SERVICE)

    def run(self, name: str, steps: Sequence[Step], deadline_s: float) -> TrinoRun:
        """Start the servers, take steps (see ``ask.py``) from the client's host, end the servers.

        Raises
        ------
        TrialInvalidError
            If a query fails or is still running at ``deadline_s`` (monotonic).
        DeploymentError
            If Trino does not come up, or a daemon dies meanwhile.
        """
        client = self.hadoop.client
        label = numbered(f"trino-{name}")
        log = client.logs / "clients" / f"{label}.log"
        began = time.time()
        with self._serving(label) as site:
            ready = time.time()
            description = log.with_suffix(".json")
            job = {"url": site.coordinator, "steps": list(steps)}
            client.write_text(description, json.dumps(job, indent=1))
            argv = [sys.executable, "-P", ask.__file__, str(description)]
            process = client.spawn(ProcessSpec(label, argv, log, client.root))
            code = watch(self.hadoop, process, name, deadline_s)
        wall_s = time.time() - began
        if code != 0:
            raise TrialInvalidError(f"{name} failed (exit code {code}): {why(log)}")
        told = told_in(log.read_text(errors="replace"))
        if [step["name"] for step in told] != [step["name"] for step in steps]:
            raise TrialInvalidError(f"Trino did not answer all that {name} asked; log: {log}")
        return TrinoRun(told, began, ready, wall_s, log)

    @contextmanager
    def _serving(self, label: str) -> Iterator[Site]:
        """Servers that are ready, until the context ends."""
        layout = self.hadoop.daemons.layout
        found = {placement.host.name: placement.host for placement in layout.placements}
        hosts = {
            role: [found[name] for name in names if name in found]
            for role, names in placed(layout.cluster).items()
        }
        self.site = plan_site(
            hosts,
            f"{time.time_ns():x}",
            self.hadoop.daemons.client_conf,
            self.plugins,
            own_networks=layout.loopback is None,
        )
        self._label = label
        try:
            for role, players in hosts.items():
                for host in players:
                    folder = self.site.folder(role, host)
                    for name, text in self.site.files(role, host, self.settings).items():
                        host.write_text(folder / name, text)
                    self._spawn(role, host)
            self._wait_ready()
            yield self.site
        finally:
            self._label = None
            self.close()

    def _spawn(self, role: str, host: Host) -> None:
        name = f"{role}@{host.name}"
        folder = self.site.folder(role, host)
        log = host.logs / f"{self._label}-{role}.log"
        env = {"JAVA_HOME": str(self._java.parent.parent)}
        argv = self._command(role, host, folder)
        self.running[name] = host.spawn(ProcessSpec(name, argv, log, folder, env))

    def _command(self, role: str, host: Host, folder: Path) -> list[str]:
        layout = self.hadoop.daemons.layout
        heap_mb = COORDINATOR_MB if role == COORDINATOR else worker_mb(layout)
        options = [f"-Djdk.net.hosts.file={self.hadoop.hosts_file}"]
        if self._archive:
            options.append(f"-XX:SharedArchiveFile={self._archive}")
        if self._security:
            options.append(f"-Djava.security.properties={self._security}")
        return [
            str(self._java),
            f"-Xmx{heap_mb}m",
            *_COLLECTOR[role],
            *_MODULES,
            *_OPTIONS,
            *options,
            f"-Djava.io.tmpdir={folder}",
            f"-Dconfig={folder / 'config.properties'}",
            f"-Dlog.levels-file={folder / 'log.properties'}",
            "-cp",
            f"{self.jars.lib}/*:{self._jar}",
            MAIN,
            VERSION,
        ]

    def _wait_ready(self) -> None:
        """Wait until all servers have started and the coordinator knows all workers."""
        deadline = time.monotonic() + _READY_LIMIT_S
        status = Status(self.site)
        try:
            while missing := status.missing():
                self.hadoop.check_alive()
                if time.monotonic() > deadline:
                    log = next(iter(self.running.values())).log
                    raise DeploymentError(
                        f"Trino was not ready after {_READY_LIMIT_S:.0f} s; still missing: "
                        + ", ".join(missing),
                        remedy="see the logs of the coordinator and of each worker.",
                        log=log,
                        tail=tail(log),
                    )
                time.sleep(_STEP_S)
        finally:
            status.close()

    def restart(self, name: str) -> None:
        """Start a server that has ended again, under its old name; not where its job has, too."""
        if self._label is None:
            return
        role, _, host_name = name.partition("@")
        host = next(host for host in self.site.hosts[role] if host.name == host_name)
        self._spawn(role, host)

    def recover(self) -> None:
        """Wait until all servers serve again, if there are any."""
        self.check_alive()
        if self.running:
            self._wait_ready()


def told_in(text: str) -> list[Step]:
    """What the client told, line by line."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
