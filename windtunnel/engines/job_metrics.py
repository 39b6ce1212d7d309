"""Metrics of a job that several engines count; each is described once here."""

from __future__ import annotations

from windtunnel.results.metrics import MetricInfo, register

CPU_TIME = MetricInfo(
    "cpu_time",
    "s",
    "CPU time, summed over all tasks; counted for single threads (Spark, Trino, DuckDB) or for "
    "whole JVMs, from the initialisation of the task to its end (MapReduce, Hive)",
    "the engine's task counters",
    better="less",
    label="CPU time",
)
GC_TIME = MetricInfo(
    "gc_time",
    "s",
    "time in which tasks stopped for garbage collection, summed over all tasks",
    "task counters of MapReduce and Spark",
    better="less",
    label="GC time",
)
HDFS_BYTES_READ = MetricInfo(
    "hdfs_bytes_read",
    "bytes",
    "bytes that tasks read from HDFS",
    "the engine's task counters",
    label="HDFS bytes read",
)
RECORDS_READ = MetricInfo(
    "records_read",
    "count",
    "records that tasks read from files",
    "task counters of Spark, query statistics of Trino",
)
SHUFFLE_BYTES = MetricInfo(
    "shuffle_bytes",
    "bytes",
    "bytes that tasks fetched from other tasks",
    "task counters of Spark, query statistics of Trino",
)
SPILLED_BYTES = MetricInfo(
    "spilled_bytes",
    "bytes",
    "bytes that tasks wrote to disk because they did not fit in memory",
    "task counters of Spark, query statistics of Trino",
)
MAP_TIME = MetricInfo(
    "map_time",
    "s",
    "elapsed time of the successful tasks that read files, summed over the tasks",
    "task attempts of MapReduce and Spark",
    better="less",
)
REDUCE_TIME = MetricInfo(
    "reduce_time",
    "s",
    "elapsed time of the successful tasks that read other tasks' output, summed over the tasks; "
    "of MapReduce without shuffle and merge",
    "task attempts of MapReduce and Spark",
    better="less",
)
FAILED_ATTEMPTS = MetricInfo(
    "failed_attempts",
    "count",
    "task attempts that failed",
    "task attempts of MapReduce and Spark",
    better="less",
)
CLIENT_OVERHEAD = MetricInfo(
    "client_overhead",
    "s",
    "time of the client before and after the job or the transfer: its start-up and its wait",
    "the client's wall time minus the phase's elapsed time",
    better="less",
)
START_TO_FIRST_RESULT = MetricInfo(
    "start_to_first_result",
    "s",
    "time from the start of the engine to its first answer",
    "the engine's client",
    better="less",
    additive=False,
)

register(
    CPU_TIME,
    GC_TIME,
    HDFS_BYTES_READ,
    RECORDS_READ,
    SHUFFLE_BYTES,
    SPILLED_BYTES,
    MAP_TIME,
    REDUCE_TIME,
    FAILED_ATTEMPTS,
    CLIENT_OVERHEAD,
    START_TO_FIRST_RESULT,
)
