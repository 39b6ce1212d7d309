"""Scan and report by Spark on a real cluster: right answers, and data that was tampered with."""

from __future__ import annotations

import json
import time
from typing import Any

import psutil
import pytest

from tests.real.conftest import Intruder, write_file
from windtunnel.cluster import Located, validate
from windtunnel.errors import TrialInvalidError
from windtunnel.results.record import Verdict
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution
from windtunnel.workloads.event_index import data as event_data
from windtunnel.workloads.event_index import formats as event_formats
from windtunnel.workloads.event_index.column_report import Report, ReportParameters
from windtunnel.workloads.event_index.data_set import DataSet
from windtunnel.workloads.event_index.engines.base import QueryEngine
from windtunnel.workloads.event_index.engines.duckdb import DuckDB
from windtunnel.workloads.event_index.scan import Scan, ScanParameters

SIZE = {"size": "9 MB", "collections": 2, "replication": 2, "format": "parquet", "codec": "zstd"}
SHARED = "/windtunnel/shared/events"
RECORDS = 5000


def report(**changes: Any) -> Report:
    wanted = SIZE | {"engine": "spark-local", "warm_up": False, "columns": ["n_jets"]}
    return Report(validate(ReportParameters, Located(wanted | changes)))


def run(
    workload: Scan | Report, deployment: LocalDeployment, name: str
) -> tuple[Verdict, Execution]:
    done = Execution(f"/windtunnel/trials/{name}", SHARED, time.monotonic() + 300)
    workload.prepare(deployment, done)
    for phase in workload.phases():
        done.runs[phase] = workload.run_phase(phase, deployment, done)
    return workload.verify(deployment, done), done


@pytest.fixture(scope="module")
def data(deployment: LocalDeployment) -> DataSet:
    parameters = report().parameters
    return event_data.ensure(parameters, deployment, SHARED, time.monotonic() + 300)


def test_spark_on_yarn_scans_and_duckdb_beside_it(
    deployment: LocalDeployment, data: DataSet
) -> None:
    verdict, done = run(Scan(validate(ScanParameters, Located(SIZE))), deployment, "scan")
    assert verdict.valid, verdict.reason
    assert sum(file["bytes"] for file in data.listed) < data.csv_bytes / 4
    scan, duck = done.runs["scan"], done.runs["duckdb"]
    assert scan.phase.job_id is not None and scan.phase.job_id.startswith("application_")
    metrics = scan.phase.metrics
    assert metrics["records_read"].value == RECORDS
    assert 0 < metrics["read_share"].value < 1
    assert metrics["partitions_pruned"].value == 0 and metrics["rows_skipped"].value == 0
    assert metrics["cpu_time"].value > 0 and metrics["start_to_first_result"].value > 0
    assert {row["host"] for row in scan.tasks} <= {"worker-1", "worker-2"}
    assert scan.phase.elapsed_s < scan.phase.wall_s
    assert duck.phase.beside and duck.phase.metrics["rows_per_s"].value > 0
    left = [p for p in psutil.process_iter() if "io.windtunnel.spark" in " ".join(_words(p))]
    assert not left


class Miscounted(Report):
    """A report whose engine counts one record too many in every collection."""

    def queries(self, who: QueryEngine) -> dict[str, str]:
        found = super().queries(who)
        if isinstance(who, DuckDB):
            return found
        return {name: sql.replace("count(", "1 + count(") for name, sql in found.items()}


def test_a_wrong_count_is_found(deployment: LocalDeployment, data: DataSet) -> None:
    verdict, _ = run(Miscounted(report().parameters), deployment, "miscounted")
    assert not verdict.valid
    assert verdict.reason.startswith("answer of n_jets (report): expected collection data-01")
    assert f"records {RECORDS // 2 + 1}" in verdict.reason
    assert "files in HDFS" not in verdict.reason


def test_a_conversion_that_loses_records_is_refused(
    deployment: LocalDeployment, data: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = event_data._write

    def lossy(query: str, path: str, parameters: event_formats.EventParameters) -> dict[str, Any]:
        some = query.replace("FROM events", "FROM events WHERE n_jets < 11")
        return whole(some, path, parameters)

    monkeypatch.setattr(event_data, "_write", lossy)
    with pytest.raises(TrialInvalidError, match=r"orc-zlib-.* differs from the generated data"):
        run(report(format="orc", codec="zlib"), deployment, "lossy")


def test_a_partition_that_is_pruned_is_not_read_and_a_flipped_byte_in_it_is_found(
    deployment: LocalDeployment, data: DataSet, other: Intruder
) -> None:
    name = next(f["path"] for f in data.listed if f["path"].startswith("collection=data-02"))
    whole = deployment.files.read(f"{data.path}/{name}", 1 << 30)
    spoilt = bytearray(whole)
    spoilt[len(spoilt) // 2] ^= 0x01  # within the long texts, which take nine tenths of the file
    write_file(deployment, f"{data.path}/{name}", bytes(spoilt), 2)
    with other.during(deployment, "io.windtunnel.spark"):
        verdict, done = run(report(only=1), deployment, "flipped")
    assert not verdict.valid
    assert verdict.reason.startswith(f"files in HDFS: expected {name}: bytes")
    assert "answer of" not in verdict.reason
    metrics = done.runs["report"].phase.metrics
    assert metrics["partitions_pruned"].value == 0.5
    assert metrics["records_read"].value == RECORDS / 2
    write_file(deployment, f"{data.path}/{name}", whole, 2)


def test_a_partition_that_is_missing_is_found(deployment: LocalDeployment, data: DataSet) -> None:
    deployment.files.delete(f"{data.path}/collection=data-02")
    verdict, done = run(report(), deployment, "missing")
    assert not verdict.valid
    assert "answer of n_jets (report): expected collection data-02" in verdict.reason
    assert "files in HDFS: expected collection=data-02/" in verdict.reason
    (row,) = json.loads(done.runs["report"].output)["answers"]["n_jets"]
    assert row["records"] == RECORDS / 2


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
