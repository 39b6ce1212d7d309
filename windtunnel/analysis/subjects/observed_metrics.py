"""Metrics of observed jobs: what bound a phase, waves, stragglers, skew, waste."""

from __future__ import annotations

from windtunnel.results.metrics import MetricInfo, register

_ATTEMPTS = "task attempts in the history of an observed job"
_COUNTERS = "counters and settings in the history of an observed job"

QUEUE_WAIT = MetricInfo(
    "queue_wait",
    "s",
    "time from the submission of the job to its start",
    _ATTEMPTS,
    better="less",
    level="trial",
)
TASKS = MetricInfo("observed_tasks", "count", "task attempts of the phase", _ATTEMPTS)
WAVES = MetricInfo(
    "waves",
    "x",
    "number of task attempts divided by the largest number that ran at the same time",
    _ATTEMPTS,
)
STRAGGLER = MetricInfo(
    "straggler_ratio",
    "x",
    "longest duration of a successful task, relative to the median",
    _ATTEMPTS,
    better="less",
)
SKEW = MetricInfo(
    "skew_ratio",
    "x",
    "largest input of a successful task in bytes (records where bytes are unknown), relative to "
    "the median",
    _ATTEMPTS,
    better="less",
)
CPU_SHARE = MetricInfo(
    "task_cpu_share", "ratio", "CPU time of tasks as a fraction of their elapsed time", _ATTEMPTS
)
GC_SHARE = MetricInfo(
    "task_gc_share",
    "ratio",
    "garbage collection as a fraction of the elapsed time of tasks",
    _ATTEMPTS,
    better="less",
)
SHUFFLE_SHARE = MetricInfo(
    "shuffle_share",
    "ratio",
    "shuffle as a fraction of the elapsed time of reduce tasks",
    _ATTEMPTS,
    better="less",
)
LOCAL_SHARE = MetricInfo(
    "local_share",
    "ratio",
    "map tasks on a host (or in a process) that held their data, as a fraction of those whose "
    "place is known",
    _ATTEMPTS,
    better="more",
    level="trial",
)
WASTED_TIME = MetricInfo(
    "wasted_time",
    "s",
    "elapsed time of failed and killed task attempts, summed over them",
    _ATTEMPTS,
    better="less",
    level="trial",
)
SPILL_RATIO = MetricInfo(
    "spill_ratio",
    "x",
    "records that map and reduce tasks wrote to local disks, per record of map output (MapReduce); "
    "1 to 2 is the minimum of a job with reduces",
    _COUNTERS,
    better="less",
    level="trial",
)
MEMORY_SHARE = MetricInfo(
    "memory_share",
    "ratio",
    "memory that tasks used at their end, as a fraction of that of their containers",
    _COUNTERS,
    better="more",
    level="trial",
)
IDLE_SHARE = MetricInfo(
    "idle_executor_share",
    "ratio",
    "time of executors' cores without a task, as a fraction of the executors' time (Spark)",
    _COUNTERS,
    better="less",
    level="trial",
)
INPUT_BYTES = MetricInfo(
    "observed_input_bytes",
    "bytes",
    "bytes that the job read from file systems",
    _COUNTERS,
    level="trial",
)

ALL = (
    QUEUE_WAIT,
    TASKS,
    WAVES,
    STRAGGLER,
    SKEW,
    CPU_SHARE,
    GC_SHARE,
    SHUFFLE_SHARE,
    LOCAL_SHARE,
    WASTED_TIME,
    SPILL_RATIO,
    MEMORY_SHARE,
    IDLE_SHARE,
    INPUT_BYTES,
)
register(*ALL)
