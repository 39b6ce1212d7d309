"""The contract of key-value stores, as the workload ``keyvalue`` needs them.

A store is an engine with a binding for YCSB: two Java classes in addition to those in ``java/``,
one that reads and writes (``Store.java``) and one that creates tables (``Tables.java``). Its
clients, including YCSB, are JVMs on the client's host.
"""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import ClassVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.engine import Engine, HadoopCluster
from windtunnel.engines.hadoop.client import Watched, numbered, watch, why
from windtunnel.engines.running import tail
from windtunnel.engines.ycsb.results import done_in
from windtunnel.engines.ycsb.sizes import MIB, server_mb
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host, ProcessSpec

WORKING = ("-XX:TieredStopAtLevel=4",)
"""Java's second compiler, for JVMs that do the measured work."""
_TOOL = "io.windtunnel.ycsb.Tool"
_STEP_S = 0.2
_WARM, _WARM_WITHIN = "windtunnel: warm_ms=", 200
_RESULT = re.compile(r"^windtunnel: (\w+)=(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Cache:
    """Block caches of all servers: capacity in bytes, and counts of requested blocks.

    ``hits`` and ``misses`` count requests with caching enabled, so far.
    """

    capacity: float
    hits: float
    misses: float


@dataclass(frozen=True)
class ClientOutput:
    """The output of a client: its full text, its results by name, and its ``log``.

    ``wall_s`` is the time that it ran, including the start of its JVM.
    """

    text: str
    values: Mapping[str, str]
    log: Path
    wall_s: float = 0.0

    def number(self, name: str) -> int:
        """A result that is an integer; TrialInvalidError if the client did not report it."""
        try:
            return int(self.values[name])
        except (KeyError, ValueError) as error:
            raise TrialInvalidError(
                f"the client did not report '{name}'; log: {self.log}"
            ) from error


class _UntilWarm:
    """The cluster that a client needs; also calls ``warm`` when the client has warmed up."""

    def __init__(self, needed: Watched, log: Path, warm: Callable[[], None] | None) -> None:
        self._needed, self._log, self._warm = needed, log, warm

    def check_alive(self) -> None:
        self._needed.check_alive()
        if self._warm is not None and _WARM in tail(self._log, _WARM_WITHIN):
            warm, self._warm = self._warm, None
            warm()


class Store(Engine):
    """A key-value store on the hosts of a Hadoop cluster.

    ``title`` is its name in reports, ``leading`` the role of its masters, ``serving`` the role of
    the servers that hold its data; it must be ready within ``ready_limit_s``. ``cache_setting`` is
    the property for the size of their block caches. ``binding`` and ``tables`` are its Java
    classes, in a jar ``windtunnel-NAME.jar`` in the folder of its module.
    """

    title: ClassVar[str]
    leading: ClassVar[str]
    serving: ClassVar[str]
    ready_limit_s: ClassVar[float]
    cache_setting: ClassVar[str]
    binding: ClassVar[str]
    tables: ClassVar[str]

    def __init__(self, hadoop: HadoopCluster, jars: ArtifactSet) -> None:
        super().__init__(hadoop, jars)
        self._working: dict[Path, int] = {}  # log of a client -> its operations

    # -- before anything runs --

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """The reasons why the store cannot run on a cluster; empty if it can.

        This method checks that its servers can start with the configured block cache.
        """
        servers = len(cls.placed(cluster)[cls.serving])
        own_mb = server_mb(psutil.virtual_memory().total, servers)
        most_mb = cls.cache_share(cluster) * own_mb
        configured_mb = cls.cache_bytes(cluster) / servers / MIB
        if configured_mb <= most_mb + 1:
            return []
        return [
            f"settings.{cls.cache_setting} sets a block cache of {configured_mb:.0f} MiB, but a "
            f"{cls.serving} gets {own_mb} MiB on this machine and starts with a cache of at most "
            f"{most_mb:.0f} MiB"
        ]

    @classmethod
    @abstractmethod
    def cache_share(cls, cluster: Cluster) -> float:
        """Largest fraction of a server's memory that its block cache may use."""

    @classmethod
    @abstractmethod
    def cache_bytes(cls, cluster: Cluster) -> float:
        """Sum of the servers' block caches, as planned on this machine."""

    @classmethod
    @abstractmethod
    def stored_bytes(cls, records: int, fields: int, field_length: int) -> int:
        """Approximate stored size of records, one replica, bytes."""

    # -- while it runs --

    @abstractmethod
    def missing(self, deadline_s: float) -> list[str]:
        """What the store still lacks before it serves, by its own status; empty if it is ready."""

    @abstractmethod
    def spawn(self, role: str, host: Host) -> None:
        """Start a daemon."""

    @abstractmethod
    def hosts_of(self, role: str) -> Sequence[Host]:
        """The hosts with a role."""

    @abstractmethod
    def copies(self) -> int:
        """Number of replicas of a table's data."""

    @abstractmethod
    def settle(self, table: str, deadline_s: float) -> float:
        """Flush a table from memory into files, and wait until its servers are idle.

        Returns the bytes of these files, one replica. Raises TrialInvalidError if the servers are
        not idle before ``deadline_s`` (monotonic).
        """

    @abstractmethod
    def cache(self) -> Cache | None:
        """The block caches as the servers report them; None if one does not."""

    @abstractmethod
    def client_folders(self) -> Sequence[Path]:
        """Folders on the class path of its clients, after its jars."""

    @abstractmethod
    def client_options(self) -> Sequence[str]:
        """Options of its clients' JVMs."""

    def wait_ready(self) -> None:
        """Wait until it serves.

        Raises DeploymentError, with a list of what is missing, if a daemon dies or the time is up.
        """
        deadline = time.monotonic() + self.ready_limit_s
        while missing := self.missing(deadline):
            self.hadoop.check_alive()
            if time.monotonic() > deadline:
                master = self.running.get(f"{self.leading}@{self.hosts_of(self.leading)[0].name}")
                raise DeploymentError(
                    f"{self.title} was not ready after {self.ready_limit_s:.0f} s; still missing: "
                    + ", ".join(missing),
                    remedy=f"see the logs of the {self.leading} and of each {self.serving}.",
                    log=master.log if master else None,
                    tail=tail(master.log) if master else "",
                )
            time.sleep(_STEP_S)

    def restart(self, name: str) -> None:
        """Restart a daemon that has ended, under its old name."""
        role, _, host_name = name.partition("@")
        self.spawn(role, next(host for host in self.hosts_of(role) if host.name == host_name))

    def recover(self) -> None:
        """Wait until all daemons serve after a restart."""
        self.wait_ready()

    def jar(self) -> Path:
        """Its own jar, in a folder that all hosts read."""
        target = self.hadoop.shared / f"windtunnel-{self.name}.jar"
        if not target.exists():
            package = resources.files(f"windtunnel.engines.{self.name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(package.joinpath(target.name).read_bytes())
        return target

    def run(
        self,
        name: str,
        words: Sequence[str],
        *,
        deadline_s: float,
        heap_mb: int = 512,
        operations: int | None = None,
        warm: Callable[[], None] | None = None,
    ) -> ClientOutput:
        """Run a command of ``Tool.java`` on the client's host to its end.

        Parameters
        ----------
        name:
            Its name in errors and in the name of the log.
        deadline_s:
            Monotonic time at which it is aborted.
        operations:
            Number of YCSB's operations, for :meth:`progress`.
        warm:
            Called when YCSB has warmed up and its operations begin.

        Raises
        ------
        TrialInvalidError
            If it fails or takes too long.
        DeploymentError
            If a daemon dies meanwhile.
        """
        client, daemons = self.hadoop.client, self.hadoop.daemons
        argv = daemons.layout.software.command(
            _TOOL,
            self.tables,
            *words,
            heap_mb=heap_mb,
            hosts_file=daemons.hosts_file,
            classpath=[f"{self.jars.lib}/*", self.jar(), *self.client_folders()],
            options=(*self.client_options(), *(WORKING if operations else ())),
            binding=daemons.layout.binding(client.address),
        )
        return self.run_client(client, name, argv, deadline_s, operations, warm)

    def run_client(
        self,
        client: Host,
        name: str,
        argv: Sequence[str],
        deadline_s: float,
        operations: int | None = None,
        warm: Callable[[], None] | None = None,
    ) -> ClientOutput:
        """Run a program on the client's host to its end; parameters and errors as :meth:`run`."""
        label = numbered(f"{self.name}-{name}")
        log = client.logs / "clients" / f"{label}.log"
        began = time.monotonic()
        process = client.spawn(ProcessSpec(label, argv, log, client.root))
        if operations is not None:
            self._working[log] = operations
        try:
            code = watch(_UntilWarm(self.hadoop, log, warm), process, name, deadline_s)
        finally:
            self._working.pop(log, None)
        wall_s = time.monotonic() - began
        text = log.read_text(errors="replace")
        if code != 0:
            raise TrialInvalidError(f"{name} failed (exit code {code}): {why(log)}")
        return ClientOutput(text, dict(_RESULT.findall(text)), log, wall_s)

    def progress(self) -> float | None:
        """Completed fraction of the running YCSB's operations; None if none runs."""
        running = [(done_in(tail(log, 40)), total) for log, total in list(self._working.items())]
        return max((done / total for done, total in running if done is not None), default=None)
