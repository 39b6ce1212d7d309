"""What ``scan`` and ``report`` have in common: queries over the event index, checked and counted.

The queries are one timed phase. DuckDB answers the same from the same files in a phase of its own,
on all cores of the client: that is the machine's own limit, and no part of the trial's total.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.record import Check, Metric, Verdict
from windtunnel.workloads.answers import check_answers, check_files
from windtunnel.workloads.base import Demand, Execution, Parameters
from windtunnel.workloads.event_data import DataSet, ensure, expected
from windtunnel.workloads.event_formats import EventParameters
from windtunnel.workloads.event_index import PARTITION, collections, shares
from windtunnel.workloads.figures import with_metrics
from windtunnel.workloads.query_engines import DUCKDB, QUERY_ENGINES
from windtunnel.workloads.query_engines.base import Asked, QueryEngine, Question
from windtunnel.workloads.rows import misfits
from windtunnel.workloads.verdicts import verdict

BESIDE = DUCKDB
"""The phase in which DuckDB does the same over the same files, on the client."""
_MACHINE = QUERY_ENGINES[BESIDE]
METRICS: Mapping[str, str] = {
    "rows_per_s": "records of the collections asked for, times the queries, per second",
    "hdfs_bytes_read": "bytes that the engine's tasks read",
    "cpu_time": "CPU time of tasks, as the engine counts it: their threads (Spark, Trino, DuckDB) "
    "or their JVMs from start to end (Hive)",
    "bytes_on_disk": "bytes of the collections asked for, one copy",
    "read_share": "bytes read over bytes on disk, of one pass over the collections asked for",
    "size_share": "bytes on disk over those of the same records as CSV",
    "partitions_pruned": "share of the collections of which no file was opened",
    "rows_skipped": "share of the records asked for that whole row groups or pages let pass unread",
    "start_to_first_result": "from the start of the engine to its first answer",
}


class EventQueries(ABC):
    """A workload of queries over the event index: one phase, and DuckDB's beside it."""

    name: ClassVar[str]

    def __init__(self, parameters: Parameters) -> None:
        assert isinstance(parameters, EventParameters)
        self.parameters = parameters

    @abstractmethod
    def queries(self, who: QueryEngine) -> dict[str, str]:
        """The queries by name, in the SQL of an engine."""

    def asked(self) -> list[str]:
        """The collections that the queries are about: all."""
        return collections(self.parameters.collections)

    def phases(self) -> tuple[str, ...]:
        """The queries; then the same by DuckDB, where it reads the format."""
        return (self.name,) if self._alone() else (self.name, BESIDE)

    def check(self, cluster: Cluster) -> list[str]:
        """YARN must be there; replication cannot exceed the number of DataNodes."""
        return misfits(self.name, cluster, {"replication": self.parameters.replication})

    def data_bytes(self) -> int:
        """About the bytes of the data set in its format: what a cache would have to hold."""
        return self.parameters.disk_bytes

    def demands(self, phase: str, workers: int) -> Demand:
        """At most all of the collections asked for is read, and where it lies."""
        return Demand(self.data_bytes() * len(self.asked()) / self.parameters.collections)

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Make, put, convert and check the data, and work out the answers, where not yet done."""
        self._data(deployment, execution)
        self._expected(deployment, execution)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Ask; raises TrialInvalidError if that fails."""
        data, p = self._data(deployment, execution), self.parameters
        who = QUERY_ENGINES[BESIDE if phase == BESIDE else p.engine]
        queries = self.queries(who)
        asked = who.ask(Question(phase, queries, data, p, deployment, execution.deadline_s))
        told: dict[str, Any] = {"answers": asked.answers}
        if asked.files is not None:
            told["files"] = asked.files
        lacks = _MACHINE.lacks(p.format, p.codec)
        run = replace(
            asked.run,
            phase=asked.run.phase.model_copy(update={"beside": phase == BESIDE}),
            output=json.dumps(told),
            notes=[f"{lacks}: nothing stands beside {phase}"] if lacks else (),
        )
        return with_metrics(run, {**self._pruned(asked), **self._figures(run, data)})

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if the answers are the CSV's, and the files are those that were checked."""
        data, wanted = self._data(deployment, execution), self._expected(deployment, execution)
        checks: list[Check] = []
        for phase, run in execution.runs.items():
            told = json.loads(run.output)
            for name, rows in wanted.items():
                said = phase if name == phase else f"{name} ({phase})"
                checks.append(check_answers(f"answer of {said}", rows, told["answers"][name]))
            if "files" in told:
                checks.append(check_files("files in HDFS", data.listed, told["files"]))
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Nothing but the data was written, and later trials use that again."""
        deployment.files.delete(execution.folder)

    def _alone(self) -> bool:
        p = self.parameters
        return p.engine == BESIDE or _MACHINE.lacks(p.format, p.codec) is not None

    def _data(self, deployment: Deployment, execution: Execution) -> DataSet:
        return ensure(self.parameters, deployment, execution.shared, execution.deadline_s)

    def _expected(
        self, deployment: Deployment, execution: Execution
    ) -> dict[str, list[dict[str, Any]]]:
        queries = self.queries(_MACHINE)
        return expected(queries, self.parameters, deployment, execution.deadline_s)

    def _records_asked(self) -> int:
        """Records of the collections asked for."""
        names = collections(self.parameters.collections)
        counts = dict(zip(names, shares(self.parameters.records, len(names)), strict=True))
        return sum(counts[name] for name in self.asked())

    def _figures(self, run: JobRun, data: DataSet) -> dict[str, Metric]:
        """Rates and shares that every phase of queries has."""
        passes, size = len(self.queries(_MACHINE)), data.bytes_of(self.asked())
        whole = data.bytes_of(collections(self.parameters.collections))
        found = {
            "bytes_on_disk": Metric(value=size, unit="bytes"),
            "size_share": Metric(value=whole / data.csv_bytes, unit="ratio"),
        }
        if run.phase.elapsed_s > 0:
            rate = self._records_asked() * passes / run.phase.elapsed_s
            found["rows_per_s"] = Metric(value=rate, unit="rows/s")
        read = run.phase.metrics.get("hdfs_bytes_read")
        if read is not None and size:
            found["read_share"] = Metric(value=read.value / size / passes, unit="ratio")
        return found

    def _pruned(self, asked: Asked) -> dict[str, Metric]:
        """What was not read, as far as the engine tells."""
        found = {}
        if asked.opened:
            share = 1 - sum(asked.opened) / len(asked.opened) / self.parameters.collections
            found["partitions_pruned"] = Metric(value=share, unit="ratio")
        if asked.records_read:
            read = sum(asked.records_read) / len(asked.records_read)
            found["rows_skipped"] = Metric(value=1 - read / self._records_asked(), unit="ratio")
        return found


def where(conditions: Sequence[str]) -> str:
    """The WHERE of a query, or nothing."""
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def of_collections(names: Sequence[str]) -> str:
    """The condition that a record is in one of some collections."""
    return f"{PARTITION} IN ({', '.join(repr(name) for name in names)})"
