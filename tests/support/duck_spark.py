"""A cluster whose Spark, Trino and Hive are DuckDB: both workloads run on it in moments.

HDFS is a folder. What Spark would write as ORC or compressed CSV lies there as Parquet: only the
answers matter here, and that what is spoilt on purpose is found.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from tests.support.bare import ClientDeployment
from tests.support.duck_hive import DuckHive
from tests.support.duck_trino import DuckTrino
from tests.support.mock import job_run
from windtunnel.engines.deployment import FileStatus, JobRun
from windtunnel.engines.json_lines import Step
from windtunnel.engines.spark.engine import SparkJob, SparkRun
from windtunnel.workloads.client import duckdb_queries, event_index
from windtunnel.workloads.client.event_index import COLUMNS, PARTITION


class DuckSpark:
    """Answers the steps of ``Driver.java`` with DuckDB; ``spoil`` changes what a step tells."""

    def __init__(self, cluster: EventCluster) -> None:
        self.cluster = cluster
        self.jobs: list[tuple[str, SparkJob]] = []
        self.spoil: dict[str, Any] = {}

    def run(self, name: str, job: SparkJob, deadline_s: float) -> SparkRun:
        self.jobs.append((name, job))
        start = {"did": "start", "application": "application_1_0001", "ended": time.time()}
        told: list[Step] = []
        with duckdb.connect() as database:
            for step in job.steps:
                told.append({"did": step["do"], "name": step.get("name"), "started": time.time()})
                told[-1] |= getattr(self, f"_{step['do']}")(step, database)
                told[-1]["ended"] = time.time() + 0.001
        return SparkRun(start, told, time.time() - 1, 2.0, Path("driver.log"))

    def _table(self, step: Step, database: duckdb.DuckDBPyConnection) -> Step:
        folder = self.cluster.place(step["path"])
        made = next(folder.glob("*/*.csv"), None) is not None
        job: dict[str, Any] = {"format": "csv" if made else "parquet", "files": f"{folder}/*/*"}
        job["columns"] = {name: kind.duckdb for name, kind in COLUMNS.items()}
        database.execute(
            f"CREATE OR REPLACE VIEW events AS SELECT * FROM {duckdb_queries.table(job)}"
        )
        return {}

    def _write(self, step: Step, database: duckdb.DuckDBPyConnection) -> Step:
        folder = self.cluster.place(step["path"])
        folder.parent.mkdir(parents=True, exist_ok=True)
        how = f"FORMAT parquet, PARTITION_BY ({PARTITION})"
        database.execute(f"COPY ({step['sql']}) TO '{folder}' ({how})")
        return {}

    def _query(self, step: Step, database: duckdb.DuckDBPyConnection) -> Step:
        database.execute("CREATE OR REPLACE MACRO conv(x, a, b) AS CAST('0x' || x AS BIGINT)")
        cursor = database.execute(step["sql"])
        names = [column[0] for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        counts = {"bytes_read": 1000, "records_read": 500, "cpu_s": 0.5, "gc_s": 0.0}
        counts |= {"bytes_shuffled": 10, "bytes_spilled": 0, "stages": 2}
        said = {"rows": rows, "counts": counts, "scanned": {"partitions": 2}, "tasks": []}
        return said | self.spoil.get(step["name"], {})

    def _files(self, step: Step, database: duckdb.DuckDBPyConnection) -> Step:
        return {"files": self.cluster.listed(step["path"])} | self.spoil.get("files", {})


class EventCluster(ClientDeployment):
    """A deployment with a client, a folder for HDFS, and that Spark."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder / "client")
        self.id = name
        self.hdfs = folder / "hdfs"
        self.spark = DuckSpark(self)
        self.trino = DuckTrino(self)
        self.hive = DuckHive(self)

    def place(self, path: str) -> Path:
        return self.hdfs / path.lstrip("/")

    def listed(self, path: str) -> list[Step]:
        root = self.place(path)
        return [
            {
                "path": str(file.relative_to(root)),
                "bytes": file.stat().st_size,
                "replication": 2,
                "checksum": hashlib.sha256(file.read_bytes()).hexdigest(),
            }
            for file in sorted(root.rglob("*.*"))
            if file.is_file()
        ]

    def checksums(self, path: str) -> list[Step]:
        return self.listed(path)

    def engine(self, kind: type) -> Any:
        return {"Trino": self.trino, "Hive": self.hive}.get(kind.__name__, self.spark)

    def put(self, sources: Sequence[Path], folder: str, **_: Any) -> JobRun:
        for source in sources:
            shutil.copytree(source, self.place(folder) / source.name)
        return job_run("put", 1.0)

    def get(self, sources: Sequence[str], folder: Path, **_: Any) -> JobRun:
        for source in sources:
            shutil.copytree(self.place(source), folder / source.rpartition("/")[2])
        return job_run("get", 1.0)

    def run_on_client(self, name: str, argv: Sequence[str], **_: Any) -> str:
        """The programs of the client, without a process for each."""
        program, *words = argv[2:]
        if program == event_index.__file__:
            event_index.make(Path(words[1]), *map(int, words[2:]))
            return ""
        assert program == duckdb_queries.__file__
        return "\n".join(
            map(json.dumps, duckdb_queries.run(json.loads(Path(words[0]).read_text())))
        )

    def write_text(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def delete(self, path: str) -> None:
        shutil.rmtree(self.place(path), ignore_errors=True)

    def list_files(self, path: str) -> list[FileStatus]:
        return []
