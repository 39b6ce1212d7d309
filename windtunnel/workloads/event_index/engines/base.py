"""The contract of engines that run queries over the event index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.workloads.client.event_index import COLUMNS, PARTITION
from windtunnel.workloads.event_index.data_set import DataSet

WARM_UPS = 3
Rows = list[dict[str, Any]]
StepReport = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class QueryResult:
    """The results of queries.

    ``answers`` are rows by query. ``files`` are the files in HDFS afterwards, with size,
    replication and checksums; None if none of them was read. For each query, ``opened`` is the
    number of collections of which a file was opened, and ``records_read`` the number of records
    that were examined; None: the engine does not report it.
    """

    run: JobRun
    answers: Mapping[str, Rows]
    files: Sequence[StepReport] | None = None
    opened: Sequence[int] | None = None
    records_read: Sequence[float] | None = None


class QueryParameters(Protocol):
    """What engines read of a workload's parameters (``formats.EventParameters``)."""

    @property
    def format(self) -> str:
        """How the records are stored: ``csv``, ``parquet`` or ``orc``."""
        ...

    @property
    def engine(self) -> str:
        """The name of the engine in its registry."""
        ...

    @property
    def warm_up(self) -> bool:
        """Whether a few records are queried first, untimed."""
        ...

    @property
    def replication(self) -> int:
        """Replicas of each block that is written."""
        ...

    @property
    def executors(self) -> int | None:
        """Spark's executors; None: the engine decides."""
        ...

    @property
    def executor_cores(self) -> int | None:
        """Cores of each executor; None: the engine decides."""
        ...


@dataclass(frozen=True)
class QueryRequest:
    """Queries over the table ``events``, by name, which run as one timed phase.

    ``deadline_s`` is monotonic time.
    """

    phase: str
    queries: Mapping[str, str]
    data: DataSet
    parameters: QueryParameters
    deployment: Deployment
    deadline_s: float


class QueryEngine(ABC):
    """A query engine, with one entry in the registry.

    ``title`` describes it in a few words. ``engines`` are those that it needs in addition to
    Hadoop. ``whole`` is the exclusive resource of one phase, for which a second one would have to
    wait. ``imprecise`` are columns of which its standard deviation has too few correct digits.
    """

    title: ClassVar[str]
    engines: ClassVar[tuple[str, ...]] = ()
    whole: ClassVar[str | None] = None
    imprecise: ClassVar[frozenset[str]] = frozenset()

    def lacks(self, kind: str, codec: str) -> str | None:
        """The reason why it cannot read a format; None if it can."""
        return None

    @abstractmethod
    def digest(self, columns: Sequence[str]) -> str:
        """SQL: the sum over rows of a 32-bit hash of some columns, whatever their order.

        The hash is the first eight hexadecimal digits of the MD5 of the values, separated by
        ``|``, with floating-point numbers in whole thousandths.
        """

    @abstractmethod
    def run(self, request: QueryRequest) -> QueryResult:
        """Run the queries.

        Raises
        ------
        TrialInvalidError
            If they fail or do not finish in time.
        DeploymentError
            If a daemon dies.
        """


def all_reported(found: Iterable[T | None]) -> list[T] | None:
    """The value of each query; None if the value of a query is missing."""
    reported = list(found)
    known = [one for one in reported if one is not None]
    return known if len(known) == len(reported) else None


def hashed(columns: Sequence[str]) -> list[str]:
    """The SQL expressions of the values in a digest."""
    return [
        f"CAST(round({name} * 1000) AS BIGINT)" if COLUMNS[name].spark == "DOUBLE" else name
        for name in columns
    ]


def ordered(rows: Rows) -> Rows:
    """The rows of a result, sorted by collection. Queries do not sort: that is other work."""
    return sorted(rows, key=lambda row: str(row.get(PARTITION)))


def answers_in(reported: Sequence[StepReport]) -> dict[str, Rows]:
    """The results by name, from an engine's output for each query."""
    return {step["name"]: ordered(step["rows"]) for step in reported}
