"""Trino that is DuckDB: the workloads on the event index run on it in moments.

What would be tables on HDFS are views of a folder; functions of Trino's own are macros.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from windtunnel.engines.trino.engine import Step, TrinoRun
from windtunnel.workloads.client import duckdb_queries
from windtunnel.workloads.client.event_index import COLUMNS

_MACROS = (
    "to_utf8(x) AS x",
    "to_hex(x) AS upper(x)",
    "from_base(x, b) AS CAST('0x' || x AS BIGINT)",
)
_STATS = {
    "totalCpuTime": "500.00ms",
    "physicalInputDataSize": "1000B",
    "physicalInputPositions": 500,
    "internalNetworkInputDataSize": "10B",
    "spilledDataSize": "0B",
}


class DuckTrino:
    """Takes the steps of ``query.py``; ``spoil`` changes what a step tells."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.jobs: list[tuple[str, Sequence[Step]]] = []
        self.spoil: dict[str, Any] = {}
        self.timed: list[str] = []

    def run(
        self, name: str, steps: Sequence[Step], deadline_s: float, timed: int | None = None
    ) -> TrinoRun:
        self.jobs.append((name, steps))
        self.timed = [step["name"] for step in steps[-(timed or len(steps)) :]]
        began, told = time.time(), []
        with duckdb.connect() as database:
            for macro in _MACROS:
                database.execute(f"CREATE MACRO {macro}")
            for step in steps:
                told.append({"name": step["name"], "started": time.time()})
                told[-1] |= self._take(step, database) | self.spoil.get(step["name"], {})
                told[-1]["ended"] = time.time() + 0.001
        return TrinoRun(told, began, began, 2.0, Path("trino.log"))

    def _take(self, step: Step, database: duckdb.DuckDBPyConnection) -> Step:
        query: Step = {"queryId": "20250101_000000_00001_abcde", "queryStats": _STATS}
        rows: list[Any] = []
        if found := re.search(r"external_location = 'hdfs://([^']+)'", step["sql"]):
            self._view(step, self.cluster.place(found[1]), database)
        elif step["sql"].startswith("SELECT"):
            cursor = database.execute(step["sql"].replace("FROM events", f"FROM {step['schema']}"))
            names = [column[0] for column in cursor.description or ()]
            rows = [dict(zip(names, map(_plain, row), strict=True)) for row in cursor.fetchall()]
            query["inputs"] = [{"connectorInfo": {"partitionIds": ["a", "b"], "truncated": False}}]
        return {"rows": rows, "query": query}

    def _view(self, step: Step, folder: Path, database: duckdb.DuckDBPyConnection) -> None:
        made = next(folder.glob("*/*.csv"), None) is not None
        job: dict[str, Any] = {"format": "csv" if made else "parquet", "files": f"{folder}/*/*"}
        job["columns"] = {name: kind.duckdb for name, kind in COLUMNS.items()}
        database.execute(
            f"CREATE VIEW {step['schema']} AS SELECT * FROM {duckdb_queries.table(job)}"
        )


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int) else value
