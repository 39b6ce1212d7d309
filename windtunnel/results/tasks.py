"""The Parquet file of a trial's task attempts; its columns are described in ``folder.py``."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TASKS_SCHEMA = pa.schema(
    [
        ("trial", pa.string()),
        ("phase", pa.string()),
        ("task", pa.string()),
        ("attempt", pa.string()),
        ("type", pa.string()),
        ("status", pa.string()),
        ("host", pa.string()),
        ("started_at", pa.float64()),
        ("work_started_at", pa.float64()),
        ("finished_at", pa.float64()),
        ("map_finished_at", pa.float64()),
        ("shuffle_finished_at", pa.float64()),
        ("sort_finished_at", pa.float64()),
        ("locality", pa.string()),
        ("speculative", pa.bool_()),
        ("input_records", pa.float64()),
        ("input_bytes", pa.float64()),
        ("output_records", pa.float64()),
        ("output_bytes", pa.float64()),
        ("spilled_records", pa.float64()),
        ("cpu_time", pa.float64()),
        ("gc_time", pa.float64()),
    ],
    metadata={"schema": "windtunnel.tasks/1"},
)


def task_table(trial: str, tasks: Sequence[Mapping[str, Any]]) -> bytes:
    """The content of the file for the task attempts of one trial."""
    rows = [{"trial": trial, **row} for row in tasks]
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, TASKS_SCHEMA), data, compression="zstd")
    return data.getvalue()
