"""Hive that is DuckDB: the workloads on the event index run on it in moments.

What would be tables on HDFS are views of a folder; functions of Hive's own are macros.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

import duckdb

from tests.engines.test_hadoop_program import job
from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hive.engine import HiveRun
from windtunnel.engines.json_lines import Step
from windtunnel.workloads.client import duckdb_queries
from windtunnel.workloads.client.event_index import COLUMNS

_MACRO = "conv(x, a, b) AS CAST('0x' || x AS BIGINT)"
CPU_S, READ_BYTES = 2.5, 1000


class DuckHive:
    """Takes statements, a job for each query; ``spoil`` changes what a step tells."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.jobs: list[tuple[str, Sequence[Step]]] = []
        self.spoil: dict[str, Any] = {}
        self.hadoop = self.history = self

    def run(self, name: str, steps: Sequence[Step], deadline_s: float) -> HiveRun:
        self.jobs.append((name, steps))
        began, told = time.time(), []
        with duckdb.connect() as database:
            database.execute(f"CREATE MACRO {_MACRO}")
            for step in steps:
                told.append({"name": step["name"], "started": time.time()})
                told[-1] |= self._take(step["sql"], database) | self.spoil.get(step["name"], {})
                told[-1]["ended"] = time.time() + 0.001
        return HiveRun(told, began, 2.0)

    def collect(self, phase: str, job_id: str, wall_s: float) -> JobRun:
        return job(1, 10.0, 14.0, cpu_time=CPU_S, hdfs_bytes_read=READ_BYTES, map_input_records=7)

    def _take(self, sql: str, database: duckdb.DuckDBPyConnection) -> Step:
        told: Step = {"rows": [], "jobs": [], "partitions": 0}
        if found := re.search(r"LOCATION '([^']+)'", sql):
            self._view(found[1], database)
        elif sql.startswith("SELECT"):
            cursor = database.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            told["rows"] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            told |= {"jobs": ["job_1_0001"], "partitions": 2}
        return told

    def _view(self, path: str, database: duckdb.DuckDBPyConnection) -> None:
        folder = self.cluster.place(path)
        made = next(folder.glob("*/*.csv"), None) is not None
        job: dict[str, Any] = {"format": "csv" if made else "parquet", "files": f"{folder}/*/*"}
        job["columns"] = {name: kind.duckdb for name, kind in COLUMNS.items()}
        database.execute(
            f"CREATE OR REPLACE VIEW events AS SELECT * FROM {duckdb_queries.table(job)}"
        )
