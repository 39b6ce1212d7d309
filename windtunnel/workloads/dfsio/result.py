"""The results of TestDFSIO's map tasks as metrics with descriptive names.

Its reduce task writes five sums over the tasks: ``l:tasks``, ``l:size`` in bytes, ``l:time`` in
ms, and ``f:rate`` and ``f:sqrate``, the tasks' rates in MiB/s and their squares, times 1,000. A
task's time is the time to write or read its file and to close it, without the start of its JVM.
From these sums TestDFSIO prints:

``Throughput``
    Bytes divided by the sum of the tasks' times: the mean rate of one task, weighted by time. N
    concurrent tasks move up to N times as much. Here: ``throughput_per_task``.
``Average IO rate``
    The mean of the tasks' rates. Here: ``mean_task_rate``.
``IO rate std deviation``
    Their standard deviation (of the population). Here: ``task_rate_deviation``.

It does not print ``aggregate_throughput``, the bytes divided by the job's elapsed time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from windtunnel.results.metrics import MetricInfo, numbers
from windtunnel.results.record import Metric

COUNTED = "TestDFSIO:"
_SOURCE = "TestDFSIO's result file"
AGGREGATE_THROUGHPUT = MetricInfo(
    "aggregate_throughput",
    "bytes/s",
    "bytes of all files per second of the phase: the rate of the whole cluster",
    f"{_SOURCE}, elapsed time of the phase",
    better="more",
)
THROUGHPUT_PER_TASK = MetricInfo(
    "throughput_per_task",
    "bytes/s",
    "TestDFSIO's \"Throughput\": bytes divided by the sum of the tasks' times, which is the rate "
    "of one task, not of the cluster",
    _SOURCE,
    better="more",
)
MEAN_TASK_RATE = MetricInfo(
    "mean_task_rate",
    "bytes/s",
    "TestDFSIO's \"Average IO rate\": mean of the tasks' rates",
    _SOURCE,
    better="more",
)
TASK_RATE_DEVIATION = MetricInfo(
    "task_rate_deviation",
    "bytes/s",
    "TestDFSIO's \"IO rate std deviation\": standard deviation of the tasks' rates",
    _SOURCE,
    better="less",
)
TASK_IO_TIME = MetricInfo(
    "task_io_time",
    "s",
    "time in which tasks wrote or read, summed over the tasks",
    _SOURCE,
    better="less",
    label="task I/O time",
)
MOVED = MetricInfo(
    "moved", "bytes", "bytes that the tasks wrote or read, as they counted them", _SOURCE
)
METRICS = (
    AGGREGATE_THROUGHPUT,
    THROUGHPUT_PER_TASK,
    MEAN_TASK_RATE,
    TASK_RATE_DEVIATION,
    TASK_IO_TIME,
    MOVED,
)
_MIB = 1 << 20
_SCALE = {"rate": 1e-3 * _MIB, "sqrate": 1e-3 * _MIB * _MIB}


def totals(text: str) -> dict[str, int]:
    """The sums of a result file as counters, without values that are not finite numbers.

    ``TestDFSIO:rate`` is in bytes/s, ``TestDFSIO:sqrate`` in its square, ``TestDFSIO:time`` in ms.
    """
    found = {}
    for line in text.splitlines():
        key, _, value = line.partition("\t")
        name = key.partition(":")[2]
        try:
            number = float(value) * _SCALE.get(name, 1)
        except ValueError:
            continue
        if name and math.isfinite(number):
            found[COUNTED + name] = round(number)
    return found


def io_metrics(counted: Mapping[str, int], elapsed_s: float) -> dict[str, Metric]:
    """The rates of a phase, without those that cannot be computed."""
    names = ("tasks", "size", "time", "rate", "sqrate")
    tasks, size, time_ms, rate, squares = (counted.get(COUNTED + name) for name in names)
    found: dict[MetricInfo, float | None] = {}
    if size is not None:
        found[MOVED] = size
        if elapsed_s > 0:
            found[AGGREGATE_THROUGHPUT] = size / elapsed_s
    if time_ms:
        found[TASK_IO_TIME] = time_ms / 1e3
        if size is not None:
            found[THROUGHPUT_PER_TASK] = size / time_ms * 1e3
    if tasks and rate is not None:
        found[MEAN_TASK_RATE] = rate / tasks
        if squares is not None:
            found[TASK_RATE_DEVIATION] = math.sqrt(abs(squares / tasks - (rate / tasks) ** 2))
    return numbers(found)
