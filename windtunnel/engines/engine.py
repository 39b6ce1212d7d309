"""The contract of software that runs beside Hadoop: Spark, HBase, Pig ...

A workload names the engines that it needs (``Parameters.engines``) and asks its deployment for
one: it is started then, once in a deployment, and ends with it. An engine gets its hosts,
settings and processes from the Hadoop cluster it runs on, so it runs on every testbed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import engine_of, text_of
from windtunnel.engines.artifacts import ArtifactSet, ensure_shipped
from windtunnel.engines.deployment import Deployment, Transfers
from windtunnel.engines.hadoop.daemons import Daemons, refuse_dead
from windtunnel.engines.hadoop.history import History
from windtunnel.engines.java import Java, find_java, major_of
from windtunnel.engines.lines import Line, line_in
from windtunnel.engines.progress import Progress
from windtunnel.errors import DeploymentError, SetupError
from windtunnel.hosts.base import Host, Process

_END_S = 10.0


@runtime_checkable
class HadoopCluster(Deployment, Transfers, Protocol):
    """A running Hadoop cluster, as engines see it.

    ``client`` is the host that clients run on, ``shared`` a folder that all hosts read,
    ``hosts_file`` the name table of the JVMs.
    """

    cluster: Cluster
    daemons: Daemons
    history: History

    @property
    def client(self) -> Host:
        """The host that jobs and transfers start from."""
        ...

    @property
    def shared(self) -> Path:
        """Folder for what all hosts read."""
        ...

    @property
    def hosts_file(self) -> Path:
        """Name table of all hosts, for the JVMs."""
        ...


class Engine(ABC):
    """Software on top of a running Hadoop cluster.

    ``name`` is what ``software.engines`` calls it, ``lines`` the release lines that ship, the
    first being the default, ``roles`` those of a description's that it plays. ``running`` are its
    daemons by name, ``ROLE@HOST``; those of a client-only engine are none.
    """

    name: ClassVar[str]
    lines: ClassVar[Mapping[str, Line]]
    roles: ClassVar[tuple[str, ...]] = ()
    # whether its daemons refuse other users where they share the machine's network with them
    guarded: ClassVar[bool] = True

    def __init__(self, hadoop: HadoopCluster, jars: ArtifactSet) -> None:
        self.hadoop = hadoop
        self.jars = jars
        self.running: dict[str, Process] = {}

    @classmethod
    def placed(cls, cluster: Cluster) -> Mapping[str, Sequence[str]]:
        """Names of the hosts that each of its roles runs on; none for a client-only engine."""
        return {}

    @classmethod
    def memory_bytes(cls, cluster: Cluster) -> int:
        """What its daemons need beside those of Hadoop; 0 for a client-only engine."""
        return 0

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError if its programs are not made for such a machine as this one."""
        return

    @classmethod
    def try_out(cls, jars: ArtifactSet) -> None:
        """Raise SetupError if its programs, now fetched, do not run here."""
        return

    @property
    def settings(self) -> dict[str, str]:
        """The description's properties of this engine: ``settings.NAME.PROPERTY``."""
        return self.settings_in(self.hadoop.cluster)

    @classmethod
    def settings_in(cls, cluster: Cluster) -> dict[str, str]:
        """A description's properties of this engine."""
        given = cluster.settings
        return {
            name: text_of(value) for name, value in given.items() if engine_of(name) == cls.name
        }

    @abstractmethod
    def start(self) -> None:
        """Start what must run before work can begin; wait until it is ready.

        Raises DeploymentError if it does not come up.
        """

    def check_alive(self) -> None:
        """Raise DeploymentError, naming the daemon, if one of its own has died."""
        refuse_dead(self.running)

    def processes(self) -> Mapping[str, int]:
        """Process id of each of its daemons by name, ``ROLE@HOST``."""
        return {name: process.pid for name, process in list(self.running.items())}

    def progress(self) -> float | None:
        """Share that is done of what a client of its own runs; None while none does."""
        return None

    def release(self, names: Iterable[str]) -> list[Process]:
        """Watch over some daemons no longer: they may end now. Returns those that ran."""
        return [self.running.pop(name) for name in list(names) if name in self.running]

    def restart(self, name: str) -> None:
        """Start a daemon that has ended again, under its old name."""
        raise DeploymentError(f"{name} cannot be started again")

    def recover(self) -> None:
        """Wait until all of it serves, after daemons were started anew; raises DeploymentError."""
        self.check_alive()

    def close(self) -> None:
        """End its daemons, whatever state they are in."""
        ending = list(self.running.values())
        self.running.clear()
        for process in ending:
            process.kill()
        for process in ending:
            process.wait(_END_S)


E = TypeVar("E", bound=Engine)


@runtime_checkable
class WithEngines(Protocol):
    """A deployment on which engines can run."""

    def engine(self, kind: type[E]) -> E:
        """The engine, started if it does not run yet; raises DeploymentError, SetupError."""
        ...


def line_of(kind: type[Engine], cluster: Cluster) -> Line:
    """The release line of an engine that a description asks for, or the default.

    Raises
    ------
    DescriptionError
        If no such line ships.
    """
    wanted = cluster.software.engines.get(kind.name)
    if wanted is None:
        return next(iter(kind.lines.values()))
    return line_in(kind.lines, kind.name, str(wanted), f"software.engines.{kind.name}")


def java_of(kind: type[Engine], cluster: Cluster) -> Java | None:
    """The Java that an engine finds for itself; None: it runs on the cluster's.

    Raises
    ------
    SetupError
        If none suits it.
    """
    line = line_of(kind, cluster)
    if not line.own_java:
        return None
    return find_java(line.java_minimum, line.java_maximum, needed_by=line.lock)


def load_engine(
    kind: type[Engine], cluster: Cluster, java_version: str, progress: Progress | None = None
) -> ArtifactSet:
    """The verified jars of an engine, fetched if need be.

    Raises
    ------
    SetupError
        If the machine does not suit it, nor the Java that Hadoop runs on (or any other, where it
        has its own), or its jars are missing or damaged.
    """
    line = line_of(kind, cluster)
    kind.check_machine()
    if java_of(kind, cluster) is None:
        _refuse_java(line, java_version)
    jars = ensure_shipped(line.lock, progress)
    kind.try_out(jars)
    return jars


def _refuse_java(line: Line, version: str) -> None:
    """Raise SetupError if a line does not run on a version of Java."""
    java = major_of(version)
    if java < line.java_minimum or java > (line.java_maximum or java):
        upto = f" to {line.java_maximum}" if line.java_maximum else " or newer"
        raise SetupError(
            f"{line.lock} runs on Java {line.java_minimum}{upto}, and the cluster would run on "
            f"Java {version}",
            remedy=f"install a Java {line.java_maximum or line.java_minimum} and set JAVA_HOME "
            "to it.",
        )
