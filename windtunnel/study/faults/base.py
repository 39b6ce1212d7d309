"""The contract of a kind of fault: its options, when it strikes, what it breaks."""

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
from windtunnel.engines.faulty import Faulty, Part, Undo
from windtunnel.study.closed import Closed


class Options(Closed):
    """Base of the options of a fault; ``kind`` is its name in the study file.

    Times are seconds of the run: in a scale model they are the model's and not scaled.
    ``part`` is what the testbed must be able to break; ``takes_copies`` says that blocks lose
    a copy while it lasts, so that the time until all are whole again is measured.
    """

    part: ClassVar[Part]
    takes_copies: ClassVar[bool] = False

    kind: str
    phase: str | None = Field(
        None, description="Phase of the workload that it strikes in; left out: the first."
    )
    after: Duration = Field(
        "0 s",
        description="Time from the start of the phase's job (of its client, where files are "
        "copied) to the fault.",
        validate_default=True,
    )
    at: Fraction | None = Field(
        None,
        description="Share of the phase's job that is done when it strikes, by Hadoop's own "
        "progress (maps one half, reduces the other); instead of `after`.",
        lt=1,
    )
    lasts: Duration | None = Field(
        None,
        description="Time until it is undone, whatever runs then; left out: until the end of "
        "the trial's phases.",
    )
    watch: Duration = Field(
        "60 s",
        description="How long after the last phase to wait until all blocks have all copies, "
        "before the fault is undone; only with faults that take copies away.",
        validate_default=True,
    )

    @model_validator(mode="after")
    def _one_moment(self) -> Self:
        if self.at is not None and self.after:
            raise blame("give either 'at' or 'after'", remedy="write 'at: 50 %' or 'after: 5 s'.")
        return self

    @abstractmethod
    def target(self, cluster: Cluster) -> str:
        """What is broken, with the host: ``the datanode on worker-3``."""

    @abstractmethod
    def does(self) -> str:
        """What happens to the target, in a verb: ``killed``, ``slowed to 10 %``."""

    @abstractmethod
    def problems(self, cluster: Cluster) -> Iterator[str]:
        """Why it cannot be made in that cluster."""

    @abstractmethod
    def strike(self, faulty: Faulty, cluster: Cluster) -> Undo:
        """Break it; returns how to put it back."""

    def touches_copies(self, cluster: Cluster) -> bool:
        """Whether blocks lose copies, or their master, while it lasts."""
        return self.takes_copies

    def engine(self) -> str | None:
        """The engine beside Hadoop whose part it breaks; None: Hadoop's, or hardware."""
        return None

    def moment(self) -> str:
        """When it strikes: ``5 s into``, ``50 % into``, ``at the start of``."""
        if self.at is not None:
            return f"{format_fraction(self.at)} into"
        return f"{format_duration(self.after)} into" if self.after else "at the start of"

    def words(self, cluster: Cluster, phase: str | None = None) -> str:
        """The whole fault: ``the datanode on worker-3 killed 5 s into terasort, for 20 s``."""
        where = self.phase or phase or "the first phase"
        until = "to the end" if self.lasts is None else f"for {format_duration(self.lasts)}"
        return f"{self.target(cluster)} {self.does()} {self.moment()} {where}, {until}"


def holders(cluster: Cluster, role: str) -> list[str]:
    """Names of the nodes that play a role, in the order of the description."""
    return [node.name for node in cluster.nodes() if role in node.roles]


def node_of(cluster: Cluster, name: str) -> Node | None:
    """The node of a name; of a machine with guests, its first guest."""
    nodes = list(cluster.nodes())
    named = (node for node in nodes if node.name == name)
    return next(named, None) or next((node for node in nodes if node.host == name), None)


def unknown_host(cluster: Cluster, name: str) -> str:
    """The message for a host that is not there."""
    known = [node.name for node in cluster.nodes()]
    shown = ", ".join(known[:8]) + (" ..." if len(known) > 8 else "")
    return f"there is no host '{name}'; the hosts are {shown}"
