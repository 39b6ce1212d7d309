"""From what Trino told to a phase of a trial: times and metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.trino.engine import Step, TrinoRun
from windtunnel.results.record import Metric, Phase

# metric -> its name among a query's statistics, unit
_COUNTED = {
    "cpu_time": ("totalCpuTime", "s"),
    "hdfs_bytes_read": ("physicalInputDataSize", "bytes"),
    "records_read": ("physicalInputPositions", "count"),
    "shuffle_bytes": ("internalNetworkInputDataSize", "bytes"),
    "spilled_bytes": ("spilledDataSize", "bytes"),
}
_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "B": 1.0,
    "kB": 2.0**10,
    "MB": 2.0**20,
    "GB": 2.0**30,
    "TB": 2.0**40,
}
_QUANTITY = re.compile(r"([\d.]+(?:E[+-]?\d+)?)([a-zA-Z]+)")


def job_run(phase: str, run: TrinoRun, timed: Sequence[Step]) -> JobRun:
    """One timed phase: from the start of the first of some queries to the end of the last.

    ``start_to_first_result`` is counted from just before the servers were started, to the first
    answer from a table.
    """
    began, ended = timed[0]["started"], timed[-1]["ended"]
    metrics = {}
    for name, (key, unit) in _COUNTED.items():
        told = [_stat(step, key) for step in timed]
        if None not in told:
            metrics[name] = Metric(value=sum(filter(None, told)), unit=unit)
    metrics["client_overhead"] = Metric(value=max(0.0, run.wall_s - (ended - began)), unit="s")
    metrics["trino_start"] = Metric(value=run.ready_at - run.started_at, unit="s")
    first = next((step for step in run.steps if partitions(step) is not None), timed[0])
    metrics["start_to_first_result"] = Metric(value=first["ended"] - run.started_at, unit="s")
    record = Phase(
        name=phase,
        job_id=str(timed[0]["query"]["queryId"]),
        started_at=began,
        finished_at=ended,
        elapsed_s=ended - began,
        wall_s=run.wall_s,
        metrics=metrics,
    )
    return JobRun(record, {})


def partitions(step: Step) -> int | None:
    """How many partitions of its table a query read; None where it is not told, or read none."""
    known = [source.get("connectorInfo") or {} for source in step["query"].get("inputs") or ()]
    if len(known) != 1 or "partitionIds" not in known[0] or known[0].get("truncated"):
        return None
    return len(known[0]["partitionIds"])


def rows_read(step: Step) -> float | None:
    """Rows that its table's files gave; None where it is not told."""
    return _stat(step, "physicalInputPositions")


def amount(given: object) -> float:
    """A quantity as Trino writes it (``12.5ms``, ``1024B``) in s or bytes; numbers as they are."""
    if isinstance(given, int | float):
        return float(given)
    found = _QUANTITY.fullmatch(str(given))
    if found is None:
        raise ValueError(f"'{given}' is no quantity")
    return float(found.group(1)) * _UNITS[found.group(2)]


def _stats(step: Step) -> Mapping[str, Any]:
    stats: Mapping[str, Any] = step["query"].get("queryStats") or {}
    return stats


def _stat(step: Step, name: str) -> float | None:
    told = _stats(step).get(name)
    return None if told is None else amount(told)
