"""The contract of software that runs in addition to Hadoop: Spark, HBase, Pig ...

A workload names the engines that it needs (``Parameters.engines``) and requests each from its
deployment, which starts it at the first request and ends it at its own end. An engine gets its
hosts, settings and processes from its Hadoop cluster, so it runs on every testbed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from windtunnel.cluster import ROLES, Cluster
from windtunnel.cluster.role_table import RoleEntry
from windtunnel.cluster.settings import engine_of, text_of
from windtunnel.engines.artifacts import ArtifactSet, ensure, ensure_shipped
from windtunnel.engines.deployment import Deployment
from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.engines.hadoop.history import History
from windtunnel.engines.java import Java, find_java, major_of
from windtunnel.engines.progress import Progress
from windtunnel.engines.releases import Line, line_in
from windtunnel.engines.running import Running
from windtunnel.errors import DeploymentError, SetupError, TrialInvalidError

_END_S = 10.0


class HadoopCluster(Deployment):
    """A running Hadoop cluster, as engines see it.

    Attributes
    ----------
    cluster:
        Its description.
    daemons:
        Hadoop's own.
    history:
        Finished jobs.
    """

    cluster: Cluster
    daemons: Daemons
    history: History

    @property
    @abstractmethod
    def shared(self) -> Path:
        """Folder for what all hosts read."""

    @property
    @abstractmethod
    def hosts_file(self) -> Path:
        """Name table of all hosts, for the JVMs."""


def own_programs(deployment: Deployment) -> HadoopCluster:
    """The cluster on which Windtunnel's own programs run; raises TrialInvalidError if none can."""
    if not isinstance(deployment, HadoopCluster):
        raise TrialInvalidError("this testbed cannot run a program of Windtunnel's own")
    return deployment


class Engine(Running):
    """Software on top of a running Hadoop cluster.

    ``name`` is the name in ``software.engines``. ``lines`` are the release lines that Windtunnel
    ships; the first one is the default. The roles are those of the table (``cluster/roles.py``)
    under this name. A client-only engine has no roles, and no daemons in ``running``.
    """

    name: ClassVar[str]
    lines: ClassVar[Mapping[str, Line]]
    roles: ClassVar[Sequence[RoleEntry]] = ()
    """Roles that are not in the table of ``cluster/roles.py``: those of another package."""
    setting_words: ClassVar[Sequence[str]] = ()
    """First words of settings that are not there either: ``hbase`` of ``settings.hbase.*``."""
    lock_folder: ClassVar[Path | None] = None
    """Folder of the lock files of another package's engine: ``LOCK.toml`` for each line."""
    # whether its daemons refuse other users where they share the machine's network with them
    guarded: ClassVar[bool] = True

    def __init__(self, hadoop: HadoopCluster, jars: ArtifactSet) -> None:
        super().__init__()
        self.hadoop = hadoop
        self.jars = jars

    @classmethod
    def placed(cls, cluster: Cluster) -> Mapping[str, Sequence[str]]:
        """Names of the hosts that each of its roles runs on; none for a client-only engine.

        They are as described; a role that the description assigns to no host runs on the hosts
        that the table of roles gives.
        """
        return {
            role.name: _players(cluster, role.name)
            or (_players(cluster, role.beside) if role.beside else _players(cluster)[:1])
            for role in ROLES.started(cls.name)
        }

    @classmethod
    def memory_bytes(cls, cluster: Cluster) -> int:
        """Memory of its daemons, in addition to Hadoop's; 0 for a client-only engine."""
        return 0

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError if its programs do not support this kind of machine."""
        return

    @classmethod
    def try_out(cls, jars: ArtifactSet) -> None:
        """Raise SetupError if the fetched programs do not run on this machine."""
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

    @classmethod
    def refused_settings(cls, cluster: Cluster) -> Mapping[str, str]:
        """Settings of a description with which it cannot work, each with the reason."""
        return {}

    @abstractmethod
    def start(self) -> None:
        """Start the processes that must run before work can begin; wait until they are ready.

        Raises DeploymentError if they do not become ready.
        """

    def progress(self) -> float | None:
        """Completed fraction of the work of its running client; None if no client runs."""
        return None

    def restart(self, name: str) -> None:
        """Restart a daemon that has ended, under its old name."""
        raise DeploymentError(f"{name} cannot be restarted")

    def recover(self) -> None:
        """Wait until all daemons serve after a restart; raises DeploymentError."""
        self.check_alive()

    def close(self) -> None:
        """End its daemons, in every state."""
        ending = self.release_all()
        for process in ending:
            process.kill()
        for process in ending:
            process.wait(_END_S)


def _players(cluster: Cluster, role: str | None = None) -> list[str]:
    """Names of the nodes that play a role; None: of all."""
    nodes = cluster.nodes() if role is None else cluster.nodes_with(role)
    return [node.name for node in nodes]


def line_of(kind: type[Engine], cluster: Cluster) -> Line:
    """The release line of an engine that a description requests, or the default.

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
    """The Java of an engine that does not use the cluster's; None: it uses the cluster's.

    Raises
    ------
    SetupError
        If none is suitable.
    """
    line = line_of(kind, cluster)
    if not line.own_java:
        return None
    return find_java(line.java_minimum, line.java_maximum, needed_by=line.lock)


def load_engine(
    kind: type[Engine], cluster: Cluster, java_version: str, progress: Progress | None = None
) -> ArtifactSet:
    """The verified jars of an engine, fetched if the cache lacks them.

    Raises
    ------
    SetupError
        If the machine or the Java is not suitable (Hadoop's Java, or any installed Java for an
        engine with its own), or the jars are missing or damaged.
    """
    line = line_of(kind, cluster)
    kind.check_machine()
    if java_of(kind, cluster) is None:
        _refuse_java(line, java_version)
    if kind.lock_folder is None:
        jars = ensure_shipped(line.lock, progress)
    else:
        jars = ensure(kind.lock_folder / f"{line.lock}.toml", line.lock, progress)
    kind.try_out(jars)
    return jars


def _refuse_java(line: Line, version: str) -> None:
    """Raise SetupError if a line does not run on a version of Java."""
    java = major_of(version)
    if java < line.java_minimum or java > (line.java_maximum or java):
        upto = f" to {line.java_maximum}" if line.java_maximum else " or newer"
        raise SetupError(
            f"{line.lock} needs Java {line.java_minimum}{upto}, but the cluster would run on "
            f"Java {version}",
            remedy=f"install a Java {line.java_maximum or line.java_minimum} and set JAVA_HOME "
            "to it.",
        )
