"""Build a phase of a trial from Trino's report: times and metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.job_metrics import (
    CLIENT_OVERHEAD,
    CPU_TIME,
    HDFS_BYTES_READ,
    RECORDS_READ,
    SHUFFLE_BYTES,
    SPILLED_BYTES,
    START_TO_FIRST_RESULT,
)
from windtunnel.engines.trino.engine import Step, TrinoRun
from windtunnel.results.metrics import MetricInfo, numbers, register
from windtunnel.results.record import Phase

TRINO_START = MetricInfo(
    "trino_start",
    "s",
    "time from the start of the servers until the coordinator accepted queries",
    "Trino's client",
    better="less",
)
register(TRINO_START)

# metric -> its name among a query's statistics
_COUNTED = {
    CPU_TIME: "totalCpuTime",
    HDFS_BYTES_READ: "physicalInputDataSize",
    RECORDS_READ: "physicalInputPositions",
    SHUFFLE_BYTES: "internalNetworkInputDataSize",
    SPILLED_BYTES: "spilledDataSize",
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
    """One timed phase, from the start of the first of the ``timed`` queries to the end of the last.

    ``start_to_first_result`` counts from just before the servers were started to the first result
    from a table.
    """
    began, ended = timed[0]["started"], timed[-1]["ended"]
    found: dict[MetricInfo, float | None] = {}
    for info, key in _COUNTED.items():
        counts = [_stat(step, key) for step in timed]
        found[info] = None if None in counts else sum(filter(None, counts))
    first = next((step for step in run.steps if partitions(step) is not None), timed[0])
    found |= {
        CLIENT_OVERHEAD: max(0.0, run.wall_s - (ended - began)),
        TRINO_START: run.ready_at - run.started_at,
        START_TO_FIRST_RESULT: first["ended"] - run.started_at,
    }
    record = Phase(
        name=phase,
        job_id=str(timed[0]["query"]["queryId"]),
        started_at=began,
        finished_at=ended,
        elapsed_s=ended - began,
        wall_s=run.wall_s,
        metrics=numbers(found),
    )
    return JobRun(record, {})


def partitions(step: Step) -> int | None:
    """How many partitions of its table a query read; None if unknown or if it read no table."""
    known = [source.get("connectorInfo") or {} for source in step["query"].get("inputs") or ()]
    if len(known) != 1 or "partitionIds" not in known[0] or known[0].get("truncated"):
        return None
    return len(known[0]["partitionIds"])


def rows_read(step: Step) -> float | None:
    """Rows that the query read from its table's files; None if unknown."""
    return _stat(step, "physicalInputPositions")


def amount(given: object) -> float:
    """A quantity in Trino's format (``12.5ms``, ``1024B``) in s or bytes; numbers are unchanged."""
    if isinstance(given, int | float):
        return float(given)
    found = _QUANTITY.fullmatch(str(given))
    if found is None:
        raise ValueError(f"'{given}' is not a quantity")
    return float(found.group(1)) * _UNITS[found.group(2)]


def _stats(step: Step) -> Mapping[str, Any]:
    stats: Mapping[str, Any] = step["query"].get("queryStats") or {}
    return stats


def _stat(step: Step, name: str) -> float | None:
    value = _stats(step).get(name)
    return None if value is None else amount(value)
