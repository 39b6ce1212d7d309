"""DuckDB alone: on the same files on the client's local disk, with all its cores."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.hadoop.client import numbered
from windtunnel.engines.job_metrics import CPU_TIME
from windtunnel.errors import TrialInvalidError
from windtunnel.results.metrics import numbers
from windtunnel.results.record import Phase
from windtunnel.workloads.client import duckdb_queries
from windtunnel.workloads.client.event_index import COLUMNS
from windtunnel.workloads.event_index.engines.base import (
    QueryEngine,
    QueryRequest,
    QueryResult,
    StepReport,
    answers_in,
    hashed,
)


class DuckDB(QueryEngine):
    """See the module's docstring."""

    title: ClassVar[str] = "DuckDB alone, on the client's disk"

    def lacks(self, kind: str, codec: str) -> str | None:
        """The reason for ORC, and for CSV that is compressed with snappy."""
        if kind == "orc":
            return "DuckDB cannot read ORC"
        if (kind, codec) == ("csv", "snappy"):
            return "DuckDB cannot read CSV that is compressed with snappy"
        return None

    def digest(self, columns: Sequence[str]) -> str:
        """See :class:`QueryEngine`."""
        digits = f"substr(md5(concat_ws('|', {', '.join(hashed(columns))})), 1, 8)"
        return f"CAST(sum(CAST('0x' || {digits} AS BIGINT)) AS BIGINT)"

    def run(self, request: QueryRequest) -> QueryResult:
        """Run the queries; see :class:`QueryEngine`."""
        local, kind = request.data.local, request.parameters.format
        assert local is not None
        pattern = local / ("*/*.parquet" if kind == "parquet" else "*/*.csv*")
        began = time.monotonic()
        reported = query_duckdb(
            request.phase,
            pattern,
            kind,
            request.queries,
            request.deployment,
            request.deadline_s,
        )
        wall_s = time.monotonic() - began
        started, finished = reported[0]["started"], reported[-1]["ended"]
        cpu_s = sum(line["cpu_s"] for line in reported)
        record = Phase(
            name=request.phase,
            started_at=started,
            finished_at=finished,
            elapsed_s=finished - started,
            wall_s=wall_s,
            metrics=numbers({CPU_TIME: cpu_s}),
        )
        return QueryResult(JobRun(record, {}), answers_in(reported))


def query_duckdb(
    name: str,
    files: Path,
    kind: str,
    queries: Mapping[str, str],
    deployment: Deployment,
    deadline_s: float,
) -> list[StepReport]:
    """Run queries over files of the client by a program there; its output for each."""
    columns = {column: facts.duckdb for column, facts in COLUMNS.items()}
    job = {"format": kind, "files": str(files), "columns": columns, "queries": dict(queries)}
    path = deployment.client.root / "duckdb" / f"{numbered(name)}.json"
    deployment.client.write_text(path, json.dumps(job, indent=1))
    argv = [sys.executable, "-P", duckdb_queries.__file__, str(path)]
    text = deployment.run_on_client(name, argv, deadline_s=deadline_s)
    reported = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    if [line["name"] for line in reported] != list(queries):
        raise TrialInvalidError(f"DuckDB did not return the results of all queries of {name}")
    return reported
