"""The engine ``hbase``: ZooKeeper, HMaster and RegionServers on the hosts of a Hadoop cluster.

It runs with the cluster's own Hadoop jars, which its release was not built with but runs on, and
keeps its data on the cluster's HDFS. Clients, YCSB among them, are JVMs on the client's host.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import ClassVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.engine import Engine, HadoopCluster
from windtunnel.engines.hadoop.client import watch, why
from windtunnel.engines.hadoop.daemons import tail
from windtunnel.engines.hbase.site import MAIN_CLASS, ROLES, placed, plan_site, xml_of
from windtunnel.engines.hbase.sizes import (
    BESIDE_HEAP_MB,
    HEAP_MB,
    MIB,
    cache_bytes,
    regionserver_heap_mb,
)
from windtunnel.engines.hbase.status import Cache, Status
from windtunnel.engines.hbase.ycsb import done_in
from windtunnel.engines.lines import Line
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host, ProcessSpec

JAR = "windtunnel-hbase.jar"
_TOOL = "io.windtunnel.hbase.Tool"
_READY_LIMIT_S = 120.0
_END_S = 10.0
_STEP_S = 0.2
_TOLD = re.compile(r"^windtunnel: (\w+)=(.*)$", re.MULTILINE)
_METRICS = "hadoop-metrics2-hbase.properties"
_WEBAPPS = ("master", "regionserver", "static")
# A RegionServer does the work that is measured, and so does the client: both compilers, and the
# collector that HBase advises.
_WORKING = ("-XX:TieredStopAtLevel=4",)
_SERVING = (*_WORKING, "-XX:-UseSerialGC", "-XX:+UseG1GC")
# What HBase reaches into by reflection on Java 17 and newer (its own start script has the list).
_PACKAGES = ("java.io", "java.nio", "java.lang.reflect", "jdk.internal.ref", "java.net")
_OPENS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _PACKAGES),
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
)


@dataclass(frozen=True)
class Told:
    """What a client wrote: all of it, and its results by name; ``log`` is where it lies.

    ``wall_s`` is how long it ran, the start of its JVM included.
    """

    text: str
    values: Mapping[str, str]
    log: Path
    wall_s: float = 0.0

    def number(self, name: str) -> int:
        """A result that is a whole number; TrialInvalidError if it was not told."""
        try:
            return int(self.values[name])
        except (KeyError, ValueError) as error:
            raise TrialInvalidError(f"the client did not tell '{name}'; log: {self.log}") from error


class HBase(Engine):
    """See the module's docstring."""

    name: ClassVar[str] = "hbase"
    # seen on 17; nobody has run it on the newest ones yet
    lines: ClassVar[Mapping[str, Line]] = {"2.6": Line("hbase-2.6", 17, 21)}
    roles: ClassVar[tuple[str, ...]] = ("zookeeper", "hbase-master", "regionserver")

    def __init__(self, hadoop: HadoopCluster, jars: ArtifactSet) -> None:
        super().__init__(hadoop, jars)
        self._numbers = itertools.count(1)
        self._working: dict[Path, int] = {}  # log of a client -> its operations

    @classmethod
    def placed(cls, cluster: Cluster) -> Mapping[str, Sequence[str]]:
        """Names of the hosts that each role runs on."""
        return placed(cluster)

    @classmethod
    def memory_bytes(cls, cluster: Cluster) -> int:
        """The heaps, and what a JVM needs beside its heap."""
        hosts = placed(cluster)
        heap = regionserver_heap_mb(psutil.virtual_memory().total, len(hosts["regionserver"]))
        heaps = [heap] * len(hosts["regionserver"])
        heaps += [HEAP_MB[role] for role in HEAP_MB for _ in hosts[role]]
        return sum(heap + BESIDE_HEAP_MB for heap in heaps) * MIB

    @staticmethod
    def cache_bytes(cluster: Cluster, settings: Mapping[str, str]) -> float:
        """Block caches of all RegionServers together, as they are planned on this machine."""
        servers = len(placed(cluster)["regionserver"])
        heap_mb = regionserver_heap_mb(psutil.virtual_memory().total, servers)
        return servers * cache_bytes(settings, heap_mb)

    def start(self) -> None:
        """Start all daemons at once and wait until HBase serves; DeploymentError if it does not."""
        layout = self.hadoop.daemons.layout
        known = {placement.host.name: placement.host for placement in layout.placements}
        hosts = {
            role: [known[name] for name in names if name in known]
            for role, names in placed(layout.cluster).items()
        }
        file_system = layout.properties()["fs.defaultFS"]
        stamp = f"{time.time_ns():x}"  # at each start anew: what an earlier one left is not read
        self.site = plan_site(
            hosts, f"{file_system}/windtunnel/hbase-{stamp}", own_networks=layout.loopback is None
        )
        self.status = Status(self.site)
        self.heap_mb = HEAP_MB | {
            "regionserver": regionserver_heap_mb(
                psutil.virtual_memory().total,
                len(hosts["regionserver"]),
                None if layout.loopback else _own_memory(layout.cluster),
            )
        }
        self._write(stamp)
        for role in ROLES:
            for host in hosts[role]:
                self._spawn(role, host)
        self.wait_ready()

    @property
    def client_conf(self) -> Path:
        """Folder with the settings that clients of HBase use."""
        return self.hadoop.shared / "hbase-conf"

    def _write(self, stamp: str) -> None:
        web = self.hadoop.shared / "web" / "hbase-webapps"
        for name in _WEBAPPS:
            (web / name).mkdir(parents=True, exist_ok=True)
        package = resources.files("windtunnel.engines.hbase")
        self._jar = self.hadoop.shared / JAR
        self._jar.write_bytes(package.joinpath(JAR).read_bytes())
        common = self.site.common(self.settings)
        self.hadoop.client.write_text(self.client_conf / "hbase-site.xml", xml_of(common))
        hosts = {host.name: host for players in self.site.hosts.values() for host in players}
        for host in hosts.values():
            properties = common | self.site.of_host(host)
            host.write_text(host.root / "hbase-conf" / "hbase-site.xml", xml_of(properties))
            # else the beans are ten seconds old
            host.write_text(host.root / "hbase-conf" / _METRICS, "*.period=1\n")
        for host in self.site.hosts["zookeeper"]:
            folder = host.root / f"zookeeper-{stamp}"
            host.write_text(folder / "myid", str(self.site.number_of(host)))
            host.write_text(
                host.root / "hbase-conf" / "zoo.cfg", self.site.zookeeper(host, str(folder))
            )

    def _spawn(self, role: str, host: Host) -> None:
        daemons = self.hadoop.daemons
        software = daemons.layout.software
        name = f"{role}@{host.name}"
        conf = host.root / "hbase-conf"
        words = [str(conf / "zoo.cfg")] if role == "zookeeper" else ["start"]
        argv = software.command(
            MAIN_CLASS[role],
            *words,
            heap_mb=self.heap_mb[role],
            hosts_file=daemons.hosts_file,
            classpath=self._classpath(conf, host.root / "conf"),
            options=(
                f"-Dproc_{role}",
                *_OPENS,
                *(_SERVING if role == "regionserver" else ()),
            ),
            binding=daemons.layout.binding(host.address),
        )
        env = {"JAVA_HOME": str(software.java.parent.parent)}
        log = host.logs / f"{role}.log"
        self.running[name] = host.spawn(ProcessSpec(name, argv, log, host.root, env))

    def _classpath(self, *folders: Path) -> list[Path | str]:
        return [f"{self.jars.lib}/*", self._jar, *folders, self.hadoop.shared / "web"]

    def wait_ready(self, timeout_s: float = _READY_LIMIT_S) -> None:
        """Wait until the master says that all of it serves.

        Raises DeploymentError if a daemon dies, or after ``timeout_s``: says what was missing.
        """
        deadline = time.monotonic() + timeout_s
        while missing := self.status.missing():
            self.hadoop.check_alive()
            if time.monotonic() > deadline:
                master = self.running.get(f"hmaster@{self.site.hosts['hmaster'][0].name}")
                raise DeploymentError(
                    f"HBase was not ready after {timeout_s:.0f} s; still missing: "
                    + ", ".join(missing),
                    remedy="see the logs of the hmaster and the regionservers.",
                    log=master.log if master else None,
                    tail=tail(master.log) if master else "",
                )
            time.sleep(_STEP_S)

    def cache(self) -> Cache | None:
        """The block caches as the RegionServers tell; None if one does not."""
        return self.status.cache()

    def run(
        self,
        name: str,
        words: Sequence[str],
        *,
        deadline_s: float,
        heap_mb: int = 512,
        operations: int | None = None,
    ) -> Told:
        """Run a command of ``Tool.java`` on the client's host to its end.

        Parameters
        ----------
        name:
            What errors and the log call it.
        deadline_s:
            Monotonic time at which it is given up.
        operations:
            How many YCSB is to do, so that its progress is known meanwhile.

        Raises
        ------
        TrialInvalidError
            If it fails or takes too long.
        DeploymentError
            If a daemon dies meanwhile.
        """
        client, daemons = self.hadoop.client, self.hadoop.daemons
        label = f"{next(self._numbers):04d}-{name}"
        log = client.logs / "clients" / f"hbase-{label}.log"
        argv = daemons.layout.software.command(
            _TOOL,
            *words,
            heap_mb=heap_mb,
            hosts_file=daemons.hosts_file,
            classpath=self._classpath(self.client_conf, daemons.client_conf),
            options=(*_OPENS, *(_WORKING if operations else ())),
            binding=daemons.layout.binding(client.address),
        )
        began = time.monotonic()
        process = client.spawn(ProcessSpec(f"hbase-{label}", argv, log, client.root))
        if operations is not None:
            self._working[log] = operations
        try:
            code = watch(self.hadoop, process, name, deadline_s)
        finally:
            self._working.pop(log, None)
        wall_s = time.monotonic() - began
        text = log.read_text(errors="replace")
        if code != 0:
            raise TrialInvalidError(f"{name} failed (exit code {code}): {why(log)}")
        return Told(text, dict(_TOLD.findall(text)), log, wall_s)

    def progress(self) -> float | None:
        """Share of its operations that the running YCSB has done; None while none runs."""
        looks = [(done_in(tail(log, 40)), total) for log, total in list(self._working.items())]
        return max((done / total for done, total in looks if done is not None), default=None)

    def restart(self, name: str) -> None:
        """Start a daemon that has ended again, under its old name."""
        role, _, host_name = name.partition("@")
        host = next(host for host in self.site.hosts[role] if host.name == host_name)
        self._spawn(role, host)

    def recover(self) -> None:
        """Wait until all of it serves again, after daemons were started anew."""
        self.wait_ready()

    def close(self) -> None:
        """End the daemons and remove their folder on HDFS."""
        super().close()
        if not hasattr(self, "site"):
            return
        self.status.close()
        with contextlib.suppress(DeploymentError):  # HDFS may be gone, and the data with it
            self.hadoop.files.delete("/" + self.site.root.split("/", 3)[3])


def _own_memory(cluster: Cluster) -> int | None:
    """Memory of the smallest host with a RegionServer, by the description; None: not given."""
    wanted = placed(cluster)["regionserver"]
    known = [
        node.guest.memory if node.guest else cluster.hosts[node.class_name].memory
        for node in cluster.nodes()
        if node.name in wanted
    ]
    return min((memory for memory in known if memory is not None), default=None)
