"""The contract of engines that answer queries over the event index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from windtunnel.engines.deployment import Deployment, JobRun, Transfers
from windtunnel.engines.engine import WithEngines
from windtunnel.errors import TrialInvalidError
from windtunnel.hosts.base import Host
from windtunnel.workloads.event_index import COLUMNS, PARTITION

if TYPE_CHECKING:
    from windtunnel.workloads.event_data import DataSet
    from windtunnel.workloads.event_formats import EventParameters

WARM_UPS = 3
Rows = list[dict[str, Any]]
Told = dict[str, Any]
T = TypeVar("T")


@runtime_checkable
class EventCluster(Deployment, Transfers, WithEngines, Protocol):
    """A deployment on which all this can be done."""

    @property
    def client(self) -> Host:
        """The host that jobs and transfers start from."""
        ...


@dataclass(frozen=True)
class Asked:
    """What came of some queries.

    ``answers`` are rows by query. ``files`` are those in HDFS after it, with bytes, copies and
    checksums; None where none of them was read. ``opened`` is for each query the number of
    collections of which a file was opened, ``records_read`` that of the records that were looked
    at; None: the engine does not tell.
    """

    run: JobRun
    answers: Mapping[str, Rows]
    files: Sequence[Told] | None = None
    opened: Sequence[int] | None = None
    records_read: Sequence[float] | None = None


@dataclass(frozen=True)
class Question:
    """Queries over the table ``events``, by name, to be answered as one timed phase.

    ``deadline_s`` is monotonic time.
    """

    phase: str
    queries: Mapping[str, str]
    data: DataSet
    parameters: EventParameters
    deployment: Deployment
    deadline_s: float


class QueryEngine(ABC):
    """Who asks: one entry in the registry for each.

    ``title`` says it in a few words; ``engines`` are those beside Hadoop that it needs; ``whole``
    is what one phase takes the whole of, so that two at once would wait; ``imprecise`` are columns
    of which its standard deviation has fewer digits than are checked.
    """

    title: ClassVar[str]
    engines: ClassVar[tuple[str, ...]] = ()
    whole: ClassVar[str | None] = None
    imprecise: ClassVar[frozenset[str]] = frozenset()

    def lacks(self, kind: str, codec: str) -> str | None:
        """Why it cannot read a format; None if it can."""
        return None

    @abstractmethod
    def digest(self, columns: Sequence[str]) -> str:
        """SQL: the sum over rows of a 32-bit hash of some columns, whatever their order.

        The hash is the first eight hexadecimal digits of the MD5 of the values with ``|``
        between them, numbers with a point in whole thousandths.
        """

    @abstractmethod
    def ask(self, question: Question) -> Asked:
        """Answer it.

        Raises
        ------
        TrialInvalidError
            If that fails or is not done in time.
        DeploymentError
            If a daemon dies meanwhile.
        """


def all_told(found: Iterable[T | None]) -> list[T] | None:
    """What was told of each query; None if it is missing of one."""
    told = list(found)
    known = [one for one in told if one is not None]
    return known if len(known) == len(told) else None


def hashed(columns: Sequence[str]) -> list[str]:
    """SQL of the values that a digest is of."""
    return [
        f"CAST(round({name} * 1000) AS BIGINT)" if COLUMNS[name].spark == "DOUBLE" else name
        for name in columns
    ]


def cluster_of(deployment: Deployment) -> EventCluster:
    """The deployment, if it can run this; raises TrialInvalidError."""
    if not isinstance(deployment, EventCluster):
        raise TrialInvalidError("this testbed runs no Spark, or has no client to make data on")
    return deployment


def ordered(rows: Rows) -> Rows:
    """The rows of an answer by collection. No query sorts: that would be work of another kind."""
    return sorted(rows, key=lambda row: str(row.get(PARTITION)))


def answers_in(told: Sequence[Told]) -> dict[str, Rows]:
    """The answers by name, out of what an engine told of each query."""
    return {step["name"]: ordered(step["rows"]) for step in told}
