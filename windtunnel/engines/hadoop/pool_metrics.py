"""The metrics of warm starts: what the pool of waiting JVMs did, and what it took."""

from __future__ import annotations

from windtunnel.results.metrics import MetricInfo, register

_SOURCE = "the pool of warm JVMs"

WARM_STARTS = MetricInfo(
    "warm_starts",
    "count",
    "containers of MapReduce that a waiting JVM ran ('task_start: warm')",
    _SOURCE,
)
STOCK_STARTS = MetricInfo(
    "stock_starts",
    "count",
    "containers of MapReduce that started a new JVM, because no JVM with their options waited "
    "('task_start: warm')",
    _SOURCE,
)
POOL_FILL = MetricInfo(
    "pool_fill",
    "s",
    "time before the phase until all JVMs of the pool waited; not part of the phase",
    "clock of this machine",
)
POOL_MEMORY = MetricInfo(
    "pool_memory",
    "bytes",
    "resident memory of the waiting JVMs before the phase; shared pages count for each JVM",
    "/proc",
    additive=False,
)
register(WARM_STARTS, STOCK_STARTS, POOL_FILL, POOL_MEMORY)
