"""Start Hadoop's daemons on hosts, wait until they are ready, check that they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import psutil

from windtunnel.cluster.roles import HADOOP, ROLES
from windtunnel.engines.hadoop.heap import HISTOGRAM
from windtunnel.engines.hadoop.key_pair import keep_key, use_key
from windtunnel.engines.hadoop.layout import MAIN_CLASS, Layout, site_files
from windtunnel.engines.hadoop.software import OWN_JAR
from windtunnel.engines.hadoop.status import Masters
from windtunnel.engines.running import Running
from windtunnel.engines.storage_system import StorageSystem
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host, Process, ProcessSpec

_END_S = 10.0
# Heap of each daemon, MiB: 3 workers and the masters stay below 2.2 GiB resident.
HEAP_MB = {
    "namenode": 256,
    "resourcemanager": 256,
    "historyserver": 192,
    "journalnode": 128,
    "datanode": 160,
    "nodemanager": 160,
}
# roles that start together; the last ones need a serving file system
_FIRST, _WORKERS, _LAST = ROLES.steps(HADOOP)
_FEW_CORES = 2  # up to so many, workers start after their masters (docs/decisions/0094)
_MASTER_OF = {"datanode": "namenode", "nodemanager": "resourcemanager"}
_POLL_S = 0.2
_WEBAPPS = ("hdfs", "datanode", "journal", "secondary", "static")
LOG4J = """\
log4j.rootLogger={level},console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{{ISO8601}} %p %c{{2}}: %m%n
"""


class Daemons(Running):
    """The daemons of one deployment.

    ``out`` names the hosts whose workers are out of service, ``masters`` queries the status of
    the cluster. ``java_homes`` has the ``JAVA_HOME`` of the containers of hosts where it is not
    that of the daemons.

    Parameters
    ----------
    layout:
        Hosts, roles and settings.
    storage:
        The file system below Hadoop.
    hosts_file:
        Name table for the JVMs.
    shared:
        Folder for what all hosts read (web roots, client settings).
    """

    def __init__(
        self, layout: Layout, storage: StorageSystem, hosts_file: Path, shared: Path
    ) -> None:
        super().__init__()
        self.layout = layout
        self.storage = storage
        self.hosts_file = hosts_file
        self.shared = shared
        self.out: set[str] = set()
        self._later: list[str] = []
        self.masters = Masters(lambda: self.layout)
        self.java_homes: dict[str, Path] = {}

    @property
    def client_conf(self) -> Path:
        """Folder with the settings that clients use."""
        return self.shared / "client-conf"

    def write_settings(self) -> None:
        """Write every host's and the clients' site files."""
        for name in _WEBAPPS:
            (self.shared / "web" / "webapps" / name).mkdir(parents=True, exist_ok=True)
        for placement in self.layout.placements:
            host = placement.host
            self._write_conf(host, host.root / "conf", self.layout.properties(host))
        self.write_client_settings()

    def write_client_settings(self) -> None:
        """Write only the clients' site files (a change of job settings needs no restart)."""
        host = self.layout.placements[0].host
        self._write_conf(host, self.client_conf, self.layout.properties())

    def _write_conf(self, host: Host, folder: Path, properties: Mapping[str, str]) -> None:
        for name, text in site_files(properties, self.layout.software.version).items():
            host.write_text(folder / name, text)
        host.write_text(folder / "log4j.properties", LOG4J.format(level="INFO"))

    def start(self) -> None:
        """Start the storage and the daemons; do not wait until they are ready.

        No daemon starts long before the daemon that it connects to: a NodeManager makes ten
        attempts in ten seconds to reach the ResourceManager, then sleeps for 30 s
        (``yarn.resourcemanager.connect.retry-interval.ms``). :meth:`wait_ready` starts the
        history server: started here, it would sleep for ten seconds. On few cores, it also
        starts the workers, when their masters answer: the masters would start more slowly next to
        them, and the workers would wait.

        Raises
        ------
        DeploymentError
            If the storage cannot be set up.
        """
        self.storage.begin(self)
        self.spawn_all(*(role for role in _FIRST if not ROLES[role].storage))
        self.storage.start(self)
        if (psutil.cpu_count() or 1) <= _FEW_CORES:
            self._later = list(_WORKERS)
        else:
            self.spawn_all(*_WORKERS)

    def spawn_all(self, *roles: str) -> None:
        """Start some roles on their hosts."""
        for placement in self.layout.placements:
            for role in placement.roles:
                if role in roles:
                    self.spawn(placement.host, role)

    def spawn_own(
        self, host: Host, name: str, main: str, *args: str, heap_mb: int, starter: bool = False
    ) -> Process:
        """Start a JVM with a main class of Windtunnel's own jar; see ``ProcessSpec``."""
        argv = self.layout.software.command(
            main,
            *args,
            heap_mb=heap_mb,
            hosts_file=self.hosts_file,
            classpath=[self.client_conf, OWN_JAR],
            binding=self.layout.binding(host.address),
        )
        log = host.logs / f"{name.partition('@')[0]}.log"
        return host.spawn(ProcessSpec(name, argv, log, host.root, starter=starter))

    def spawn(self, host: Host, role: str, *args: str, suffix: str = "") -> None:
        """Start the daemon of a role on a host, or with arguments a command of its main class."""
        software = self.layout.software
        name = f"{role}@{host.name}{suffix}"
        classpath = [host.root / "conf", self.shared / "web"]
        options: tuple[str, ...] = (f"-Dproc_{role}",)
        if role == "namenode":
            options += (HISTOGRAM,)
        if role == "resourcemanager":
            classpath.append(OWN_JAR)
            options += use_key(host, software, self.layout.properties(host))
        argv = software.command(
            MAIN_CLASS[role],
            *args,
            heap_mb=HEAP_MB[role],
            hosts_file=self.hosts_file,
            classpath=classpath,
            options=options,
            binding=self.layout.binding(host.address),
        )
        home = software.java.parent.parent
        starter = role == "nodemanager" and host.name in self.java_homes
        if starter:  # containers have it from their NodeManager
            home = self.java_homes[host.name]
        env = {"JAVA_HOME": str(home)}
        log = host.logs / f"{role}{suffix}.log"
        spec = ProcessSpec(name, argv, log, host.root, env, starter=starter)
        self.running[name] = host.spawn(spec)

    def restart(self, name: str) -> None:
        """Restart a daemon that has ended, under its old name."""
        role, host_name = name.split("@")
        host = next(p.host for p in self.layout.placements if p.host.name == host_name)
        self.spawn(host, role)

    def plays(self, name: str) -> bool:
        """Whether ``ROLE@HOST`` is a daemon of this deployment."""
        role, host = name.split("@")
        return any(host == p.host.name and role in p.roles for p in self.layout.placements)

    def stop(self, names: Iterable[str]) -> None:
        """Kill some daemons."""
        ending = self.release(names)
        for process in ending:
            process.kill()
        for process in ending:
            if process.wait(_END_S) is None:
                raise DeploymentError(f"{process.name} did not end within {_END_S:.0f} s")

    def restart_all(self, names: Iterable[str]) -> dict[str, float]:
        """Kill and start daemons; returns the start time of each, in epoch seconds.

        :meth:`wait_ready` starts a history server, as after :meth:`start`.
        """
        known = list(names)
        self.stop(known)
        started = {}
        for name in [name for name in known if name.partition("@")[0] not in _LAST]:
            started[name] = time.time()
            self.restart(name)
        return started

    def wait_ready(
        self,
        timeout_s: float,
        notify: Callable[[str], None] = lambda _: None,
        fresh: Mapping[str, float] | None = None,
    ) -> None:
        """Wait until the storage serves and every worker is registered, by REST and JMX.

        ``fresh`` maps restarted daemons to their start times (epoch seconds): a master may still
        report the state of the previous process.

        Raises
        ------
        DeploymentError
            If a daemon dies, or after ``timeout_s``; the message lists what is still missing.
        """
        deadline = time.monotonic() + timeout_s
        missing = ["all daemons"]
        while missing:
            self.check_alive()
            self.storage.check_alive()
            if time.monotonic() > deadline:
                raise DeploymentError(
                    f"not ready after {timeout_s:.0f} s; still missing: {', '.join(missing)}",
                    remedy="see the logs; use fewer workers on a slow or loaded machine.",
                    log=self.layout.placements[0].host.logs,
                )
            before, missing = missing, self._missing(fresh or {})
            if missing and missing != before:
                notify(", ".join(missing))
            if missing:
                time.sleep(_POLL_S)
        for placement in self.layout.placements:
            if "resourcemanager" in placement.roles:
                keep_key(placement.host)

    def _missing(self, fresh: Mapping[str, float]) -> list[str]:
        placed = [p for p in self.layout.placements if p.host.name not in self.out]
        roles = [role for placement in placed for role in placement.roles]
        missing = [name for name, since in fresh.items() if not self.masters.serves(name, since)]
        self._start_workers()
        stored = self.storage.state()
        if stored.serving:
            self._start_last()
        missing += stored.missing
        active = self.masters.active_nodemanagers()
        if active < roles.count("nodemanager"):
            missing.append(f"{roles.count('nodemanager') - active} nodemanagers")
        if "historyserver" in roles and not self.masters.history_answers():
            missing.append("the history server")
        return missing

    def _start_workers(self) -> None:
        for role in [role for role in self._later if self.masters.answers(_MASTER_OF[role])]:
            self._later.remove(role)
            self.spawn_all(role)

    def _start_last(self) -> None:
        for placement in self.layout.placements:
            for role in placement.roles:
                if role in _LAST and f"{role}@{placement.host.name}" not in self.running:
                    self.spawn(placement.host, role)

    def close(self) -> None:
        """Close the connections; the supervisor ends the processes."""
        self.masters.close()
