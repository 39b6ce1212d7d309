"""The engine ``trino``: a coordinator and workers that read the files of a Hadoop cluster.

As with Spark, nothing runs between jobs: its servers are started for one job and end with it, so
that no trial uses the compiled code of another, and no idle server runs alongside other engines.
The servers use a Java of their own, which is newer than Hadoop's.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import psutil

from windtunnel.cluster import ROLES, Cluster
from windtunnel.engines.engine import Engine, java_of
from windtunnel.engines.hadoop.cds import class_list, make_archive
from windtunnel.engines.hadoop.client import numbered, watch, why
from windtunnel.engines.hadoop.providers import ensure_properties
from windtunnel.engines.java import archive_options
from windtunnel.engines.releases import Line
from windtunnel.engines.running import tail
from windtunnel.engines.trino import query
from windtunnel.engines.trino.site import (
    CATALOG,
    COORDINATOR,
    VERSION,
    WORKER,
    Site,
    plan_site,
)
from windtunnel.engines.trino.sizes import COORDINATOR_MB, planned_bytes, worker_mb
from windtunnel.engines.trino.status import Status
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host, ProcessSpec

JAR = "windtunnel-trino.jar"
MAIN_CLASS = ROLES.main_classes("trino")
_READY_LIMIT_S = 300.0
_STEP_S = 0.2
_END_S = 10.0
# The options of Trino's own start script (jvm.config of its packages) that apply to small heaps.
_OPTIONS = (
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:PerMethodRecompilationCutoff=10000",
    "-XX:PerBytecodeRecompilationCutoff=10000",
    "-Djdk.attach.allowAttachSelf=true",
    "-Djdk.nio.maxCachedBufferSize=2000000",
    # disables a second process that would attach for the sizes of objects; it always fails here
    "-Djol.skipHotspotSAAttach=true",
    "-Dfile.encoding=UTF-8",
    "-XX:+EnableDynamicAgentLoading",
    "--sun-misc-unsafe-memory-access=allow",
    "-XX:-UsePerfData",
)
# These are also options of the class archive.
_MODULES = ("--enable-native-access=ALL-UNNAMED",)
# The coordinator plans and waits; workers do the measured work: they use the collector that Trino
# requires, and both compilers.
_COLLECTOR = {
    COORDINATOR: ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    WORKER: ("-XX:+UseG1GC",),
}

# Jars that only the connector's HDFS client needs; the connector shares the others with it.
_HDFS_ALONE = ("trino-hdfs-", "hadoop-apache-")
# A server finds a plug-in's class by this file (java.util.ServiceLoader).
_SERVICE = ("META-INF/services/io.trino.spi.Plugin", "io.trino.plugin.hive.HivePlugin\n")

Step = dict[str, Any]


@dataclass(frozen=True)
class TrinoRun:
    """The coordinator's report of each step; ``started_at`` and ``ready_at`` are epoch seconds.

    ``wall_s`` is the time that the servers ran, including their start.
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
    guarded: ClassVar[bool] = False

    @classmethod
    def placed(cls, cluster: Cluster) -> Mapping[str, Sequence[str]]:
        """Names of the hosts that each role runs on; there is one coordinator."""
        found = super().placed(cluster)
        return {**found, COORDINATOR: found[COORDINATOR][:1]}

    @classmethod
    def memory_bytes(cls, cluster: Cluster) -> int:
        """The heaps and the other memory of the JVMs."""
        return planned_bytes(
            cluster, len(cls.placed(cluster)[WORKER]), psutil.virtual_memory().total
        )

    def start(self) -> None:
        """Find its Java and write the files that all hosts read; no server is started.

        The first start on a machine creates a class archive, which takes half a minute: without
        it, each server parses ten thousand classes before it is ready.
        """
        self._label: str | None = None  # of the job that the servers run for
        self._lock = threading.Lock()  # a fault starts servers from its own thread
        self._client: _Client | None = None
        java = java_of(type(self), self.hadoop.cluster)
        assert java is not None
        self._java = java.binary
        self._security = ensure_properties(java, self.jars.root)
        self._jar = self.hadoop.shared / JAR
        package = resources.files("windtunnel.engines.trino")
        self._jar.parent.mkdir(parents=True, exist_ok=True)
        self._jar.write_bytes(package.joinpath(JAR).read_bytes())
        self._lay_plugin(self.plugins / CATALOG)
        classes = class_list(__package__, self.name)
        self._archive = make_archive(java.binary, java.version, [self.jars.lib], classes, _MODULES)

    @property
    def plugins(self) -> Path:
        """Folder of plug-ins, for all servers, with one folder of jars per plug-in."""
        return self.hadoop.shared / "trino-plugins"

    def _lay_plugin(self, folder: Path) -> None:
        """Link the jars of the connector, and name the class that a server loads first.

        The connector loads its HDFS client separately, from a subfolder of its own folder.
        """
        inner = folder / "hdfs"
        inner.mkdir(parents=True, exist_ok=True)
        for jar in (*self.jars.plugin.glob("*.jar"), self._jar):
            for place in (inner,) if jar.name.startswith(_HDFS_ALONE) else (inner, folder):
                (place / jar.name).unlink(missing_ok=True)
                (place / jar.name).symlink_to(jar)
        with zipfile.ZipFile(folder / "services.jar", "w") as services:
            services.writestr(*_SERVICE)

    def run(
        self, name: str, steps: Sequence[Step], deadline_s: float, timed: int | None = None
    ) -> TrinoRun:
        """Start the servers, execute steps (``query.py``) on the client's host, end the servers.

        :meth:`progress` counts the last ``timed`` steps (None: all).

        Raises
        ------
        TrialInvalidError
            If a query fails or is still running at ``deadline_s`` (monotonic).
        DeploymentError
            If Trino does not become ready, or a daemon dies meanwhile.
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
            argv = [sys.executable, "-P", query.__file__, str(description)]
            process = client.spawn(ProcessSpec(label, argv, log, client.root))
            self._client = _Client(log, len(steps), len(steps) if timed is None else timed)
            try:
                code = watch(self.hadoop, process, name, deadline_s)
            finally:
                self._client = None
        wall_s = time.time() - began
        if code != 0:
            raise TrialInvalidError(f"{name} failed (exit code {code}): {why(log)}")
        done = steps_in(log.read_text(errors="replace"))
        if [step["name"] for step in done] != [step["name"] for step in steps]:
            raise TrialInvalidError(f"Trino did not execute all steps of {name}; log: {log}")
        return TrinoRun(done, began, ready, wall_s, log)

    @contextmanager
    def _serving(self, label: str) -> Iterator[Site]:
        """Servers that are ready; they end with the context."""
        layout = self.hadoop.daemons.layout
        found = {placement.host.name: placement.host for placement in layout.placements}
        hosts = {
            role: [found[name] for name in names if name in found]
            for role, names in self.placed(layout.cluster).items()
        }
        self.site = plan_site(
            hosts,
            f"{time.time_ns():x}",
            self.hadoop.daemons.client_conf,
            self.plugins,
            own_networks=layout.loopback is None,
        )
        try:
            with self._lock:
                self._label = label
                for role, players in hosts.items():
                    for host in players:
                        folder = self.site.folder(role, host)
                        for name, text in self.site.files(role, host, self.settings).items():
                            host.write_text(folder / name, text)
                        self._spawn(role, host)
            self._wait_ready()
            yield self.site
        finally:
            with self._lock:  # from here on no server is started again
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
        options = [
            f"-Djdk.net.hosts.file={self.hadoop.hosts_file}",
            *archive_options(self._archive),
        ]
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
            MAIN_CLASS[role],
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
        """Restart a server that has ended, under its old name.

        If its job has ended, too, this does nothing: the next job starts its own servers.
        """
        role, _, host_name = name.partition("@")
        with self._lock:
            if self._label is None or name in self.running:
                return
            host = next(host for host in self.site.hosts[role] if host.name == host_name)
            self._spawn(role, host)

    def progress(self) -> float | None:
        """Completed fraction of the timed queries, by the coordinator; None before they begin."""
        client = self._client
        if client is None:
            return None
        with contextlib.suppress(FileNotFoundError):
            return progress_in(client.log.read_text(errors="replace"), client.steps, client.timed)
        return None

    def recover(self) -> None:
        """Wait until all servers of a running job serve again."""
        self.check_alive()
        if self.running:
            self._wait_ready()


@dataclass(frozen=True)
class _Client:
    """The running client: its log, its number of steps, and how many of them are timed."""

    log: Path
    steps: int
    timed: int


def steps_in(text: str) -> list[Step]:
    """The client's report of each step that has ended, one per line."""
    return [line for line in _lines(text) if query.PROGRESS not in line]


def progress_in(text: str, steps: int, timed: int) -> float | None:
    """Completed fraction of the last ``timed`` of all steps, by the client's log so far.

    None before the first of them has begun.
    """
    complete = text[: text.rfind("\n") + 1]  # the last line may be incomplete
    lines = _lines(complete)
    ended = len(steps_in(complete)) - (steps - timed)
    now = lines[-1].get(query.PROGRESS) if lines else None
    if ended < 0 or (ended == 0 and now is None):
        return None
    return min(1.0, (ended + (now or 0.0)) / timed)


def _lines(text: str) -> list[Step]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
