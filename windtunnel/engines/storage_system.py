"""The contract of storage systems: the file system below Hadoop, such as HDFS or CephFS.

``storage.kind`` of a description names one. A deployment creates it before the settings of Hadoop
are planned, because they contain its address; it starts with Hadoop's daemons.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from windtunnel.cluster import Cluster
from windtunnel.cluster.roles import HADOOP
from windtunnel.engines.deployment import copies_text
from windtunnel.engines.faults import Copies
from windtunnel.engines.hadoop.layout import Placement
from windtunnel.engines.running import Running
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host, Process
from windtunnel.results.record import Metric

if TYPE_CHECKING:
    from windtunnel.engines.hadoop.cds import ClientClasses
    from windtunnel.engines.hadoop.layout import Layout
    from windtunnel.engines.hadoop.status import Masters
    from windtunnel.engines.hadoop.webhdfs import WebHdfs


class Jvms(Protocol):
    """The functions that start Hadoop's daemons, as a storage system uses them."""

    layout: Layout
    masters: Masters
    running: dict[str, Process]
    out: set[str]

    @property
    def hosts_file(self) -> Path:
        """The file with the names and addresses of all hosts."""

    def spawn(self, host: Host, role: str, *args: str, suffix: str = "") -> None:
        """Start the JVM of one of Hadoop's roles on a host."""

    def spawn_all(self, *roles: str) -> None:
        """Start the JVMs of some of Hadoop's roles on their hosts."""

    def spawn_own(
        self, host: Host, name: str, main: str, *args: str, heap_mb: int, starter: bool = False
    ) -> Process:
        """Start a JVM with a main class of Windtunnel's own jar."""


@dataclass(frozen=True)
class Ground:
    """The hosts and folders that a storage system uses.

    Attributes
    ----------
    placements:
        The hosts with their roles and disks, the masters first.
    shared:
        Folder that all hosts read.
    own_networks:
        Each host has a network of its own, in which the default ports are free.
    """

    cluster: Cluster
    placements: Sequence[Placement]
    shared: Path
    own_networks: bool


@dataclass(frozen=True)
class State:
    """The state of a storage system while it starts.

    ``serving``: files can be written. ``missing`` names the parts that are not ready yet.
    """

    serving: bool
    missing: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True)
class Mounted:
    """How a program uses the storage as a mounted file system.

    ``command`` runs the program with a new folder; ``through`` names the mount in words. With
    ``as_root`` it runs as root in the network of the deployment, else on the client host.
    """

    through: str
    command: Sequence[str]
    as_root: bool = False


@dataclass(frozen=True)
class Memory:
    """Bytes of memory of a process; only values of the same process can be compared."""

    pid: int
    used_bytes: int


class StorageSystem(Running):
    """The file system below a Hadoop cluster, with its daemons.

    ``name`` is the name in ``storage.kind``. ``engines`` are the engines that run on the storage;
    None means all of them. ``owner`` is the engine of its roles in the table of roles. ``stores``
    is the role of the daemons that can be taken out of service, empty if none can.
    ``moves_data_back`` states whether the storage moves data to a host that is in service again,
    ``one_machine`` whether all hosts must share the files of this machine.
    """

    name: ClassVar[str]
    owner: ClassVar[str] = HADOOP
    engines: ClassVar[frozenset[str] | None] = None
    stores: ClassVar[str] = ""
    moves_data_back: ClassVar[bool] = False
    one_machine: ClassVar[bool] = False

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self.ground = ground
        self.cluster = ground.cluster

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """The reasons why the storage cannot store the data of a cluster."""
        return []

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError, with the remedy, if this machine lacks its programs."""
        return

    @classmethod
    def daemons_bytes(cls, cluster: Cluster) -> int:
        """Memory of the daemons of the storage, without those of Hadoop; bytes."""
        return 0

    @classmethod
    def jars(cls, cluster: Cluster) -> Sequence[Path]:
        """The jars that all JVMs of Hadoop need to use the storage."""
        return ()

    @classmethod
    def client_classes(cls, cluster: Cluster) -> ClientClasses | None:
        """The classes of its client; None if the class archive does not contain them.

        Their jars are the first ones of :meth:`jars`.
        """
        return None

    @classmethod
    def outside(cls, cluster: Cluster) -> str:
        """The storage in words if Windtunnel did not start it, otherwise empty.

        The processes of the deployment then need the network of this machine.
        """
        return ""

    @classmethod
    def mount_point(cls, shared: Path) -> Path | None:
        """Where one of its processes mounts files for all other processes of the deployment.

        ``shared`` is the folder that all hosts read.
        """
        return None

    def settings(self) -> Mapping[str, str]:
        """The properties with which clients and daemons of Hadoop use the storage."""
        return {}

    def class_path(self) -> Sequence[Path]:
        """The folders of this deployment that all JVMs of Hadoop need on their class path."""
        return ()

    def java_options(self) -> tuple[str, ...]:
        """The options that all JVMs of Hadoop need to use the storage; none needs quoting."""
        return ()

    def begin(self, jvms: Jvms) -> None:
        """Start the daemons that depend on no other daemon; raises DeploymentError."""
        return

    def start(self, jvms: Jvms) -> None:
        """Start the daemons that Hadoop's workers need; raises DeploymentError."""
        return

    @abstractmethod
    def state(self) -> State:
        """Whether the storage serves, and what is missing; called until nothing is missing."""

    @abstractmethod
    def web_server(self) -> tuple[str, int]:
        """IP address and port of the server that answers requests of WebHDFS."""

    def prepare(self, files: WebHdfs) -> None:
        """Prepare the folders of the workloads; called once, when everything is ready."""
        return

    @abstractmethod
    def copies(self, since: Mapping[str, float]) -> Copies | None:
        """The state of its replicas; None if it does not answer.

        ``since`` maps restarted daemons to the times of their restarts, in epoch seconds.
        """

    def sure_s(self) -> float:
        """Seconds without a missing replica until the report of the storage counts."""
        return 0.0

    def expected_copies(self, replication: int) -> str:
        """How the storage keeps files that are written with this replication, in words."""
        return copies_text(replication)

    def metrics(self, folder: str, files: WebHdfs) -> Mapping[str, Metric]:
        """Metrics of the storage about the files of a trial."""
        return {}

    def metadata_memory(self) -> Memory | None:
        """Memory of the master that keeps the metadata; None if it is not known.

        Raises
        ------
        DeploymentError
            If the master does not report it.
        """
        return None

    def mounted(self, program: Sequence[str]) -> Mounted | str:
        """How a program uses the storage as a mounted file system, or why that is impossible."""
        return f"Windtunnel has no mount of {self.name}"

    def facts(self) -> dict[str, Any]:
        """Versions and settings for the provenance."""
        return {}

    def active_host(self) -> str | None:
        """The name of the host of its active master; None if there is none, or only one master."""
        return None

    def decommission(self, host: str) -> None:
        """Take a host with the role ``stores`` out of service; its data is copied to others.

        Raises
        ------
        DeploymentError
            If the storage refuses it.
        """
        raise DeploymentError(f"{self.name} cannot take a host out of service")

    def recommission(self, host: str) -> None:
        """Put a host into service again; raises DeploymentError."""
        raise DeploymentError(f"{self.name} cannot put a host into service")

    def plays(self, name: str) -> bool:
        """Whether ``ROLE@HOST`` is a daemon that it starts itself."""
        return False

    def restart(self, name: str) -> None:
        """Restart a daemon that has ended, under its old name."""
        raise DeploymentError(f"{name} cannot be restarted")

    def remove_data(self) -> None:
        """Remove the data of the deployment from a storage that stays; the daemons still run.

        Raises
        ------
        DeploymentError
            If data is left.
        """
        return

    def close(self) -> None:
        """Close the connections; the supervisor ends the processes."""
        return


def not_single(cluster: Cluster, *roles: str) -> list[str]:
    """A sentence for each of the roles that not exactly one host has."""
    counts = {role: len(cluster.nodes_with(role)) for role in roles}
    return [
        f"exactly one host must have the role {role}, but {count} have it"
        for role, count in counts.items()
        if count != 1
    ]


def no_warm_starts(cluster: Cluster) -> list[str]:
    """The reason why tasks cannot start warm, if the description requests it; see ``pool``."""
    if cluster.software.task_start != "warm":
        return []
    return ["software.task_start: warm starts need storage of kind hdfs"]
