"""Warm starts: JVMs that wait on each host for the containers of MapReduce.

The NodeManager starts containers with the ``java`` of a small script in place of the runtime's.
The script passes the launch to the keeper of its host (``java/io/windtunnel/pool``), which hands it
to a waiting JVM with the same options; without one, the script starts a stock JVM. A JVM runs one
container and ends with its exit code. :meth:`Pool.fill` starts the missing JVMs before a phase
(docs/decisions/0032).
"""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from windtunnel.cluster.setting_values import HEAP_RATIO, heap_ratio, whole
from windtunnel.cluster.settings import default_of
from windtunnel.engines.hadoop.daemons import LOG4J, Daemons
from windtunnel.engines.hadoop.layout import Layout, Placement
from windtunnel.engines.hadoop.pool_sizes import fitted, pool_sizes
from windtunnel.engines.hadoop.software import OWN_JAR
from windtunnel.engines.running import Running, tail
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host, ProcessSpec

ROLE = "pool"
_KEEPER = "io.windtunnel.pool.Keeper"
_WARM_START = "io.windtunnel.pool.WarmStart"
_TASK, _MASTER = (
    "org.apache.hadoop.mapred.YarnChild",
    "org.apache.hadoop.mapreduce.v2.app.MRAppMaster",
)
# What the change of the environment, folder and class path of a running JVM needs.
OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.io", "java.lang", "java.util", "sun.nio.fs", "jdk.internal.loader")
)
# What a NodeManager writes in place of <ADD_OPENS> from Java 17 on (ContainerLaunch of Hadoop 3.4).
_ADDED_OPENS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.dns=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
)
_CLASS_PATH = ("-cp", "-classpath", "--class-path")
# Properties that a running JVM takes from the launch (Launch.java).
_SET_LATER = tuple(
    f"-D{name}"
    for name in ("java.io.tmpdir=", "log4j.", "yarn.app.", "hadoop.root.", "hadoop.metrics.")
)
# Without a keeper, the start is stock. Both pipes are open for both ways, so that neither side
# waits for the other one to open them. Once a JVM has the launch, the pipe is only read: its end
# without an exit code is the end of the keeper. The waiting JVM opens the output files of the
# script, so the script must not redirect its own.
_SCRIPT = """\
#!/bin/sh
answer=
if {{
  read -r keeper <"{folder}/keeper" && [ -d "/proc/$keeper" ] && mkfifo "{folder}/reply-$$"
}} 2>/dev/null; then
  exec 8<>"{folder}/reply-$$" 9<>"{folder}/requests"
  echo "$$" >&9
  exec 9>&-
  read -r answer jvm <&8
  if [ "$answer" = warm ]; then
    exec 7</proc/self/fd/8 8>&-
    read -r answer <&7 || {{ kill -9 "$jvm"; answer=137; }}
  fi
  exec 7>&- 8>&-
  [ "$answer" = stock ] || exit "$answer"
fi
if [ -z "$answer" ]; then
  case " $* " in *" {map_reduce}"*) echo "$$" >>"{folder}/{missed}" ;; esac
fi
for file in {quota}; do
  echo 0 >"$file" || exit 1 # work without the quota of its host would be a wrong result
done
exec "{java}" "$@"
"""
_MAP_REDUCE = "org.apache.hadoop.map"
_MISSED = "missed"  # a line for each stock start that no keeper has counted
# Options that act at the start of a JVM: on files that must be those of the container, or on all
# that the JVM does from then on.
_AT_START = ("-Xlog", "-Xloggc", "-verbose:gc", "-javaagent", "-agent", "@", "-XX:StartFlight")
_POLL_S = 0.1

_HEAP_MB = 16


@dataclass(frozen=True)
class Starts:
    """Numbers of containers of MapReduce that were started so far."""

    warm: int = 0
    stock: int = 0

    def __add__(self, other: Starts) -> Starts:
        return Starts(self.warm + other.warm, self.stock + other.stock)

    def __sub__(self, other: Starts) -> Starts:
        return Starts(self.warm - other.warm, self.stock - other.stock)


@dataclass(frozen=True)
class Status:
    """The state of one host's pool, as its keeper has written it."""

    serial: int
    filled: bool
    starts: Starts
    failed: int
    waiting: Sequence[int]

    @classmethod
    def parse(cls, text: str) -> Status:
        """The status of the lines ``NAME VALUE``; missing lines count as nothing."""
        found: dict[str, str] = {}
        waiting: list[int] = []
        for line in text.splitlines():
            name, _, value = line.partition(" ")
            if name == "waiting":
                waiting += [int(pid) for pid in value.split()[1:]]
            else:
                found[name] = value

        def number(name: str) -> int:
            value = found.get(name, "")
            return int(value) if value.isdigit() else 0

        return cls(
            number("serial"),
            found.get("filled") == "true",
            Starts(number("warm"), number("stock")),
            number("failed"),
            waiting,
        )


class Pool(Running):
    """The waiting JVMs of one deployment.

    Parameters
    ----------
    daemons:
        Hadoop's daemons; their layout may change, and JVMs start with its settings of the time.
    jvms:
        The number of JVMs that wait for tasks on each host; None for one wave.
    """

    def __init__(self, daemons: Daemons, jvms: int | None = None) -> None:
        super().__init__()
        self.daemons = daemons
        self._jvms = jvms
        self._jar = daemons.shared / OWN_JAR.name
        self._serial = 0
        self._earlier = Starts()  # of keepers that a fault has killed
        self.cuts: dict[str, set[str]] = {}
        """The hosts behind each link that a fault has cut, by the name of the link."""
        self._memory_bytes = psutil.virtual_memory().available

    @property
    def layout(self) -> Layout:
        """The current settings and hosts."""
        return self.daemons.layout

    def prepare(self) -> None:
        """Write the script of each host, before its NodeManager starts."""
        self._jar.write_bytes(OWN_JAR.read_bytes())
        for placement in self._workers():
            host, folder = placement.host, self._folder(placement.host)
            script = self.java_home(host) / "bin" / "java"
            quota = " ".join(shlex.quote(str(file)) for file in host.quota_files)
            java = self.layout.software.java
            text = _SCRIPT.format(
                folder=folder, java=java, quota=quota, map_reduce=_MAP_REDUCE, missed=_MISSED
            )
            host.write_text(script, text)
            script.chmod(0o755)
            host.write_text(folder / "log4j.properties", LOG4J.format(level="WARN"))
            (folder / "tmp").mkdir(exist_ok=True)
            with suppress(FileExistsError):
                os.mkfifo(folder / "requests")
            self.daemons.java_homes[host.name] = self.java_home(host)

    def java_home(self, host: Host) -> Path:
        """``JAVA_HOME`` of the containers of a host."""
        return self._folder(host) / "java"

    def plays(self, name: str) -> bool:
        """Whether a process, ``ROLE@HOST``, is a keeper."""
        return name.partition("@")[0] == ROLE

    def start(self) -> None:
        """Start the keepers; no JVM waits before :meth:`fill`."""
        for placement in self._workers():
            self.restart(f"{ROLE}@{placement.host.name}")

    def restart(self, name: str) -> None:
        """Start the keeper of a host."""
        host = next(p.host for p in self._workers() if f"{ROLE}@{p.host.name}" == name)
        folder = self._folder(host)
        for left in folder.glob("reply-*"):
            left.unlink(missing_ok=True)
        self._earlier += self.status(host).starts
        (folder / "status").unlink(missing_ok=True)
        # no JVM starts within a timed phase: the next :meth:`fill` writes a new order
        (folder / "order").unlink(missing_ok=True)
        argv = [str(self.layout.software.java), f"-Xmx{_HEAP_MB}m", "-XX:+UseSerialGC"]
        argv += ["-XX:TieredStopAtLevel=1", "-Xss512k", "-XX:-UsePerfData", "-cp", str(self._jar)]
        argv += [_KEEPER, str(folder)]
        spec = ProcessSpec(name, argv, host.logs / f"{ROLE}.log", folder, starter=True)
        self.running[name] = host.spawn(spec)
        host.write_text(folder / "keeper", f"{self.running[name].pid}\n")

    def fill(self, timeout_s: float, check_alive: Callable[[], None]) -> None:
        """Start JVMs until those of one wave of tasks and an application master wait on each host.

        A host that a fault has killed or cut off is left as it is. ``check_alive`` raises
        DeploymentError if a keeper, or a daemon that the JVMs need, has died.

        Raises
        ------
        DeploymentError
            If a JVM does not start, a keeper dies, or after ``timeout_s``. No JVM starts later.
        """
        reached = [p for p in self._workers() if self._is_reached(p.host)]
        served = [p for p in reached if p.host.name not in self.daemons.out]
        self._write_orders({p.host: self._order(p) if p in served else [] for p in reached})
        try:
            self._wait_full(reached, timeout_s, check_alive)
        except DeploymentError:
            # with a fault in force, the phase runs nevertheless: no JVM may start within it
            self._write_orders({p.host: [] for p in reached})
            raise

    def _write_orders(self, orders: Mapping[Host, Sequence[str]]) -> None:
        """A new order for each host; one without lines ends its waiting JVMs."""
        self._serial += 1
        for host, lines in orders.items():
            # the keeper ignores an order without its end, which is being written
            text = "\n".join([f"serial {self._serial}", *lines, "end"]) + "\n"
            host.write_text(self._folder(host) / "order", text)

    def _wait_full(
        self, reached: Sequence[Placement], timeout_s: float, check_alive: Callable[[], None]
    ) -> None:
        deadline = time.monotonic() + timeout_s
        while missing := [p.host for p in reached if not self._is_full(p.host)]:
            check_alive()
            if time.monotonic() > deadline:
                names = ", ".join(host.name for host in missing)
                raise DeploymentError(
                    f"warm JVMs are missing after {timeout_s:.0f} s on {names}",
                    remedy="reduce software.warm_jvms, or use 'software.task_start: stock'.",
                    log=missing[0].logs / f"{ROLE}.log",
                )
            time.sleep(_POLL_S)

    def starts(self) -> Starts:
        """The containers that were started so far, on all hosts."""
        hosts = [placement.host for placement in self._workers()]
        counted = sum((self.status(host).starts for host in hosts), self._earlier)
        return counted + Starts(stock=sum(map(self._missed, hosts)))

    def waiting(self) -> list[int]:
        """The process ids of all waiting JVMs."""
        return [pid for p in self._workers() for pid in self.status(p.host).waiting]

    def memory_bytes(self) -> int:
        """Resident memory of all waiting JVMs; pages that they share are counted for each."""
        total = 0
        for pid in self.waiting():
            with suppress(psutil.Error):
                total += psutil.Process(pid).memory_info().rss
        return total

    def status(self, host: Host) -> Status:
        """The state of the pool of a host."""
        try:
            return Status.parse((self._folder(host) / "status").read_text())
        except OSError:
            return Status.parse("")

    def _missed(self, host: Host) -> int:
        """Stock starts on a host without a keeper."""
        try:
            return (self._folder(host) / _MISSED).read_text().count("\n")
        except OSError:
            return 0

    def _is_full(self, host: Host) -> bool:
        status = self.status(host)
        if status.serial != self._serial:
            return False
        if status.failed:
            log = host.logs / f"{ROLE}.log"
            raise DeploymentError(
                f"a warm JVM on {host.name} has failed",
                remedy="see the log; 'task_start: stock' runs without warm JVMs.",
                log=log,
                tail=tail(log),
            )
        return status.filled

    def _is_reached(self, host: Host) -> bool:
        """Whether JVMs of a host can start and reach the masters of the file system."""
        masters = self.layout.placements[0].host.name
        apart = any((host.name in behind) != (masters in behind) for behind in self.cuts.values())
        return not apart and f"{ROLE}@{host.name}" in self.running

    def _workers(self) -> list[Placement]:
        return [p for p in self.layout.placements if "nodemanager" in p.roles]

    def _folder(self, host: Host) -> Path:
        return host.root / ROLE

    def _order(self, placement: Placement) -> list[str]:
        """The lines of an order; kinds whose launches have the same key are one."""
        settings = self.layout.properties(placement.host)
        version = self.layout.software.version
        workers = sum(
            p.host.name not in self.daemons.out and self._is_reached(p.host)
            for p in self._workers()
        )
        wanted = pool_sizes(settings, workers, version, self._jvms)
        sizes = fitted(wanted, workers, self._memory_bytes)
        kinds: dict[tuple[str, ...], int] = {}
        for kind, count in sizes.items():
            options = launch_options(kind, settings, placement.host.name, version)
            if any(option.startswith(_AT_START) for option in options):
                continue  # all containers of this kind have stock starts, which are counted
            main = _MASTER if kind == "master" else _TASK
            key = (*(option for option in options if not option.startswith(_SET_LATER)), main)
            kinds[key] = kinds.get(key, 0) + count
        lines: list[str] = []
        for number, (key, count) in enumerate(kinds.items(), start=1):
            lines.append(f"kind {number} {count}")
            lines += [f"key {word}" for word in key]
            lines += [f"command {word}" for word in self._command(placement, key)]
        return lines

    def _command(self, placement: Placement, key: Sequence[str]) -> list[str]:
        """The command of a waiting JVM; a task's ends with the files of its host's CPU quota."""
        *options, main = key
        host, processors = placement.host, placement.processors
        software, folder = self.layout.software, self._folder(host)
        jars = list(software.jars)
        if binding := self.layout.binding(host.name):
            jars.append(str(binding.jar))
        jars.append(str(self._jar))
        return [
            # a session of its own: the NodeManager sends signals to the process group
            *("setsid", str(software.java)),
            # It starts outside the quota. The collector and the numbers of threads that it chooses
            # are those of a JVM that starts in the quota; options of the user come later and win.
            *([f"-XX:ActiveProcessorCount={processors}"] if processors else []),
            *options,
            *OPENS,
            # JVMs that have warmed up with other settings are replaced
            f"-Dwindtunnel.pool.settings={self._settings_hash()}",
            # relative: it becomes the folder of the container
            *("-Djava.io.tmpdir=./tmp", f"-Dlog4j.configuration=file:{folder}/log4j.properties"),
            *("-cp", ":".join(jars), _WARM_START),
            "master" if main == _MASTER else "task",
            *(str(self.daemons.client_conf), str(folder / "tmp")),
            *(str(file) for file in host.quota_files),
        ]

    def _settings_hash(self) -> str:
        """A hash of the settings with which a JVM warms up, those of the clients."""
        files = sorted(self.daemons.client_conf.glob("*-site.xml"))
        return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


def launch_options(
    kind: str, settings: Mapping[str, str], host: str, version: str
) -> tuple[str, ...]:
    """The options of the JVM that a NodeManager starts for a kind of container, without ``-cp``.

    As in MapReduceChildJVM, JobConf.getTaskJavaOpts and YARNRunner of Hadoop 3, with Java 17 or
    newer.
    """

    def setting(name: str) -> str:
        return settings.get(name, default_of(name, version) or "")

    added = _ADDED_OPENS if setting("mapreduce.jvm.add-opens-as-default") == "true" else ()
    if kind == "master":
        given = f"{setting('yarn.app.mapreduce.am.admin-command-opts')} "
        given += setting("yarn.app.mapreduce.am.command-opts")
        return (*_words(given, host), *added)
    own = settings.get(f"mapreduce.{kind}.java.opts") or setting("mapred.child.java.opts")
    if "-Xmx" not in own:
        size = max(0, whole(setting(f"mapreduce.{kind}.memory.mb")) or 0) or 1024
        own = f"{own} -Xmx{int(-(-size * heap_ratio(setting(HEAP_RATIO)) // 1))}m"
    admin = setting(f"mapreduce.admin.{kind}.child.java.opts")
    return (*_words(f"{admin} {own}", host), *added)


def _words(text: str, host: str) -> tuple[str, ...]:
    """The words that the shell makes of options, without the class path."""
    words = shlex.split(text.replace("$NM_HOST", host))
    found, skip = [], False
    for word in words:
        if not skip and word not in _CLASS_PATH:
            found.append(word)
        skip = word in _CLASS_PATH
    return tuple(found)
