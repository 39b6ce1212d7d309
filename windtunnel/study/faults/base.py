"""The contract of a kind of fault: its options, its time and its target."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Self

from pydantic import Field, model_validator

from windtunnel.cluster import (
    Cluster,
    Duration,
    Fraction,
    Node,
    blame,
    format_duration,
    format_fraction,
)
from windtunnel.engines.faults import Faulty, Part, Undo
from windtunnel.study.closed import Closed
from windtunnel.study.faults.detection import Detection, Window


class Options(Closed):
    """Base of the options of a fault; ``kind`` is its name in the study file.

    Times are those of the run: in a scale model, times of the model. ``part`` is the kind of
    component that the testbed has to support. ``removes_replicas`` states that blocks lose a
    replica during the fault, so that the time until all are fully replicated is measured.
    ``moves_data`` states that the storage may move data when the fault is undone, so that this time
    is measured, too. ``hidden`` is the consequence of a fault that no daemon of Hadoop can notice,
    or empty.
    """

    part: ClassVar[Part]
    removes_replicas: ClassVar[bool] = False
    moves_data: ClassVar[bool] = False
    hidden: ClassVar[str] = ""

    kind: str
    phase: str | None = Field(
        None,
        description="Phase of the workload into which the fault is injected; default: the first "
        "phase.",
    )
    after: Duration = Field(
        "0 s",
        description="Time from the start of the job of the phase (or of the client that copies "
        "files) to the fault.",
        validate_default=True,
    )
    at: Fraction | None = Field(
        None,
        description="Progress of the job of the phase at which the fault is injected, as Hadoop "
        "reports it (maps are one half, reduces the other); instead of `after`.",
        lt=1,
    )
    lasts: Duration | None = Field(
        None,
        description="Time after which the fault is undone; default: the end of the last phase of "
        "the trial.",
    )
    watch: Duration = Field(
        "60 s",
        description="Maximum time after the last phase to wait until all blocks are fully "
        "replicated, before the fault is undone; only for faults that remove replicas.",
        validate_default=True,
    )

    @model_validator(mode="after")
    def _one_moment(self) -> Self:
        if self.at is not None and self.after:
            raise blame("give either 'at' or 'after'", remedy="write 'at: 50 %' or 'after: 5 s'.")
        return self

    @abstractmethod
    def target(self, cluster: Cluster) -> str:
        """The component that fails, with its host: ``the datanode on worker-3``."""

    @abstractmethod
    def does(self) -> str:
        """The failure as a participle: ``killed``, ``slowed to 10 %``."""

    @abstractmethod
    def problems(self, cluster: Cluster) -> Iterator[str]:
        """The reasons why the fault cannot be injected into that cluster."""

    @abstractmethod
    def inject(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Inject the fault; returns a function that undoes it."""

    def affects_replicas(self, cluster: Cluster) -> bool:
        """Whether blocks lose replicas, or the NameNode, during the fault."""
        return self.removes_replicas

    def sure_s(self, faulty: Faulty) -> float:
        """Seconds without a missing replica until the report of the storage counts."""
        return faulty.sure_s()

    def detections(self, cluster: Cluster) -> Iterator[Detection]:
        """How Hadoop notices the fault; empty if no daemon does."""
        yield from ()

    def detection_words(self, cluster: Cluster) -> list[str]:
        """One line for each part of Hadoop that notices the fault, or one that no daemon can."""
        found = [detection.words() for detection in self.detections(cluster)]
        return [f"no daemon notices it: {self.hidden}"] if self.hidden else found

    def undetected(self, cluster: Cluster, limit_s: float) -> list[str]:
        """What Hadoop cannot notice in a trial of at most ``limit_s`` seconds, with remedies."""
        window = Window(
            limit_s,
            self.after,
            self.lasts,
            self.watch if self.affects_replicas(cluster) else 0.0,
            restarts=self.part == "daemons" and not self.moves_data,
        )
        return [
            f"{self.words(cluster)}: {note}"
            for note in window.notes(list(self.detections(cluster)))
        ]

    def engine(self) -> str | None:
        """The engine other than Hadoop whose daemon fails; None for Hadoop and hardware."""
        return None

    def within_phase(self) -> bool:
        """Whether the fault ends with its phase, because its target runs only in that phase."""
        return False

    def moment(self) -> str:
        """The time of the fault: ``5 s into``, ``50 % into``, ``at the start of``."""
        if self.at is not None:
            return f"{format_fraction(self.at)} into"
        return f"{format_duration(self.after)} into" if self.after else "at the start of"

    def words(self, cluster: Cluster, phase: str | None = None) -> str:
        """The fault in words: ``the datanode on worker-3 killed 5 s into terasort, for 20 s``."""
        where = self.phase or phase or "the first phase"
        end = "to the end of the phase" if self.within_phase() else "to the end"
        lasts = format_duration(self.lasts) if self.lasts else "0 s"
        until = end if self.lasts is None else f"for {lasts}"
        return f"{self.target(cluster)} {self.does()} {self.moment()} {where}, {until}"


def holders(cluster: Cluster, role: str) -> list[str]:
    """Names of the nodes with a role, in the order of the description."""
    return [node.name for node in cluster.nodes() if role in node.roles]


def node_of(cluster: Cluster, name: str) -> Node | None:
    """The node with a name; for a machine with guests, its first guest."""
    nodes = list(cluster.nodes())
    named = (node for node in nodes if node.name == name)
    return next(named, None) or next((node for node in nodes if node.host == name), None)


def hides_history(fault: Options, node: Node) -> str:
    """Why the tasks of a job that survives the fault could not be read; empty if they can.

    The fault is undone after the phases, and the history is read at the end of each phase. Without
    a ResourceManager the job cannot succeed, which is an outcome.
    """
    reports = "historyserver" in node.roles and "resourcemanager" not in node.roles
    if fault.lasts is not None or not reports:
        return ""
    return (
        f"the history server on {node.name}, which reports the tasks of the job, would be out of "
        "service until after the phases; add 'lasts'"
    )


def unknown_host(cluster: Cluster, name: str) -> str:
    """The message for an unknown host."""
    known = [node.name for node in cluster.nodes()]
    shown = ", ".join(known[:8]) + (" ..." if len(known) > 8 else "")
    return f"there is no host '{name}'; the hosts are {shown}"
