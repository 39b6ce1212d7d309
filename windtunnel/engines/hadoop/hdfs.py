"""HDFS as a storage system: the NameNode and the DataNodes are among Hadoop's daemons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import SHARED, TRIALS, copies_text
from windtunnel.engines.faults import Copies
from windtunnel.engines.hadoop import ha
from windtunnel.engines.hadoop.excluded import Decommissioned, hdfs_settings
from windtunnel.engines.hadoop.formatted import keep, kept_file, restore
from windtunnel.engines.hadoop.ha_steps import Steps
from windtunnel.engines.hadoop.heap import live_bytes
from windtunnel.engines.hadoop.layout import WEB_ADDRESSES
from windtunnel.engines.hadoop.task_environment import own_java
from windtunnel.engines.hadoop.webhdfs import STORED_PER_BYTE, WebHdfs
from windtunnel.engines.running import tail
from windtunnel.engines.storage_system import Jvms, Memory, State, StorageSystem
from windtunnel.errors import DeploymentError
from windtunnel.results.metrics import numbers
from windtunnel.results.record import Metric

# DataNodes that are being decommissioned, and those that are decommissioned
_OUT_OF_SERVICE = ("NumDecommissioningDataNodes", "NumDecomLiveDataNodes")
_FORMAT_LIMIT_S = 60.0
# The interval at which the NameNode checks for dead DataNodes, and its default (hdfs-default.xml).
_RECHECK, _RECHECK_MS = "dfs.namenode.heartbeat.recheck-interval", 300_000.0
_UNDER = re.compile(r"Target Replicas is (\d+) but found (\d+) live replica")
# "/file 9 bytes, replicated: replication=2, ...", "... erasure-coded: policy=RS-3-2-1024k, ..."
_FILE = re.compile(
    r"^/.* \d+ bytes, "
    r"(?:replicated: replication=(\d+)|erasure-coded: policy=[\w-]+?-(\d+)-(\d+)-\d+k),"
)
_BLOCK = re.compile(r"^\d+\. .* Live_repl=(\d+)")
# blocks of replicas, and groups of cells of erasure codes
_MISSING = re.compile(r"^\s*Missing block(?: group)?s:\s*(\d+)", re.MULTILINE)


class Hdfs(StorageSystem):
    """See the module's docstring."""

    name: ClassVar[str] = "hdfs"
    stores: ClassVar[str] = "datanode"

    _ha: Steps | None = None

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """With high availability, two NameNodes and three JournalNodes are needed."""
        found = []
        if cluster.software.task_start == "warm":
            found += [
                f"settings.{name}: waiting JVMs run the Java of the cluster, so tasks with another "
                "Java cannot start warm: remove JAVA_HOME, or use 'software.task_start: stock'"
                for name in own_java(cluster.settings)
            ]
        if not cluster.storage.ha and cluster.role_counts()["journalnode"]:
            return [*found, "JournalNodes need storage.ha: true"]
        return [*found, *(ha.problems(cluster) if cluster.storage.ha else [])]

    @classmethod
    def daemons_bytes(cls, cluster: Cluster) -> int:
        """Memory of the daemons for high availability."""
        return ha.memory_bytes(cluster) if cluster.storage.ha else 0

    def settings(self) -> Mapping[str, str]:
        """The file of hosts that are taken out of service."""
        return hdfs_settings(self.ground.shared)

    def begin(self, jvms: Jvms) -> None:
        """Format the file system, or start the NameNode with files of an earlier format."""
        self._jvms = jvms
        self._decommissioned = Decommissioned(jvms, self.ground.shared)
        if self.cluster.storage.ha:
            self._ha = Steps(jvms, self.running)
            self._ha.begin()
            return
        namenode = jvms.layout.host_of("namenode")
        settings = jvms.layout.properties(namenode)
        self._kept = kept_file(namenode, settings, jvms.layout.software.version)
        self._restored = restore(namenode, self._kept)
        if self._restored:
            jvms.spawn_all("namenode")
        else:
            jvms.spawn(namenode, "namenode", "-format", "-nonInteractive", suffix="-format")

    def start(self, jvms: Jvms) -> None:
        """Start the NameNode after the format; raises DeploymentError if that failed."""
        if self._ha or self._restored:
            return
        name = next(key for key in jvms.running if key.endswith("-format"))
        process = jvms.running.pop(name)
        code = process.wait(_FORMAT_LIMIT_S)
        if code != 0:
            raise DeploymentError(
                f"formatting the file system failed (exit code {code})",
                remedy="see the log; the usual causes are a full disk and an unwritable folder.",
                log=process.log,
                tail=tail(process.log),
            )
        keep(jvms.layout.host_of("namenode"), self._kept)
        jvms.spawn_all("namenode")

    def state(self) -> State:
        """Whether HDFS has left safe mode, and the DataNodes that are missing."""
        if self._ha and (wanted := self._ha.advance()):
            return State(serving=False, missing=[wanted])
        live, safe_mode = self._jvms.masters.live_datanodes()
        missing = self._datanodes() - live
        return State(
            serving=not safe_mode,
            missing=[
                *([f"{missing} datanodes"] if missing > 0 else []),
                *(["HDFS out of safe mode"] if safe_mode else []),
            ],
        )

    def web_server(self) -> tuple[str, int]:
        """The web server of the NameNode, with high availability of the active one."""
        layout = self._jvms.layout
        host = self._jvms.masters.active_namenode() if self._ha else None
        return layout.address(WEB_ADDRESSES["namenode"], host or layout.host_of("namenode"))

    def active_host(self) -> str | None:
        """The name of the host of the active NameNode; None if there is none now."""
        host = self._jvms.masters.active_namenode() if self._ha else None
        return host.name if host else None

    def decommission(self, host: str) -> None:
        """Have the NameNode copy the blocks of a host to others."""
        self._decommissioned.add(host)

    def recommission(self, host: str) -> None:
        """Count the replicas of the host again."""
        self._decommissioned.remove(host)

    def plays(self, name: str) -> bool:
        """Whether a daemon is one for high availability that is no role."""
        return self._ha is not None and self._ha.plays(name)

    def restart(self, name: str) -> None:
        """Restart such a daemon."""
        assert self._ha is not None
        self._ha.restart(name)

    def prepare(self, files: WebHdfs) -> None:
        """Set the erasure code of the workloads' folders, but not of those of HBase (hsync)."""
        code = self.cluster.storage.code
        if code:
            for folder in (TRIALS, SHARED):
                files.make_folder(folder)
                files.set_erasure_code(folder, code.hdfs_policy)

    def expected_copies(self, replication: int) -> str:
        """The replication that the client requests, or the erasure code."""
        code = self.cluster.storage.code
        return copies_text(replication, code.hdfs_policy if code else None)

    def metrics(self, folder: str, files: WebHdfs) -> Mapping[str, Metric]:
        """Bytes of all replicas or cells for each byte of a folder's files."""
        length, stored = files.stored(folder)
        return numbers({STORED_PER_BYTE: stored / length}) if length else {}

    def metadata_memory(self) -> Memory | None:
        """Bytes of the live objects of the active NameNode."""
        host = self._jvms.layout.host_of("namenode").name
        active = self.active_host() if self._ha else host
        process = self._jvms.running.get(f"namenode@{active}")
        return Memory(process.pid, live_bytes(process)) if process else None

    def copies(self, since: Mapping[str, float]) -> Copies | None:
        """The state of replication that the NameNode reports; None if it does not answer.

        It is computed from a check of all files, because the counters of the NameNode are seconds
        old and include files whose replication exceeds the number of DataNodes.
        """
        masters = self._jvms.masters
        bean = masters.namenode_bean("FSNamesystemState")
        if not bean:
            return None
        leaving = sum(int(bean[name]) for name in _OUT_OF_SERVICE)
        report = masters.file_check(blocks=leaving > 0)
        if not report:
            return None
        holders = int(bean["NumLiveDataNodes"]) - leaving
        count = replicas_to_copy if leaving else under_replicated
        wanting = count(report, holders, self._datanodes())
        fresh = [(name, t) for name, t in since.items() if name.startswith("datanode@")]
        serving = bean["FSState"] == "Operational" and all(masters.serves(*one) for one in fresh)
        return Copies(holders, wanting, serving)

    def _datanodes(self) -> int:
        """Number of DataNodes in service without a fault."""
        placed = (p for p in self._jvms.layout.placements if "datanode" in p.roles)
        return sum(p.host.name not in self._jvms.out for p in placed)

    def sure_s(self) -> float:
        """Seconds after which the NameNode has noticed the loss of the replicas of a dead DataNode.

        It notices them at the next check for dead DataNodes, which it runs once per recheck
        interval, in steps of five seconds (HeartbeatManager).
        """
        given = self._jvms.layout.properties().get(_RECHECK, "")
        return 6.0 + (float(given) if given.isdigit() else _RECHECK_MS) / 1e3


def under_replicated(report: str, holders: int, datanodes: int) -> int:
    """Number of under-replicated blocks in the report of the NameNode's check.

    The target of a file with a replication above the number of DataNodes (ten for TeraSort's
    partition file and the files of a submitted job) is the number of live DataNodes.
    """
    found = 0
    for target, live in _UNDER.findall(report):
        should = int(target) if int(target) <= datanodes else holders
        found += int(live) < should
    return found + _missing(report)


def replicas_to_copy(report: str, holders: int, datanodes: int) -> int:
    """Number of blocks with too few replicas or cells on the hosts in service.

    The check itself also counts the replicas on hosts that leave, so that its result for each block
    is needed. The targets are those of :func:`under_replicated`. Open files are not in the report.
    """
    found = should = 0
    for line in report.splitlines():
        if file := _FILE.match(line):
            target = int(file[1]) if file[1] else int(file[2]) + int(file[3])
            should = target if target <= datanodes else holders
        elif block := _BLOCK.match(line):
            found += int(block[1]) < should
    return found + _missing(report)


def _missing(report: str) -> int:
    """Blocks and groups without any replica; the check does not list how many they have."""
    return sum(int(missing) for missing in _MISSING.findall(report))
