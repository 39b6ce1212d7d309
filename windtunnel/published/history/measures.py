"""Phases and metrics of an observed job, from its task attempts and counters."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.analysis.subjects import observed_metrics as own
from windtunnel.cluster.settings import hadoop_bytes
from windtunnel.engines.hadoop.job_counters import COUNTERS
from windtunnel.engines.job_metrics import CPU_TIME, FAILED_ATTEMPTS, GC_TIME, SPILLED_BYTES
from windtunnel.published.history.job import ObservedJob
from windtunnel.results.metrics import MetricInfo, numbers
from windtunnel.results.record import Metric, Phase

Row = Mapping[str, Any]
_LOCAL = {"NODE_LOCAL", "PROCESS_LOCAL"}
_PLACED = _LOCAL | {"RACK_LOCAL", "OFF_SWITCH", "ANY"}
_TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_FILES = "org.apache.hadoop.mapreduce.FileSystemCounter"
_XMX = re.compile(r"(?<!\S)-Xmx(\d+[kKmMgG]?)(?!\S)")
_DEFAULT_MB = 1024.0  # of a container, if neither its size nor the heap is set


def phases_of(job: ObservedJob) -> list[Phase]:
    """The phases, one after the other; their sum is the elapsed time of the job.

    MapReduce: ``start-up`` to the first task, ``map`` to the end of the last map, ``reduce``.
    Spark, and jobs without task times: ``job``.
    """
    maps, reduces = _of(job, "MAP"), _of(job, "REDUCE")
    begins = [row["started_at"] for row in (*maps, *reduces) if row.get("started_at")]
    ends = [row["finished_at"] for row in maps if row.get("finished_at")]
    if job.engine == "spark" or not begins or not ends:
        return [_phase("job", job, job.started_at, job.finished_at, job.tasks)]
    first = min(max(min(begins), job.started_at), job.finished_at)
    last = min(max(*ends, first), job.finished_at)
    found = [
        _phase("start-up", job, job.started_at, first, []),
        _phase("map", job, first, last if reduces else job.finished_at, maps),
    ]
    if reduces:
        found.append(_phase("reduce", job, last, job.finished_at, reduces))
    return found


def metrics_of(job: ObservedJob) -> dict[str, Metric]:
    """Metrics of the whole job; those that the history lacks are omitted."""
    found: dict[MetricInfo, float | None] = {}
    if job.engine == "mapreduce":
        found |= {
            i: job.counters[key] * f for i, (key, f) in COUNTERS.items() if key in job.counters
        }
        found[own.SPILL_RATIO] = _ratio(
            job.counters.get(f"{_TASK}:SPILLED_RECORDS"),
            job.counters.get(f"{_TASK}:MAP_OUTPUT_RECORDS"),
        )
        read = [
            v
            for key, v in job.counters.items()
            if key.endswith("_BYTES_READ") and "FILE_" not in key
        ]
        found[own.INPUT_BYTES] = sum(read) if read else None
        found[own.MEMORY_SHARE] = _memory_share(job)
    else:
        found |= {
            CPU_TIME: job.counters.get("cpu_s"),
            GC_TIME: job.counters.get("gc_s"),
            SPILLED_BYTES: job.counters.get("spilled_bytes"),
            own.INPUT_BYTES: job.counters.get("input_bytes"),
            own.IDLE_SHARE: _idle_share(job),
        }
    if job.submitted_at is not None:
        found[own.QUEUE_WAIT] = max(0.0, job.started_at - job.submitted_at)
    if job.tasks:
        lost = [row for row in job.tasks if row["status"] in ("FAILED", "KILLED")]
        found[own.WASTED_TIME] = sum(_duration(row) or 0.0 for row in lost)
        found[FAILED_ATTEMPTS] = sum(row["status"] == "FAILED" for row in lost)
        places = [row.get("locality") for row in _of(job, "MAP")]
        known = [place for place in places if place in _PLACED]
        found[own.LOCAL_SHARE] = _ratio(sum(p in _LOCAL for p in known), len(known))
    return numbers(found)


def _of(job: ObservedJob, kind: str) -> list[Row]:
    return [row for row in job.tasks if row["type"] == kind]


def _phase(name: str, job: ObservedJob, begin: float, end: float, rows: Sequence[Row]) -> Phase:
    length = max(0.0, end - begin)
    return Phase(
        name=name,
        job_id=job.id,
        started_at=begin,
        finished_at=begin + length,
        elapsed_s=length,
        wall_s=length,
        metrics=numbers(_task_metrics(rows)),
    )


def _task_metrics(rows: Sequence[Row]) -> dict[MetricInfo, float | None]:
    """Metrics of the task attempts of a phase."""
    if not rows:
        return {}
    done = [row for row in rows if row["status"] == "SUCCEEDED"]
    lengths = [length for row in done if (length := _duration(row)) is not None]
    total = sum(lengths)
    shuffled = [
        row["shuffle_finished_at"] - row["started_at"]
        for row in done
        if row.get("shuffle_finished_at") and row.get("started_at")
    ]
    return {
        own.TASKS: len(rows),
        own.WAVES: _ratio(len(rows), _concurrent(rows)),
        own.STRAGGLER: _spread(lengths),
        own.SKEW: _spread(_inputs(done)),
        own.CPU_SHARE: _ratio(_total(done, "cpu_time"), total),
        own.GC_SHARE: _ratio(_total(done, "gc_time"), total),
        own.SHUFFLE_SHARE: _ratio(sum(shuffled), total) if shuffled else None,
    }


def _duration(row: Row) -> float | None:
    begin, end = row.get("started_at"), row.get("finished_at")
    return None if begin is None or end is None else max(0.0, end - begin)


def _concurrent(rows: Sequence[Row]) -> int:
    """The largest number of attempts that ran at the same time."""
    changes = []
    for row in rows:
        if _duration(row) is not None:
            changes += [(row["started_at"], 1), (row["finished_at"], -1)]
    running = most = 0
    for _, change in sorted(changes):  # an end comes before a start at the same time
        running += change
        most = max(most, running)
    return most


def _inputs(rows: Sequence[Row]) -> list[float]:
    for column in ("input_bytes", "input_records"):
        values = [row.get(column) for row in rows]
        known = [float(value) for value in values if value is not None]
        if len(known) == len(rows) and any(known):
            return known
    return []


def _spread(values: Sequence[float]) -> float | None:
    """The largest value relative to the median; None for fewer than three values."""
    return _ratio(max(values), statistics.median(values)) if len(values) >= 3 else None


def _total(rows: Sequence[Row], column: str) -> float | None:
    values = [row.get(column) for row in rows]
    known = [float(value) for value in values if value is not None]
    return sum(known) if known and len(known) == len(rows) else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _memory_share(job: ObservedJob) -> float | None:
    """Physical memory of the tasks at their end, relative to the memory of their containers."""
    enabled = job.settings.get("mapreduce.job.ubertask.enable") == "true"
    if enabled if job.uberized is None else job.uberized:
        return None  # its tasks ran in the container of the application master
    given = 0.0
    for count, kind in ((job.maps, "map"), (job.reduces, "reduce")):
        if count == 0:
            continue
        size_mb = _container_mb(job.settings, kind)
        if count is None or size_mb is None:
            return None
        given += count * size_mb * 2**20
    return _ratio(job.counters.get(f"{_TASK}:PHYSICAL_MEMORY_BYTES"), given)


def _container_mb(settings: Mapping[str, str], kind: str) -> float | None:
    """The memory of a task's container, as ``JobConf.getMemoryRequired`` computes it.

    ``kind`` is ``map`` or ``reduce``. None if the settings do not state it.
    """
    size = _number(settings.get(f"mapreduce.{kind}.memory.mb"))
    if size is None or size > 0:
        return size
    names = (f"mapreduce.{kind}.java.opts", "mapred.child.java.opts")
    options = next((settings[name] for name in names if name in settings), None)
    if options is None:
        return None  # also if they were a secret
    heaps = _XMX.findall(options)
    if not heaps:
        return _DEFAULT_MB
    heap_mb = (hadoop_bytes(heaps[-1]) or 0.0) / 2**20  # the JVM has the suffixes of Hadoop
    ratio = _number(settings.get("mapreduce.job.heap.memory-mb.ratio", "0.8"))
    return math.ceil(heap_mb / ratio) if ratio and ratio > 0 and heap_mb > 0 else None


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _idle_share(job: ObservedJob) -> float | None:
    cores = job.settings.get("spark.executor.cores", "")
    if not (cores.isascii() and cores.isdigit()) or not job.containers:
        return None
    given = sum(end - begin for begin, end in job.containers) * int(cores)
    busy = sum(_duration(row) or 0.0 for row in job.tasks)
    return max(0.0, 1 - busy / given) if given > 0 else None
