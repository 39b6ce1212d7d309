"""Spark: an application for each phase, on YARN or in one JVM on the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from windtunnel.engines.deployment import Deployment
from windtunnel.engines.spark.engine import Spark as SparkSoftware
from windtunnel.engines.spark.engine import SparkJob, SparkRun
from windtunnel.engines.spark.runs import job_run
from windtunnel.engines.told import Step
from windtunnel.workloads.event_index import COLUMNS, PARTITION
from windtunnel.workloads.query_engines.base import (
    WARM_UPS,
    Asked,
    QueryEngine,
    Question,
    all_told,
    answers_in,
    cluster_of,
    hashed,
)

if TYPE_CHECKING:
    from windtunnel.workloads.event_formats import EventParameters


class Spark(QueryEngine):
    """Spark on YARN."""

    title: ClassVar[str] = "Spark on YARN"
    whole: ClassVar[str | None] = "all memory of NodeManagers for Spark"
    engines: ClassVar[tuple[str, ...]] = ("spark",)

    def digest(self, columns: Sequence[str]) -> str:
        """See :class:`QueryEngine`."""
        digits = f"substr(md5(concat_ws('|', {', '.join(hashed(columns))})), 1, 8)"
        return f"sum(CAST(conv({digits}, 16, 10) AS BIGINT))"

    def ask(self, question: Question) -> Asked:
        """Answer it; see :class:`QueryEngine`."""
        queries, data, parameters = question.queries, question.data, question.parameters
        kind = parameters.format
        asked: list[Step] = [{"do": "query", "name": n, "sql": q} for n, q in queries.items()]
        steps = [table(data.path, kind), *asked]
        if parameters.warm_up:
            warm = [{**step, "name": f"warm-up: {step['name']}"} for step in asked]
            steps = [table(data.sample, kind), *warm * WARM_UPS, *steps]
        steps.append({"do": "files", "name": "files", "path": data.path})
        phase, deadline_s = question.phase, question.deadline_s
        run = ask_spark(phase, steps, parameters, question.deployment, deadline_s)
        timed = [run.named(name) for name in queries]
        # of text Spark counts only what passed the query's conditions
        read = None if kind == "csv" else all_told(_told(timed, "counts", "records_read"))
        return Asked(
            job_run(phase, run, timed, counts_records=kind != "csv"),
            answers_in(timed),
            files=run.named("files")["files"],
            opened=all_told(_told(timed, "scanned", "partitions")),
            records_read=read,
        )


class LocalSpark(Spark):
    """Spark in one JVM on the client."""

    title: ClassVar[str] = "Spark in one JVM on the client"
    whole: ClassVar[str | None] = None


def _told(steps: Sequence[Step], part: str, name: str) -> list[Any]:
    return [step.get(part, {}).get(name) for step in steps]


def table(path: str, kind: str) -> Step:
    """The step that gives files of the event index the name ``events``."""
    schema = ", ".join(f"{name} {column.spark}" for name, column in COLUMNS.items())
    schema += f", {PARTITION} STRING"
    return {"do": "table", "name": "events", "path": path, "format": kind, "schema": schema}


def ask_spark(
    name: str,
    steps: Sequence[Step],
    parameters: EventParameters,
    deployment: Deployment,
    deadline_s: float,
) -> SparkRun:
    """Run steps as one Spark application, on YARN unless ``spark-local`` was asked for."""
    job = SparkJob(
        steps,
        yarn=parameters.engine != "spark-local",
        executors=parameters.executors,
        cores=parameters.executor_cores,
        settings={"spark.hadoop.dfs.replication": str(parameters.replication)},
    )
    return cluster_of(deployment).engine(SparkSoftware).run(name, job, deadline_s)
