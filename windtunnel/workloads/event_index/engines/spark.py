"""Spark: an application for each phase, on YARN or in one JVM on the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from windtunnel.engines.deployment import Deployment
from windtunnel.engines.json_lines import Step
from windtunnel.engines.spark.engine import Spark as SparkSoftware
from windtunnel.engines.spark.engine import SparkJob, SparkRun
from windtunnel.engines.spark.runs import job_run
from windtunnel.workloads.client.event_index import COLUMNS, PARTITION
from windtunnel.workloads.event_index.engines.base import (
    WARM_UPS,
    QueryEngine,
    QueryParameters,
    QueryRequest,
    QueryResult,
    all_reported,
    answers_in,
    hashed,
)


class Spark(QueryEngine):
    """Spark on YARN."""

    title: ClassVar[str] = "Spark on YARN"
    whole: ClassVar[str | None] = "all memory of NodeManagers for Spark"
    engines: ClassVar[tuple[str, ...]] = ("spark",)

    def digest(self, columns: Sequence[str]) -> str:
        """See :class:`QueryEngine`."""
        digits = f"substr(md5(concat_ws('|', {', '.join(hashed(columns))})), 1, 8)"
        return f"sum(CAST(conv({digits}, 16, 10) AS BIGINT))"

    def run(self, request: QueryRequest) -> QueryResult:
        """Run the queries; see :class:`QueryEngine`."""
        queries, data, parameters = request.queries, request.data, request.parameters
        kind = parameters.format
        result: list[Step] = [{"do": "query", "name": n, "sql": q} for n, q in queries.items()]
        steps = [table(data.path, kind), *result]
        if parameters.warm_up:
            warm = [{**step, "name": f"warm-up: {step['name']}"} for step in result]
            steps = [table(data.sample, kind), *warm * WARM_UPS, *steps]
        steps.append({"do": "files", "name": "files", "path": data.path})
        phase, deadline_s = request.phase, request.deadline_s
        run = query_spark(phase, steps, parameters, request.deployment, deadline_s)
        timed = [run.named(name) for name in queries]
        # for text files Spark counts only the records that meet the query's conditions
        read = None if kind == "csv" else all_reported(_reported(timed, "counts", "records_read"))
        return QueryResult(
            job_run(phase, run, timed, counts_records=kind != "csv"),
            answers_in(timed),
            files=run.named("files")["files"],
            opened=all_reported(_reported(timed, "scanned", "partitions")),
            records_read=read,
        )


class LocalSpark(Spark):
    """Spark in one JVM on the client."""

    title: ClassVar[str] = "Spark in one JVM on the client"
    whole: ClassVar[str | None] = None


def _reported(steps: Sequence[Step], part: str, name: str) -> list[Any]:
    return [step.get(part, {}).get(name) for step in steps]


def table(path: str, kind: str) -> Step:
    """The step that registers files of the event index as the table ``events``."""
    schema = ", ".join(f"{name} {column.spark}" for name, column in COLUMNS.items())
    schema += f", {PARTITION} STRING"
    return {"do": "table", "name": "events", "path": path, "format": kind, "schema": schema}


def query_spark(
    name: str,
    steps: Sequence[Step],
    parameters: QueryParameters,
    deployment: Deployment,
    deadline_s: float,
) -> SparkRun:
    """Run steps as one Spark application, on YARN unless the engine is ``spark-local``."""
    job = SparkJob(
        steps,
        yarn=parameters.engine != "spark-local",
        executors=parameters.executors,
        cores=parameters.executor_cores,
        settings={"spark.hadoop.dfs.replication": str(parameters.replication)},
    )
    return deployment.engine(SparkSoftware).run(name, job, deadline_s)
