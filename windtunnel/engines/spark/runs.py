"""Build a phase of a trial from the steps of an application: times, metrics, tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.job_metrics import (
    CLIENT_OVERHEAD,
    CPU_TIME,
    FAILED_ATTEMPTS,
    GC_TIME,
    HDFS_BYTES_READ,
    MAP_TIME,
    RECORDS_READ,
    REDUCE_TIME,
    SHUFFLE_BYTES,
    SPILLED_BYTES,
    START_TO_FIRST_RESULT,
)
from windtunnel.engines.json_lines import Step
from windtunnel.engines.spark.engine import SparkRun
from windtunnel.results.metrics import MetricInfo, numbers, register
from windtunnel.results.record import Phase

STAGES = MetricInfo("stages", "count", "stages of the jobs", "Spark's listener")
SPARK_START = MetricInfo(
    "spark_start",
    "s",
    "time from the start of the driver's JVM until the application was ready",
    "the driver",
    better="less",
)
register(STAGES, SPARK_START)

# metric -> the counter of the tasks
_COUNTED = {
    CPU_TIME: "cpu_s",
    GC_TIME: "gc_s",
    HDFS_BYTES_READ: "bytes_read",
    RECORDS_READ: "records_read",
    SHUFFLE_BYTES: "bytes_shuffled",
    SPILLED_BYTES: "bytes_spilled",
    STAGES: "stages",
}


def job_run(
    phase: str, run: SparkRun, timed: Sequence[Step], *, counts_records: bool = True
) -> JobRun:
    """One timed phase, from the start of the first of the ``timed`` steps to the end of the last.

    Without ``counts_records`` the number of records that tasks read is omitted: in text files
    Spark counts only records that match the query's conditions.

    ``start_to_first_result`` counts from just before the driver's JVM was started.
    """
    began, ended = timed[0]["started"], timed[-1]["ended"]
    tasks = [_task(phase, run.start["application"], row) for step in timed for row in _rows(step)]
    if not counts_records:
        tasks = [{**row, "input_records": None} for row in tasks]
    found: dict[MetricInfo, float | None] = {
        info: sum(step["counts"][key] for step in timed)
        for info, key in _COUNTED.items()
        if all("counts" in step for step in timed) and (counts_records or info != RECORDS_READ)
    }
    for info, kind in ((MAP_TIME, "MAP"), (REDUCE_TIME, "REDUCE")):
        spans = [row["finished_at"] - row["started_at"] for row in tasks if row["type"] == kind]
        found[info] = sum(spans)
    first = next((step for step in run.steps if step["did"] == "query"), timed[0])
    found |= {
        FAILED_ATTEMPTS: sum(row["status"] != "SUCCEEDED" for row in tasks),
        CLIENT_OVERHEAD: max(0.0, run.wall_s - (ended - began)),
        SPARK_START: run.start["ended"] - run.started_at,
        START_TO_FIRST_RESULT: first["ended"] - run.started_at,
    }
    record = Phase(
        name=phase,
        job_id=run.start["application"],
        started_at=began,
        finished_at=ended,
        elapsed_s=ended - began,
        wall_s=run.wall_s,
        metrics=numbers(found),
    )
    return JobRun(record, {}, tasks=tasks)


def _rows(step: Step) -> Iterable[Step]:
    rows: Iterable[Step] = step.get("tasks", [])
    return rows


def _task(phase: str, application: str, row: Step) -> dict[str, Any]:
    """A row of the ``tasks`` file: tasks that read a shuffle are reduces, the others maps."""
    later = bool(row.get("records_shuffled"))
    kind = "REDUCE" if later else "MAP"
    read = ("records_shuffled", "bytes_shuffled") if later else ("records_read", "bytes_read")
    task = f"{application}-{row['stage']}-{row['task']}"
    return {
        "phase": phase,
        "task": task,
        "attempt": f"{task}-{row['attempt']}",
        "type": kind,
        "status": "SUCCEEDED" if row["ok"] else "FAILED",
        "host": row["host"],
        "started_at": row["started"],
        "finished_at": row["ended"],
        "map_finished_at": None,
        "shuffle_finished_at": None,
        "sort_finished_at": None,
        "locality": row["locality"],
        "speculative": row["speculative"],
        "input_records": _known(row, read[0]),
        "input_bytes": _known(row, read[1]),
        "output_records": None,
        "output_bytes": None,
        "spilled_records": None,
        "cpu_time": _known(row, "cpu_s"),
        "gc_time": _known(row, "gc_s"),
    }


def _known(row: Step, name: str) -> float | None:
    value = row.get(name)
    return None if value is None else float(value)
