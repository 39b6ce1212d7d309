"""Common parts of ``scan`` and ``report``: queries over the event index, verified and measured.

The queries are one timed phase. In a reference phase DuckDB runs the same queries on the same
files, with all cores of the client. This is the machine's limit and not part of the trial's total.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.job_metrics import CPU_TIME, HDFS_BYTES_READ, START_TO_FIRST_RESULT
from windtunnel.results.metrics import MetricInfo, numbers
from windtunnel.results.record import Check, Metric, Verdict
from windtunnel.workloads.base import Demand, Execution, Workload
from windtunnel.workloads.client.event_index import PARTITION, collections, shares
from windtunnel.workloads.copies import misfits
from windtunnel.workloads.event_index.data import ensure, expected
from windtunnel.workloads.event_index.data_set import DataSet
from windtunnel.workloads.event_index.engines import DUCKDB, QUERY_ENGINES
from windtunnel.workloads.event_index.engines.base import QueryEngine, QueryRequest, QueryResult
from windtunnel.workloads.event_index.formats import EventParameters
from windtunnel.workloads.expected import check_answers, check_files
from windtunnel.workloads.own_metrics import with_metrics
from windtunnel.workloads.verdicts import verdict

Q = TypeVar("Q", bound=EventParameters)

BESIDE = DUCKDB
"""The reference phase, in which DuckDB runs the same queries on the same files on the client."""
_MACHINE = QUERY_ENGINES[BESIDE]
ROWS_PER_S = MetricInfo(
    "rows_per_s",
    "rows/s",
    "records of the selected collections, multiplied by the number of queries, per second of the "
    "phase",
    "number of records, elapsed time of the phase",
    better="more",
    label="rows per second",
)
BYTES_ON_DISK = MetricInfo(
    "bytes_on_disk",
    "bytes",
    "bytes of the selected collections, one replica",
    "list of the files in HDFS",
    better="less",
    additive=False,
)
READ_SHARE = MetricInfo(
    "read_share",
    "ratio",
    "bytes read divided by bytes on disk, for one pass over the selected collections",
    "the engine's task counters, list of the files in HDFS",
    better="less",
)
SIZE_SHARE = MetricInfo(
    "size_share",
    "ratio",
    "bytes on disk divided by those of the same records as CSV",
    "list of the files in HDFS",
    better="less",
)
PARTITIONS_PRUNED = MetricInfo(
    "partitions_pruned",
    "ratio",
    "fraction of the collections of which no file was opened",
    "the engine's query plan or statistics",
    better="more",
)
ROWS_SKIPPED = MetricInfo(
    "rows_skipped",
    "ratio",
    "fraction of the selected records in row groups or pages that were not read",
    "the engine's task counters, number of records",
    better="more",
)
METRICS = (
    ROWS_PER_S,
    HDFS_BYTES_READ,
    CPU_TIME,
    BYTES_ON_DISK,
    READ_SHARE,
    SIZE_SHARE,
    PARTITIONS_PRUNED,
    ROWS_SKIPPED,
    START_TO_FIRST_RESULT,
)


class EventQueries(Workload[Q]):
    """A workload of queries over the event index: one phase, with DuckDB's as a reference."""

    @abstractmethod
    def queries(self, who: QueryEngine) -> dict[str, str]:
        """The queries by name, in the SQL of an engine."""

    def selected(self) -> list[str]:
        """The collections of the queries: all."""
        return collections(self.parameters.collections)

    def phases(self) -> tuple[str, ...]:
        """The queries; then the reference phase, if DuckDB can read the format."""
        return (self.name,) if self._alone() else (self.name, BESIDE)

    def phases_without_progress(self) -> tuple[str, ...]:
        """Those of DuckDB."""
        return self.phases() if self.parameters.engine == BESIDE else (BESIDE,)

    def check(self, cluster: Cluster) -> list[str]:
        """The cluster must have YARN, and at least as many DataNodes as replicas."""
        return misfits(self.name, cluster, {"replication": self.parameters.replication})

    def data_bytes(self) -> int:
        """The approximate size of the data set in its format, for the rules about caches."""
        return self.parameters.disk_bytes

    def demands(self, phase: str, workers: int) -> Demand:
        """At most all bytes of the queried collections, read locally."""
        return Demand(self.data_bytes() * len(self.selected()) / self.parameters.collections)

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Provide and verify the data, and compute the expected results, each only once."""
        self._data(deployment, execution)
        self._expected(deployment, execution)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run the queries; raises TrialInvalidError on failure."""
        data, p = self._data(deployment, execution), self.parameters
        who = QUERY_ENGINES[BESIDE if phase == BESIDE else p.engine]
        queries = self.queries(who)
        result = who.run(QueryRequest(phase, queries, data, p, deployment, execution.deadline_s))
        output: dict[str, Any] = {"answers": result.answers}
        if result.files is not None:
            output["files"] = result.files
        lacks = _MACHINE.lacks(p.format, p.codec)
        run = replace(
            result.run,
            phase=result.run.phase.model_copy(update={"beside": phase == BESIDE}),
            output=json.dumps(output),
            notes=[f"{lacks}: {phase} has no reference phase"] if lacks else (),
        )
        return with_metrics(run, {**self._pruned(result), **self._figures(run, data)})

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if the results equal those of the CSV, and the files are the verified ones."""
        data, wanted = self._data(deployment, execution), self._expected(deployment, execution)
        checks: list[Check] = []
        for phase, run in execution.runs.items():
            output = json.loads(run.output)
            for name, rows in wanted.items():
                said = phase if name == phase else f"{name} ({phase})"
                checks.append(check_answers(f"answer of {said}", rows, output["answers"][name]))
            if "files" in output:
                checks.append(check_files("files in HDFS", data.listed, output["files"]))
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder; keep the data for later trials."""
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

    def _records_selected(self) -> int:
        """The number of records of the queried collections."""
        names = collections(self.parameters.collections)
        counts = dict(zip(names, shares(self.parameters.records, len(names)), strict=True))
        return sum(counts[name] for name in self.selected())

    def _figures(self, run: JobRun, data: DataSet) -> dict[str, Metric]:
        """The rates and ratios of every phase of queries."""
        passes, size = len(self.queries(_MACHINE)), data.bytes_of(self.selected())
        whole = data.bytes_of(collections(self.parameters.collections))
        found: dict[MetricInfo, float | None] = {
            BYTES_ON_DISK: size,
            SIZE_SHARE: whole / data.csv_bytes,
        }
        if run.phase.elapsed_s > 0:
            found[ROWS_PER_S] = self._records_selected() * passes / run.phase.elapsed_s
        read = run.phase.metrics.get(HDFS_BYTES_READ.name)
        if read is not None and size:
            found[READ_SHARE] = read.value / size / passes
        return numbers(found)

    def _pruned(self, result: QueryResult) -> dict[str, Metric]:
        """The fractions that were not read, if the engine reports them."""
        found: dict[MetricInfo, float | None] = {}
        if result.opened:
            share = 1 - sum(result.opened) / len(result.opened) / self.parameters.collections
            found[PARTITIONS_PRUNED] = share
        if result.records_read:
            read = sum(result.records_read) / len(result.records_read)
            found[ROWS_SKIPPED] = 1 - read / self._records_selected()
        return numbers(found)


def where(conditions: Sequence[str]) -> str:
    """The WHERE clause of a query; empty without conditions."""
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def of_collections(names: Sequence[str]) -> str:
    """The condition that a record is in one of the collections."""
    return f"{PARTITION} IN ({', '.join(repr(name) for name in names)})"
