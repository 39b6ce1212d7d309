"""The engine ``kudu``: a master and tablet servers on the hosts of a Hadoop cluster.

Its data lies on the hosts' own disks, in folders beside those of the DataNodes, and not on HDFS;
it keeps its own copies. The daemons are Kudu's own programs, no JVMs.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.engine import HadoopCluster
from windtunnel.engines.hadoop.layout import Placement
from windtunnel.engines.kudu import programs
from windtunnel.engines.kudu.site import (
    CACHE,
    MASTER,
    MASTER_MB,
    TSERVER,
    WORD,
    cache_mb,
    copies,
    placed,
    plan_site,
)
from windtunnel.engines.kudu.status import Status
from windtunnel.engines.lines import Line
from windtunnel.engines.ycsb.sizes import MIB, own_memory, server_mb
from windtunnel.engines.ycsb.store import Cache, Store
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host, ProcessSpec

_STEP_S = 0.2
_END_S = 10.0
_OPERATION_LIMIT_MS = 60_000  # as long as HBase's clients wait for one answer
# A flush begins when what is in memory is that old, and Kudu looks every quarter of a second.
_FLUSH_FLAG, _FLUSH_SOON_S, _FLUSH_USUAL_S = "flush_threshold_secs", "1", "120"
_QUIET_LOOKS = 8
_UUID = re.compile(r"^[0-9a-f]{32}$", re.MULTILINE)
# Key and version of a row, and its part of the indexes and bloom filters.
_ROW_BYTES = 40


class Kudu(Store):
    """See the module's docstring."""

    name: ClassVar[str] = "kudu"
    # seen on 17; of its own only the client is Java
    lines: ClassVar[Mapping[str, Line]] = {"1.18": Line("kudu-1.18", 17, 21)}
    roles: ClassVar[tuple[str, ...]] = (MASTER, TSERVER)
    guarded: ClassVar[bool] = False
    title: ClassVar[str] = "Kudu"
    leading: ClassVar[str] = MASTER
    serving: ClassVar[str] = TSERVER
    ready_limit_s: ClassVar[float] = 60.0
    cache_setting: ClassVar[str] = f"kudu.{CACHE}"
    binding: ClassVar[str] = "io.windtunnel.kudu.KuduStore"
    tables: ClassVar[str] = "io.windtunnel.kudu.KuduTables"

    def __init__(self, hadoop: HadoopCluster, jars: ArtifactSet) -> None:
        super().__init__(hadoop, jars)
        self._settling = threading.Lock()  # one table at a time: it bears on all

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError anywhere but on Linux on x86_64."""
        programs.check_machine()

    @classmethod
    def try_out(cls, jars: ArtifactSet) -> None:
        """Unpack the programs, start one; raise SetupError if it does not."""
        programs.try_out(programs.unpack(jars))

    @classmethod
    def placed(cls, cluster: Cluster) -> Mapping[str, Sequence[str]]:
        """Names of the hosts that each role runs on."""
        return placed(cluster)

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """It runs with one master, and not with any block cache."""
        masters = placed(cluster)[MASTER]
        if len(masters) > 1:
            return [f"Kudu runs with one {MASTER} here, and {len(masters)} hosts have that role"]
        return super().problems(cluster)

    @classmethod
    def cache_share(cls, cluster: Cluster) -> float:
        """Above its pressure threshold a server does not start (memory_pressure_percentage)."""
        return 0.6

    @classmethod
    def memory_bytes(cls, cluster: Cluster) -> int:
        """The limits that its daemons get."""
        hosts = placed(cluster)
        each = server_mb(psutil.virtual_memory().total, len(hosts[TSERVER]))
        return (len(hosts[MASTER]) * MASTER_MB + len(hosts[TSERVER]) * each) * MIB

    @classmethod
    def cache_bytes(cls, cluster: Cluster) -> float:
        """Block caches of all tablet servers together."""
        return float(len(placed(cluster)[TSERVER]) * cache_mb(cls.settings_in(cluster)) * MIB)

    @classmethod
    def stored_bytes(cls, records: int, fields: int, field_length: int) -> int:
        """Columns hold values alone; key and version are columns more."""
        return records * (fields * field_length + _ROW_BYTES)

    def start(self) -> None:
        """Start all daemons at once and wait until Kudu serves; DeploymentError if it does not."""
        layout = self.hadoop.daemons.layout
        self._programs = programs.unpack(self.jars)
        self.jar()
        found = {placement.host.name: placement for placement in layout.placements}
        hosts = {
            role: [found[name].host for name in names if name in found]
            for role, names in placed(layout.cluster).items()
        }
        stamp = f"{time.time_ns():x}"  # at each start anew: what an earlier one left is not read
        players = {host.name: host for role in hosts.values() for host in role}
        servers = placed(layout.cluster)[TSERVER]
        own = None if layout.loopback else own_memory(layout.cluster, servers)
        memory_mb = server_mb(psutil.virtual_memory().total, len(servers), own)
        self.site = plan_site(
            hosts,
            {name: _folders(found[name], stamp) for name in players},
            memory_mb,
            own_networks=layout.loopback is None,
        )
        self.status = Status(self.site)
        for host in players.values():
            for folder in self.site.folders[host.name]:
                host.write_text(folder / "README", "Kudu's data, removed when Kudu ends.\n")
        for role in WORD:
            for host in hosts[role]:
                self.spawn(role, host)
        self.wait_ready()

    def spawn(self, role: str, host: Host) -> None:
        """Start a daemon."""
        name = f"{role}@{host.name}"
        flags = self.site.flags(role, host, self.settings)
        argv = self._programs.command(WORD[role], "run", *flags)
        log = host.logs / f"{role}.log"
        self.running[name] = host.spawn(ProcessSpec(name, argv, log, host.root))

    def missing(self, deadline_s: float) -> list[str]:
        """What it still lacks to serve: the master knows all tablet servers, and they serve."""
        if missing := self.status.missing():
            return missing
        words = ("tserver", "list", self.site.master, "-columns=uuid", "-format=space")
        try:
            told = self.run_client(
                self.hadoop.client, "list", self._programs.command(*words), deadline_s
            )
        except TrialInvalidError:
            return ["the master"]
        unknown = len(self.site.hosts[TSERVER]) - len(_UUID.findall(told.text))
        return [f"{unknown} tablet servers"] if unknown > 0 else []

    def hosts_of(self, role: str) -> Sequence[Host]:
        """The hosts that play a role."""
        return self.site.hosts[role]

    def copies(self) -> int:
        """As many as HDFS keeps of a file."""
        replication = int(self.hadoop.daemons.layout.properties()["dfs.replication"])
        return copies(replication, len(self.site.hosts[TSERVER]))

    def settle(self, table: str, deadline_s: float) -> float:
        """Have everything flushed; then wait until nothing is flushed or compacted any more.

        Kudu has no command for that: for the time being its servers are told to flush what is a
        second old instead of two minutes.
        """
        usual = self.settings.get(f"kudu.{_FLUSH_FLAG}", _FLUSH_USUAL_S)
        with self._settling:
            self._tell_servers(_FLUSH_SOON_S, deadline_s)
            try:
                return self._rest(table, deadline_s)
            finally:
                self._tell_servers(usual, time.monotonic() + _END_S)

    def _rest(self, table: str, deadline_s: float) -> float:
        quiet = 0
        while True:
            self.hadoop.check_alive()
            rest = self.status.rest(table)
            quiet = quiet + 1 if rest and not rest.in_memory and not rest.at_work else 0
            if rest and quiet >= _QUIET_LOOKS:
                return rest.stored
            if time.monotonic() > deadline_s:
                raise TrialInvalidError("Kudu was still flushing or compacting at the time limit")
            time.sleep(_STEP_S)

    def _tell_servers(self, flush_s: str, deadline_s: float) -> None:
        for host in self.site.hosts[TSERVER]:
            words = ("tserver", "set_flag", self.site.rpc(TSERVER, host), _FLUSH_FLAG, flush_s)
            argv = self._programs.command(*words)
            self.run_client(self.hadoop.client, "set-flag", argv, deadline_s)

    def cache(self) -> Cache | None:
        """The block caches as the tablet servers tell; None if one does not."""
        return self.status.cache(cache_mb(self.settings) * float(MIB))

    def client_folders(self) -> Sequence[Path]:
        """Settings of Hadoop's clients, for their logging."""
        return (self.hadoop.daemons.client_conf,)

    def client_options(self) -> Sequence[str]:
        """Where the master is."""
        return (
            f"-Dwindtunnel.kudu.masters={self.site.master}",
            f"-Dwindtunnel.kudu.timeout_ms={_OPERATION_LIMIT_MS}",
        )

    def recover(self) -> None:
        """Wait until all tablets are served again: Kudu's own check (ksck) finds nothing."""
        self.wait_ready()
        deadline = time.monotonic() + self.ready_limit_s
        argv = self._programs.command("cluster", "ksck", self.site.master)
        while True:
            try:
                self.run_client(self.hadoop.client, "ksck", argv, deadline)
            except TrialInvalidError as error:
                if time.monotonic() > deadline:
                    raise DeploymentError(f"Kudu did not recover: {error.message}") from error
            else:
                return
            time.sleep(_STEP_S)

    def close(self) -> None:
        """End the daemons and remove their folders."""
        super().close()
        if not hasattr(self, "site"):
            return
        self.status.close()
        players = {host.name: host for role in self.site.hosts.values() for host in role}
        for host in players.values():
            folders = [str(folder) for folder in self.site.folders[host.name]]
            log = host.logs / "kudu-removal.log"
            argv = ["/bin/rm", "-rf", *folders]
            spec = ProcessSpec(f"kudu-removal@{host.name}", argv, log, host.root)
            with contextlib.suppress(DeploymentError):  # the host may be gone, and its disks
                host.spawn(spec).wait(_END_S)


def _folders(placement: Placement, stamp: str) -> list[Path]:
    """Folders of one start on each disk of a host."""
    root = placement.host.root
    disks = placement.data_folders or [root / f"disk-{i + 1}" for i in range(placement.disks)]
    return [disk / f"kudu-{stamp}" for disk in disks]
