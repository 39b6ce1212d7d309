"""MapReduce's job counters as metrics.

Hadoop defines their meaning: see ``TaskCounter`` and ``JobCounter`` in its API documentation.
"""

from __future__ import annotations

from windtunnel.engines.job_metrics import CPU_TIME, GC_TIME, HDFS_BYTES_READ
from windtunnel.results.metrics import MetricInfo, register

_TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_JOB = "org.apache.hadoop.mapreduce.JobCounter"
_FILES = "org.apache.hadoop.mapreduce.FileSystemCounter"
_COUNTED = "MapReduce's job counters"
_HISTORY = "MapReduce's job history"
_ATTEMPTS = "task attempts in MapReduce's job history"


def _counted(name: str, unit: str, meaning: str, label: str = "") -> MetricInfo:
    return MetricInfo(name, unit, meaning, _COUNTED, label=label)


_WRITTEN = "HDFS bytes written"
_BYTES = {
    "hdfs_bytes_written": (_FILES, "bytes that tasks wrote to HDFS, one replica", _WRITTEN),
    "file_bytes_read": (_FILES, "bytes that tasks read from local disks: spills and merges", ""),
    "file_bytes_written": (_FILES, "bytes that tasks wrote to local disks: spills and merges", ""),
    "map_output_bytes": (_TASK, "bytes of all map outputs, before compression", ""),
    "reduce_shuffle_bytes": (_TASK, "bytes that reduce tasks fetched from map tasks", ""),
}
_COUNTS = {
    "spilled_records": (_TASK, "records written to local disks, counted each time"),
    "map_input_records": (_TASK, "records that map functions read"),
    "map_output_records": (_TASK, "records that map functions wrote"),
    "reduce_input_records": (_TASK, "records that reduce functions read"),
    "reduce_output_records": (_TASK, "records that reduce functions wrote"),
    "merged_map_outputs": (_TASK, "map outputs that reduce tasks merged"),
    "data_local_maps": (_JOB, "map tasks on a host that held their data"),
    "rack_local_maps": (_JOB, "map tasks on another host of the rack that held their data"),
    "other_local_maps": (_JOB, "map tasks that requested no host, or ran in another rack"),
}
MAPS = _counted("maps", "count", "attempts of map tasks that were started")
REDUCES = _counted("reduces", "count", "attempts of reduce tasks that were started")

COUNTERS: dict[MetricInfo, tuple[str, float]] = {
    CPU_TIME: (f"{_TASK}:CPU_MILLISECONDS", 1e-3),
    GC_TIME: (f"{_TASK}:GC_TIME_MILLIS", 1e-3),
    HDFS_BYTES_READ: (f"{_FILES}:HDFS_BYTES_READ", 1),
    **{
        _counted(name, "bytes", meaning, label): (f"{group}:{name.upper()}", 1)
        for name, (group, meaning, label) in _BYTES.items()
    },
    **{
        _counted(name, "count", meaning): (f"{group}:{name.upper()}", 1)
        for name, (group, meaning) in _COUNTS.items()
    },
    MAPS: (f"{_JOB}:TOTAL_LAUNCHED_MAPS", 1),
    REDUCES: (f"{_JOB}:TOTAL_LAUNCHED_REDUCES", 1),
}
"""Metric -> its counter and the factor that converts to the metric's unit."""

MASTER_START = MetricInfo(
    "master_start",
    "s",
    "time from the job's submission to its start by the application master",
    _HISTORY,
    better="less",
)
KILLED_ATTEMPTS = MetricInfo(
    "killed_attempts", "count", "task attempts that were killed", _HISTORY, better="less"
)
SPECULATIVE_ATTEMPTS = MetricInfo(
    "speculative_attempts",
    "count",
    "task attempts that ran while another attempt of the same task did",
    _ATTEMPTS,
)
SHUFFLE_TIME = MetricInfo(
    "shuffle_time",
    "s",
    "time in which reduce tasks fetched map output, summed over the tasks",
    _ATTEMPTS,
    better="less",
)
MERGE_TIME = MetricInfo(
    "merge_time",
    "s",
    "time in which reduce tasks merged what they had fetched, summed over the tasks",
    _ATTEMPTS,
    better="less",
)
MAP_SPILLED = MetricInfo(
    "map_spilled_records",
    "count",
    "records that map tasks wrote to local disks, counted each time",
    _ATTEMPTS,
)
REDUCE_SPILLED = MetricInfo(
    "reduce_spilled_records",
    "count",
    "records that reduce tasks wrote to local disks, counted each time",
    _ATTEMPTS,
)

register(
    *COUNTERS,
    MASTER_START,
    KILLED_ATTEMPTS,
    SPECULATIVE_ATTEMPTS,
    SHUFFLE_TIME,
    MERGE_TIME,
    MAP_SPILLED,
    REDUCE_SPILLED,
)
