"""Apache Ozone as the file system below Hadoop, with the file system ``ofs``.

The storage container manager assigns blocks to datanodes, the ozone manager holds the names. The
daemons have class paths of their own: they were built with another version of Hadoop.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

from windtunnel.cluster import ROLES, Cluster
from windtunnel.cluster.settings import engine_of, text_of
from windtunnel.engines.artifacts import ArtifactSet, ensure_shipped
from windtunnel.engines.deployment import SHARED, TRIALS, copies_text
from windtunnel.engines.faults import Copies
from windtunnel.engines.hadoop.cds import ClientClasses, class_list, make_archive
from windtunnel.engines.hadoop.file_server import FileServer
from windtunnel.engines.hadoop.software import OPENS
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.hbase.site import xml_of
from windtunnel.engines.ozone.site import DATANODE, OM, SCM, plan_site
from windtunnel.engines.ozone.status import Status
from windtunnel.engines.storage_system import (
    Ground,
    Jvms,
    State,
    StorageSystem,
    no_warm_starts,
    not_single,
)
from windtunnel.hosts.base import Host, Process, ProcessSpec

LOCK: Final = "ozone-2.2"
_MAIN: Final = ROLES.main_classes("ozone")
_HEAP_MB: Final = {SCM: 384, OM: 384, DATANODE: 512}
_RESIDENT_MB: Final = {SCM: 500, OM: 500, DATANODE: 600}
_REPLICAS: Final = (1, 3)  # RATIS supports no others
# The default of ozone.replication.allowed-configs in Ozone 2.2; with others, its manager ends.
_CODES: Final = ("RS-3-2", "RS-6-3", "RS-10-4")
_OPENS: Final = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.nio", "java.lang.reflect", "java.time")
)
# Native sockets would bypass the class that binds a JVM to its host's address.
_SOCKETS: Final = (
    "-Dio.netty.transport.noNative=true",
    "-Dorg.apache.ratis.thirdparty.io.netty.transport.noNative=true",
)
_LOG4J: Final = """\
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
"""


class Ozone(StorageSystem):
    """See the module's docstring."""

    name: ClassVar[str] = "ozone"
    owner: ClassVar[str] = "ozone"
    engines: ClassVar[frozenset[str] | None] = frozenset()

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.server = FileServer(ground)
        self.site = plan_site(ground.cluster, ground.placements, own_networks=ground.own_networks)
        self.status = Status(self.site)

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """The reasons why Ozone cannot store the data of a cluster."""
        found = [*not_single(cluster, SCM, OM), *no_warm_starts(cluster)]
        storage = cluster.storage
        if storage.external:
            found.append("storage.external: not supported with ozone yet")
        if storage.code is None and cluster.replication not in _REPLICAS:
            found.append(
                f"storage.replication: Ozone stores 1 or 3 replicas, not {cluster.replication}"
            )
        if storage.code is not None and storage.code.name not in _CODES:
            found.append(
                f"storage.erasure_code: Ozone has {', '.join(_CODES)}, not {storage.code.name}"
            )
        return found

    @classmethod
    def daemons_bytes(cls, cluster: Cluster) -> int:
        """Memory of all daemons of Ozone."""
        return sum(mb * len(cluster.nodes_with(role)) for role, mb in _RESIDENT_MB.items()) << 20

    @classmethod
    def jars(cls, cluster: Cluster) -> Sequence[Path]:
        """Hadoop's client of Ozone, fetched with the daemons if missing."""
        return sorted(_artifacts().plugin.glob("*.jar"))

    @classmethod
    def client_classes(cls, cluster: Cluster) -> ClientClasses:
        """The classes of Ozone's client."""
        return ClientClasses(cls.jars(cluster), class_list(__package__, f"{cls.name}-client"))

    def settings(self) -> Mapping[str, str]:
        """Ozone as the default file system."""
        package = "org.apache.hadoop.fs.ozone"
        return {
            "fs.defaultFS": f"ofs://{self.site.manager}/",
            "fs.ofs.impl": f"{package}.RootedOzoneFileSystem",
            "fs.AbstractFileSystem.ofs.impl": f"{package}.RootedOzFs",
            **self.site.client(),
        }

    def class_path(self) -> Sequence[Path]:
        """The folder with ``ozone-site.xml``.

        Ozone's client reads some properties only from files on the class path, and its defaults
        override ``core-site.xml``.
        """
        return (self._client_conf,)

    def begin(self, jvms: Jvms) -> None:
        """Write the settings; start the storage container manager and the datanodes.

        The first start on a machine creates a class archive, which takes half a minute.
        """
        self._jvms = jvms
        software = jvms.layout.software
        classes, options = class_list(__package__, self.name), (*OPENS, *_OPENS)
        self._archive = make_archive(
            software.java, software.java_version, [_artifacts().lib], classes, options
        )
        self._write()
        self._spawn(SCM, self.site.hosts[SCM][0], first=True)
        for host in self.site.hosts[DATANODE]:
            self._spawn(DATANODE, host)

    def state(self) -> State:
        """Take the next step of the set-up; returns what is still missing."""
        nodes = self.status.nodes()
        if nodes is None:
            return State(serving=False, missing=["the storage container manager"])
        manager = self.site.hosts[OM][0]
        if f"{OM}@{manager.name}" not in self.running:
            self._spawn(OM, manager, first=True)
        missing = self._unready(nodes.healthy, safe_mode=nodes.safe_mode)
        if missing:
            return State(serving=False, missing=missing)
        if self.server.name not in self.running:
            self.running[self.server.name] = self.server.spawn(self._jvms)
        listens = self.server.listens()
        return State(serving=True, missing=[] if listens else ["the file server"])

    def web_server(self) -> tuple[str, int]:
        """The address of Windtunnel's own server for requests of WebHDFS."""
        return self.server.address

    def prepare(self, files: WebHdfs) -> None:
        """Create the volume and the buckets of the workloads: MapReduce does not create them."""
        for folder in (TRIALS, SHARED):
            files.make_folder(folder)

    def copies(self, since: Mapping[str, float]) -> Copies | None:
        """The containers with too few replicas; None without an answer."""
        nodes = self.status.nodes()
        if nodes is None:
            return None
        unready = self._unready(nodes.healthy, safe_mode=nodes.safe_mode)
        return Copies(holders=nodes.healthy, wanting=nodes.wanting, serving=not unready)

    def expected_copies(self, replication: int) -> str:
        """All files have the replication of the cluster, or all cells of its erasure code."""
        code = self.cluster.storage.code
        return copies_text(code.hosts if code else self.cluster.replication)

    def facts(self) -> dict[str, Any]:
        """The jars of the daemons, and their settings in the description."""
        return {"jars": _artifacts().facts(), "options": self._given()}

    def plays(self, name: str) -> bool:
        """Whether it starts a daemon of this name."""
        role, _, host = name.partition("@")
        players = [found.name for found in self.site.hosts.get(role, ())]
        return name == self.server.name or host in players

    def restart(self, name: str) -> None:
        """Restart a daemon with the data that it has."""
        if name == self.server.name:
            self.running[name] = self.server.spawn(self._jvms)
            return
        role, _, host_name = name.partition("@")
        self._spawn(role, next(h for h in self.site.hosts[role] if h.name == host_name))

    def close(self) -> None:
        """Close the connections to the managers."""
        self.status.close()

    def _unready(self, healthy: int, *, safe_mode: bool) -> list[str]:
        found, wanted = [], len(self.site.hosts[DATANODE])
        if healthy < wanted:
            found.append(f"{wanted - healthy} ozone-datanodes")
        if safe_mode:
            found.append("the end of Ozone's safe mode")
        if not self.status.manager_serves():
            found.append("the ozone manager")
        return found

    def _given(self) -> dict[str, str]:
        """Ozone's properties in the description."""
        return {
            name: text_of(value)
            for name, value in self.cluster.settings.items()
            if engine_of(name) == self.owner
        }

    @property
    def _client_conf(self) -> Path:
        return self.ground.shared / "ozone-client"

    def _write(self) -> None:
        self._client_conf.mkdir(parents=True, exist_ok=True)
        (self._client_conf / "ozone-site.xml").write_text(xml_of(self.site.client()))
        common = self.site.common(self._given())
        for placement in self.ground.placements:
            folder = _conf(placement.host)
            own = {**self.site.of_host(placement), **self._given()}
            placement.host.write_text(folder / "ozone-site.xml", xml_of(common | own))
            placement.host.write_text(folder / "log4j.properties", _LOG4J)

    def _spawn(self, role: str, host: Host, *, first: bool = False) -> None:
        """Start a daemon; ``first`` creates the data of a manager before."""
        run = self._command(role, host)
        argv = run
        if first:
            script = f"{shlex.join([*run, '--init'])} && exec {shlex.join(run)}"
            argv = ["/bin/sh", "-c", script]
        name = f"{role}@{host.name}"
        log = host.logs / f"{role}.log"
        self.running[name] = self._process(host, name, argv, log)

    def _process(self, host: Host, name: str, argv: Sequence[str], log: Path) -> Process:
        env = {"JAVA_HOME": str(self._jvms.layout.software.java.parent.parent)}
        return host.spawn(ProcessSpec(name, list(argv), log, host.root, env))

    def _command(self, role: str, host: Host) -> list[str]:
        layout, artifacts = self._jvms.layout, _artifacts()
        software = replace(
            layout.software, lib=artifacts.lib, more_jars=(), class_archive=self._archive
        )
        return software.command(
            _MAIN[role],
            heap_mb=_HEAP_MB[role],
            hosts_file=self._jvms.hosts_file,
            classpath=[_conf(host)],
            options=(f"-Dproc_{role}", *_OPENS, *_SOCKETS),
            binding=layout.binding(host.address),
        )


def _conf(host: Host) -> Path:
    return host.root / "ozone-conf"


def _artifacts() -> ArtifactSet:
    return ensure_shipped(LOCK)
