"""Hive: a session for each phase, whose queries over external tables run as MapReduce jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from windtunnel.engines.hive.engine import Hive as HiveSoftware
from windtunnel.engines.hive.runs import job_run
from windtunnel.engines.json_lines import Step
from windtunnel.workloads.client.event_index import COLUMNS, PARTITION
from windtunnel.workloads.event_index.engines.base import (
    QueryEngine,
    QueryRequest,
    QueryResult,
    all_reported,
    answers_in,
    hashed,
)

# No value of the event index has a comma.
_STORED = {
    "csv": "ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE",
    "parquet": "STORED AS PARQUET",
    "orc": "STORED AS ORC",
}


class Hive(QueryEngine):
    """See the module's docstring."""

    title: ClassVar[str] = "Hive by MapReduce jobs"
    engines: ClassVar[tuple[str, ...]] = ("hive",)
    # large and similar values: Hive merges partial variances by differences of sums, with an error
    # of 2e-16 times mean divided by deviation (1e7 and more for event_time)
    imprecise: ClassVar[frozenset[str]] = frozenset({"run_number", "event_time"})

    def digest(self, columns: Sequence[str]) -> str:
        """See :class:`QueryEngine`."""
        texts = ", ".join(f"CAST({value} AS STRING)" for value in hashed(columns))
        return f"sum(CAST(conv(substr(md5(concat_ws('|', {texts})), 1, 8), 16, 10) AS BIGINT))"

    def run(self, request: QueryRequest) -> QueryResult:
        """Run the queries; see :class:`QueryEngine`.

        The warm-up is one pass, for the session's compiler: every task has its own JVM.
        """
        queries, data, parameters = request.queries, request.data, request.parameters
        kind, cluster = parameters.format, request.deployment
        steps: list[Step] = []
        if parameters.warm_up:
            steps = table("sample", data.sample, kind)
            steps += [{"name": f"warm-up: {name}", "sql": sql} for name, sql in queries.items()]
        steps += table("whole", data.path, kind)
        steps += [{"name": name, "sql": sql} for name, sql in queries.items()]
        engine = cluster.engine(HiveSoftware)
        run = engine.run(request.phase, steps, request.deadline_s)
        timed = run.steps[-len(queries) :]
        return QueryResult(
            job_run(request.phase, run, timed, engine.hadoop.history),
            answers_in(timed),
            files=cluster.files.checksums(data.path),
            opened=all_reported(step.get("partitions") for step in timed),
        )


def table(database: str, path: str, kind: str) -> list[Step]:
    """The steps that create the table ``events`` of the event index in a database."""
    columns = ", ".join(f"{name} {column.spark}" for name, column in COLUMNS.items())
    statements = {
        "database": f"CREATE DATABASE {database}",
        "use": f"USE {database}",
        "table": f"CREATE EXTERNAL TABLE events ({columns}) PARTITIONED BY ({PARTITION} STRING) "
        f"{_STORED[kind]} LOCATION '{path}'",
        "partitions": "MSCK REPAIR TABLE events",
    }
    return [{"name": f"{database}: {name}", "sql": sql} for name, sql in statements.items()]
