"""From what an application told to a phase of a trial: times, metrics, tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.spark.engine import SparkRun
from windtunnel.engines.told import Step
from windtunnel.results.record import Metric, Phase

# metric -> what tasks count, unit
_COUNTED = {
    "cpu_time": ("cpu_s", "s"),
    "gc_time": ("gc_s", "s"),
    "hdfs_bytes_read": ("bytes_read", "bytes"),
    "records_read": ("records_read", "count"),
    "shuffle_bytes": ("bytes_shuffled", "bytes"),
    "spilled_bytes": ("bytes_spilled", "bytes"),
    "stages": ("stages", "count"),
}


def job_run(
    phase: str, run: SparkRun, timed: Sequence[Step], *, counts_records: bool = True
) -> JobRun:
    """One timed phase: from the start of the first of some steps to the end of the last.

    Without ``counts_records`` what tasks say of records that they read is left out: of text Spark
    counts only those that passed the query's conditions.

    ``start_to_first_result`` is counted from just before the driver's JVM was started.
    """
    began, ended = timed[0]["started"], timed[-1]["ended"]
    tasks = [_task(phase, run.start["application"], row) for step in timed for row in _rows(step)]
    if not counts_records:
        tasks = [{**row, "input_records": None} for row in tasks]
    metrics = {
        name: Metric(value=sum(step["counts"][key] for step in timed), unit=unit)
        for name, (key, unit) in _COUNTED.items()
        if all("counts" in step for step in timed) and (counts_records or key != "records_read")
    }
    for name, kind in (("map_time", "MAP"), ("reduce_time", "REDUCE")):
        spans = [row["finished_at"] - row["started_at"] for row in tasks if row["type"] == kind]
        metrics[name] = Metric(value=sum(spans), unit="s")
    failed = sum(row["status"] != "SUCCEEDED" for row in tasks)
    metrics["failed_attempts"] = Metric(value=failed, unit="count")
    metrics["client_overhead"] = Metric(value=max(0.0, run.wall_s - (ended - began)), unit="s")
    metrics["spark_start"] = Metric(value=run.start["ended"] - run.started_at, unit="s")
    first = next((step for step in run.steps if step["did"] == "query"), timed[0])
    metrics["start_to_first_result"] = Metric(value=first["ended"] - run.started_at, unit="s")
    record = Phase(
        name=phase,
        job_id=run.start["application"],
        started_at=began,
        finished_at=ended,
        elapsed_s=ended - began,
        wall_s=run.wall_s,
        metrics=metrics,
    )
    return JobRun(record, {}, tasks=tasks)


def _rows(step: Step) -> Iterable[Step]:
    rows: Iterable[Step] = step.get("tasks", [])
    return rows


def _task(phase: str, application: str, row: Step) -> dict[str, Any]:
    """A row of the ``tasks`` file: tasks that read data stand as maps, later ones as reduces."""
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
