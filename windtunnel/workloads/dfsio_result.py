"""What TestDFSIO tells of its map tasks, as metrics under names that say what they are.

Its reduce task leaves five sums over the tasks: ``l:tasks``, ``l:size`` in bytes, ``l:time`` in
ms, and ``f:rate`` and ``f:sqrate``, the tasks' rates in MiB/s and their squares, times 1,000. A
task's time is that of writing or reading and closing its file, without the start of its JVM.
From these TestDFSIO prints:

``Throughput``
    Bytes over the sum of the tasks' times: the rate of one task while it worked, weighted by
    time. N tasks at once move up to N times as much. Here: ``throughput_per_task``.
``Average IO rate``
    The mean of the tasks' rates. Here: ``mean_task_rate``.
``IO rate std deviation``
    Their standard deviation (of the population). Here: ``task_rate_deviation``.

What it does not print: ``aggregate_throughput``, the bytes over the job's elapsed time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from windtunnel.results.record import Metric

COUNTED = "TestDFSIO:"
_MIB = 1 << 20
_SCALE = {"rate": 1e-3 * _MIB, "sqrate": 1e-3 * _MIB * _MIB}


def totals(text: str) -> dict[str, int]:
    """The sums of a result file as counters; those that are no finite numbers are left out.

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
    """Rates of a phase; those that cannot be told are left out."""
    names = ("tasks", "size", "time", "rate", "sqrate")
    tasks, size, time_ms, rate, squares = (counted.get(COUNTED + name) for name in names)
    found: dict[str, tuple[float, str]] = {}
    if size is not None:
        found["moved"] = (size, "bytes")
        if elapsed_s > 0:
            found["aggregate_throughput"] = (size / elapsed_s, "bytes/s")
    if time_ms:
        found["task_io_time"] = (time_ms / 1e3, "s")
        if size is not None:
            found["throughput_per_task"] = (size / time_ms * 1e3, "bytes/s")
    if tasks and rate is not None:
        found["mean_task_rate"] = (rate / tasks, "bytes/s")
        if squares is not None:
            deviation = math.sqrt(abs(squares / tasks - (rate / tasks) ** 2))
            found["task_rate_deviation"] = (deviation, "bytes/s")
    return {name: Metric(value=value, unit=unit) for name, (value, unit) in found.items()}
