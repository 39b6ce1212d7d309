"""Descriptions of fields and columns for the user guide, in addition to their docstrings."""

from __future__ import annotations

# What the docstrings of the types do not describe, by model and field.
NOTES: dict[str, dict[str, str]] = {
    "StudyRecord": {
        "id": "Name, start and the first digits of the fingerprint",
        "fingerprint": "SHA-256 of everything that determines what is measured",
        "source_text": "The study file as written",
        "cluster": "The cluster description; quantities are text with units",
        "factors": "Factor -> labels of its levels",
        "baseline": "Factor -> level that the other levels are compared with",
        "treatments": "All treatments of the study",
        "notes": "What the testbed could not provide; unknown settings",
        "created_at": "Epoch seconds",
    },
    "Trial": {
        "id": "Round, workload, treatment, attempt: `r01-terasort-stock-a1`",
        "parameters": "Parameters of the workload, as in the study file",
        "metrics": "Metrics of the trial as a whole ([metrics](#metrics))",
        "flags": "Remarks of the testbed or workload; the report shows them",
        "thresholds": "Limits by which the testbed judged the trial ([thresholds](#thresholds))",
        "samples_file": "Parquet file of the host samples",
        "tasks_file": "Parquet file of the task attempts",
        "provenance": "Name of the file in `provenance/`, without `.json`",
        "started_at": "Epoch seconds",
        "finished_at": "Epoch seconds",
        "before": "State of the machine before the trial; absent if the cluster did not start",
    },
    "Phase": {"metrics": "Metrics of the phase ([metrics](#metrics))"},
    "Before": {"load_1min": "Load average over one minute", "cpu_idle_share": "0 to 1"},
    "ProtocolRecord": {"variation_limit": "Ratio: 0.2 is 20 %"},
    "Check": {"passed": "Whether `got` agrees with `expected`"},
}

COLUMNS = {
    "trial": "Id of the trial",
    "t": "Time of the sample, epoch seconds",
    "host": "Host of the sample or of the attempt",
    "metric": "Such as `cpu_user`, `disk_write`, `daemon_rss:datanode@worker-1`",
    "unit": "`ratio`, `count`, `bytes`, `bytes/s`, `cores`, `W`",
    "value": "The number, in `unit`",
    "phase": "Phase of the trial",
    "task": "Hadoop's id of the task",
    "attempt": "Hadoop's id of the attempt",
    "type": "`MAP` or `REDUCE`",
    "status": "`SUCCEEDED`, `FAILED` or `KILLED`",
    "started_at": "Epoch seconds",
    "finished_at": "Epoch seconds",
    "work_started_at": "Epoch seconds of the first work, after the start-up; null if unknown",
    "map_finished_at": "End of the map function, before the last merge; null for reduces",
    "shuffle_finished_at": "Epoch seconds; null for maps",
    "sort_finished_at": "Epoch seconds; null for maps",
    "locality": "`NODE_LOCAL`, `RACK_LOCAL`, `OFF_SWITCH`; null if Hadoop reports none",
    "speculative": "Whether it was a second attempt of a running task; null if not reported",
    "input_records": "Records that the map or reduce function read; null if not reported",
    "input_bytes": "Bytes that a map read from HDFS, or that a reducer fetched from the maps",
    "output_records": "Records that the map or reduce function wrote",
    "output_bytes": "Bytes that a map wrote, before compression; null for reduces",
    "spilled_records": "Records written to local disk, counted each time",
    "cpu_time": "CPU seconds",
    "gc_time": "Seconds of garbage collection",
}
