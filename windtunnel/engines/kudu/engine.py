"""The engine ``kudu``: a master and tablet servers on the hosts of a Hadoop cluster.

It stores its data, with its own replicas, on the hosts' own disks, in folders next to those of the
DataNodes, and not on HDFS. The daemons are Kudu's own programs, not JVMs.
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
from windtunnel.cluster.setting_values import whole
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
    plan_site,
    replicas,
)
from windtunnel.engines.kudu.status import Status
from windtunnel.engines.releases import Line
from windtunnel.engines.ycsb.sizes import MIB, own_memory, server_mb
from windtunnel.engines.ycsb.store import Cache, Store
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host, ProcessSpec

_STEP_S = 0.2
_END_S = 10.0
_OPERATION_LIMIT_MS = 60_000  # as long as HBase's clients wait for one answer
# A flush begins when the data in memory is this old; Kudu checks every quarter of a second.
_FLUSH_FLAG, _FLUSH_SOON_S, _FLUSH_USUAL_S = "flush_threshold_secs", "1", "120"
_QUIET_CHECKS = 8
_UUID = re.compile(r"^[0-9a-f]{32}$", re.MULTILINE)
# Key and version of a row, and its entries in the indexes and bloom filters.
_ROW_BYTES = 40


class Kudu(Store):
    """See the module's docstring."""

    name: ClassVar[str] = "kudu"
    # tested on Java 17; only its client is Java
    lines: ClassVar[Mapping[str, Line]] = {"1.18": Line("kudu-1.18", 17, 21)}
    guarded: ClassVar[bool] = False
    title: ClassVar[str] = "Kudu"
    leading: ClassVar[str] = MASTER
    serving: ClassVar[str] = TSERVER
    ready_limit_s: ClassVar[float] = 300.0
    cache_setting: ClassVar[str] = f"kudu.{CACHE}"
    binding: ClassVar[str] = "io.windtunnel.kudu.KuduStore"
    tables: ClassVar[str] = "io.windtunnel.kudu.KuduTables"

    def __init__(self, hadoop: HadoopCluster, jars: ArtifactSet) -> None:
        super().__init__(hadoop, jars)
        self._settling = threading.Lock()  # one table at a time: the flag applies to all tables

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError on machines other than Linux on x86_64."""
        programs.check_machine()

    @classmethod
    def try_out(cls, jars: ArtifactSet) -> None:
        """Unpack the programs and start one; raise SetupError if it does not start."""
        programs.try_out(programs.unpack(jars))

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """It runs with one master only, and with a block cache of limited size."""
        masters = cls.placed(cluster)[MASTER]
        if len(masters) > 1:
            return [f"Kudu supports one {MASTER} here, but {len(masters)} hosts have that role"]
        return super().problems(cluster)

    @classmethod
    def cache_share(cls, cluster: Cluster) -> float:
        """A server does not start above its pressure threshold (memory_pressure_percentage)."""
        return 0.6

    @classmethod
    def memory_bytes(cls, cluster: Cluster) -> int:
        """Sum of the memory limits of its daemons."""
        hosts = cls.placed(cluster)
        each = server_mb(psutil.virtual_memory().total, len(hosts[TSERVER]))
        return (len(hosts[MASTER]) * MASTER_MB + len(hosts[TSERVER]) * each) * MIB

    @classmethod
    def cache_bytes(cls, cluster: Cluster) -> float:
        """Sum of the tablet servers' block caches."""
        return float(len(cls.placed(cluster)[TSERVER]) * cache_mb(cls.settings_in(cluster)) * MIB)

    @classmethod
    def stored_bytes(cls, records: int, fields: int, field_length: int) -> int:
        """Columns hold values only; key and version are additional columns."""
        return records * (fields * field_length + _ROW_BYTES)

    def start(self) -> None:
        """Start all daemons together; wait until Kudu serves, else raise DeploymentError."""
        layout = self.hadoop.daemons.layout
        self._programs = programs.unpack(self.jars)
        self.jar()
        found = {placement.host.name: placement for placement in layout.placements}
        hosts = {
            role: [found[name].host for name in names if name in found]
            for role, names in self.placed(layout.cluster).items()
        }
        stamp = f"{time.time_ns():x}"  # unique per start: data of earlier starts is not read
        players = {host.name: host for role in hosts.values() for host in role}
        servers = self.placed(layout.cluster)[TSERVER]
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
        """What is still missing: the master must know all tablet servers, and they must serve."""
        if missing := self.status.missing():
            return missing
        words = ("tserver", "list", self.site.master, "-columns=uuid", "-format=space")
        try:
            output = self.run_client(
                self.hadoop.client, "list", self._programs.command(*words), deadline_s
            )
        except TrialInvalidError:
            return ["the master"]
        unknown = len(self.site.hosts[TSERVER]) - len(_UUID.findall(output.text))
        return [f"{unknown} tablet servers"] if unknown > 0 else []

    def hosts_of(self, role: str) -> Sequence[Host]:
        """The hosts with a role."""
        return self.site.hosts[role]

    def copies(self) -> int:
        """The replication factor of HDFS, within Kudu's limits."""
        replication = whole(self.hadoop.daemons.layout.properties()["dfs.replication"]) or 3
        return replicas(replication, len(self.site.hosts[TSERVER]))

    def settle(self, table: str, deadline_s: float) -> float:
        """Flush all data, and wait until no flush and no compaction runs.

        Kudu has no command for this: in the meantime its servers flush data after one second
        instead of two minutes.
        """
        usual = self.settings.get(f"kudu.{_FLUSH_FLAG}", _FLUSH_USUAL_S)
        with self._settling:
            self._set_flush_age(_FLUSH_SOON_S, deadline_s)
            try:
                return self._wait_idle(table, deadline_s)
            finally:
                self._set_flush_age(usual, time.monotonic() + _END_S)

    def _wait_idle(self, table: str, deadline_s: float) -> float:
        quiet = 0
        while True:
            self.hadoop.check_alive()
            state = self.status.table_state(table)
            quiet = quiet + 1 if state and not state.in_memory and not state.at_work else 0
            if state and quiet >= _QUIET_CHECKS:
                return state.stored
            if time.monotonic() > deadline_s:
                raise TrialInvalidError("Kudu was still flushing or compacting at the time limit")
            time.sleep(_STEP_S)

    def _set_flush_age(self, flush_s: str, deadline_s: float) -> None:
        for host in self.site.hosts[TSERVER]:
            words = ("tserver", "set_flag", self.site.rpc(TSERVER, host), _FLUSH_FLAG, flush_s)
            argv = self._programs.command(*words)
            self.run_client(self.hadoop.client, "set-flag", argv, deadline_s)

    def cache(self) -> Cache | None:
        """The block caches as the tablet servers report them; None if one does not."""
        return self.status.cache(cache_mb(self.settings) * float(MIB))

    def client_folders(self) -> Sequence[Path]:
        """Settings of Hadoop's clients, for the logging."""
        return (self.hadoop.daemons.client_conf,)

    def client_options(self) -> Sequence[str]:
        """The address of the master, and the time limit of an operation."""
        return (
            f"-Dwindtunnel.kudu.masters={self.site.master}",
            f"-Dwindtunnel.kudu.timeout_ms={_OPERATION_LIMIT_MS}",
        )

    def recover(self) -> None:
        """Wait until all tablets are served again: Kudu's own check (ksck) finds no error."""
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
            with contextlib.suppress(DeploymentError):  # the host and its disks may be gone
                host.spawn(spec).wait(_END_S)


def _folders(placement: Placement, stamp: str) -> list[Path]:
    """Folders of one start on each disk of a host."""
    root = placement.host.root
    disks = placement.data_folders or [root / f"disk-{i + 1}" for i in range(placement.disks)]
    return [disk / f"kudu-{stamp}" for disk in disks]
