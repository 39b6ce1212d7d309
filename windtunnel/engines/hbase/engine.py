"""The engine ``hbase``: ZooKeeper, master and RegionServers on the hosts of a Hadoop cluster.

It runs with the cluster's Hadoop jars, although its release was built with another version of
Hadoop, and stores its data on the cluster's HDFS.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.cluster.setting_values import whole
from windtunnel.engines.hbase.site import MAIN_CLASS, MASTER, plan_site, xml_of
from windtunnel.engines.hbase.sizes import (
    BLOCK_CACHE,
    HEAP_MB,
    MOST_OF_HEAP,
    NON_HEAP_MB,
    cache_bytes,
    memstore_fraction,
)
from windtunnel.engines.hbase.status import Status
from windtunnel.engines.releases import Line
from windtunnel.engines.ycsb.sizes import MIB, own_memory, server_mb
from windtunnel.engines.ycsb.store import WORKING, Cache, Store
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host, ProcessSpec

# A cell's key: lengths and type 12 bytes, timestamp 8, then row key 23, family 1, field name 6.
_CELL_BYTES = 50
_TABLES_S, _TABLES_STEP_S = 20.0, 0.2
"""RegionServers update the metrics of their tables about every two seconds."""
_METRICS = "hadoop-metrics2-hbase.properties"
_WEBAPPS = ("master", "regionserver", "static")
# A RegionServer does the measured work: it uses both compilers and the collector that HBase
# recommends.
_SERVING = (*WORKING, "-XX:-UseSerialGC", "-XX:+UseG1GC")
# The packages that HBase accesses by reflection on Java 17 and newer, as in its start script.
_PACKAGES = ("java.io", "java.nio", "java.lang.reflect", "jdk.internal.ref", "java.net")
_OPENS = (
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _PACKAGES),
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
)


class HBase(Store):
    """See the module's docstring."""

    name: ClassVar[str] = "hbase"
    # tested on Java 17; not tested on the newest releases
    lines: ClassVar[Mapping[str, Line]] = {"2.6": Line("hbase-2.6", 17, 21)}
    title: ClassVar[str] = "HBase"
    leading: ClassVar[str] = MASTER
    serving: ClassVar[str] = "regionserver"
    ready_limit_s: ClassVar[float] = 300.0
    cache_setting: ClassVar[str] = BLOCK_CACHE
    binding: ClassVar[str] = "io.windtunnel.hbase.HBaseStore"
    tables: ClassVar[str] = "io.windtunnel.hbase.HBaseTables"

    @classmethod
    def memory_bytes(cls, cluster: Cluster) -> int:
        """The heaps and the other memory of the JVMs."""
        hosts = cls.placed(cluster)
        heap = server_mb(psutil.virtual_memory().total, len(hosts["regionserver"]))
        heaps = [heap] * len(hosts["regionserver"])
        heaps += [HEAP_MB[role] for role in HEAP_MB for _ in hosts[role]]
        return sum(heap + NON_HEAP_MB for heap in heaps) * MIB

    @classmethod
    def cache_bytes(cls, cluster: Cluster) -> float:
        """Sum of the RegionServers' block caches, as planned on this machine."""
        servers = len(cls.placed(cluster)["regionserver"])
        heap_mb = server_mb(psutil.virtual_memory().total, servers)
        return servers * cache_bytes(cls.settings_in(cluster), heap_mb)

    @classmethod
    def cache_share(cls, cluster: Cluster) -> float:
        """The limit of 80 % of a heap for both minus the memstores' part (HeapMemorySizeUtil)."""
        return MOST_OF_HEAP - memstore_fraction(cls.settings_in(cluster))

    @classmethod
    def stored_bytes(cls, records: int, fields: int, field_length: int) -> int:
        """Every cell also holds its key and names."""
        return records * (fields * field_length + (fields + 1) * _CELL_BYTES)

    def start(self) -> None:
        """Start all daemons together; wait until HBase serves, else raise DeploymentError."""
        layout = self.hadoop.daemons.layout
        known = {placement.host.name: placement.host for placement in layout.placements}
        hosts = {
            role: [known[name] for name in names if name in known]
            for role, names in self.placed(layout.cluster).items()
        }
        file_system = layout.properties()["fs.defaultFS"]
        stamp = f"{time.time_ns():x}"  # unique per start: data of earlier starts is not read
        self.site = plan_site(
            hosts, f"{file_system}/windtunnel/hbase-{stamp}", own_networks=layout.loopback is None
        )
        self.status = Status(self.site)
        servers = self.placed(layout.cluster)["regionserver"]
        own = None if layout.loopback else own_memory(layout.cluster, servers)
        self.heap_mb = HEAP_MB | {
            "regionserver": server_mb(psutil.virtual_memory().total, len(servers), own)
        }
        self._write(stamp)
        for role in hosts:
            for host in hosts[role]:
                self.spawn(role, host)
        self.wait_ready()

    @property
    def client_conf(self) -> Path:
        """Folder with the settings that clients of HBase use."""
        return self.hadoop.shared / "hbase-conf"

    def _write(self, stamp: str) -> None:
        web = self.hadoop.shared / "web" / "hbase-webapps"
        for name in _WEBAPPS:
            (web / name).mkdir(parents=True, exist_ok=True)
        common = self.site.common(self.settings)
        self.hadoop.client.write_text(self.client_conf / "hbase-site.xml", xml_of(common))
        hosts = {host.name: host for players in self.site.hosts.values() for host in players}
        for host in hosts.values():
            properties = common | self.site.of_host(host)
            host.write_text(host.root / "hbase-conf" / "hbase-site.xml", xml_of(properties))
            # by default the beans are up to ten seconds old
            host.write_text(host.root / "hbase-conf" / _METRICS, "*.period=1\n")
        for host in self.site.hosts["zookeeper"]:
            folder = host.root / f"zookeeper-{stamp}"
            host.write_text(folder / "myid", str(self.site.number_of(host)))
            host.write_text(
                host.root / "hbase-conf" / "zoo.cfg", self.site.zookeeper(host, str(folder))
            )

    def spawn(self, role: str, host: Host) -> None:
        """Start a daemon."""
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
        return [f"{self.jars.lib}/*", self.jar(), *folders, self.hadoop.shared / "web"]

    def missing(self, deadline_s: float) -> list[str]:
        """What is still missing before it serves, as the master reports."""
        return self.status.missing()

    def hosts_of(self, role: str) -> Sequence[Host]:
        """The hosts with a role."""
        return self.site.hosts[role]

    def cache(self) -> Cache | None:
        """The block caches as the RegionServers report them; None if one does not."""
        return self.status.cache()

    def copies(self) -> int:
        """The replication factor of HDFS for files that HBase writes."""
        return whole(self.hadoop.daemons.layout.properties()["dfs.replication"]) or 3

    def settle(self, table: str, deadline_s: float) -> float:
        """Flush, and compact to one file per region."""
        output = self.run("settle", ["settle", table, "compact"], deadline_s=deadline_s)
        whole_mib, regions = output.number("file_bytes"), output.number("regions")
        until = min(time.monotonic() + _TABLES_S, deadline_s)
        stored = None
        while time.monotonic() < until:
            stored = self.status.stored(table)
            # clients receive the size of each region in MiB, rounded down
            if stored is not None and whole_mib <= stored < whole_mib + regions * MIB:
                return stored
            time.sleep(_TABLES_STEP_S)
        raise TrialInvalidError(
            f"the RegionServers report inconsistent file sizes of {table}: {stored} bytes in the "
            f"metrics, and {whole_mib} bytes for {regions} regions, each rounded down to MiB"
        )

    def client_folders(self) -> Sequence[Path]:
        """Settings of HBase and of Hadoop, and the pages of the daemons' web servers."""
        return self.client_conf, self.hadoop.daemons.client_conf, self.hadoop.shared / "web"

    def client_options(self) -> Sequence[str]:
        """Access to the packages that HBase needs."""
        return _OPENS

    def close(self) -> None:
        """End the daemons and remove their folder on HDFS."""
        super().close()
        if not hasattr(self, "site"):
            return
        self.status.close()
        with contextlib.suppress(DeploymentError):  # HDFS and the data may be gone
            self.hadoop.files.delete("/" + self.site.root.split("/", 3)[3])
