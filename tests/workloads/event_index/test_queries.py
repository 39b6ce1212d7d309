"""Scan and report: answers that are right, and everything that is spoilt on purpose."""

from __future__ import annotations

import json
import time
from itertools import count
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.support.bare import BareDeployment
from tests.support.duck_hive import CPU_S, READ_BYTES
from tests.support.duck_spark import EventCluster
from windtunnel.cluster import Located, load_cluster, validate
from windtunnel.engines.registry import ENGINES
from windtunnel.errors import DescriptionError, TrialInvalidError
from windtunnel.results.record import Verdict
from windtunnel.workloads import find_workload
from windtunnel.workloads.base import Execution
from windtunnel.workloads.client import event_index
from windtunnel.workloads.event_index import data as event_data
from windtunnel.workloads.event_index.column_report import Report, ReportParameters
from windtunnel.workloads.event_index.engines import QUERY_ENGINES
from windtunnel.workloads.event_index.scan import Scan, ScanParameters

SIZE = {"size": "9 MB", "collections": 2, "replication": 2}  # 5000 records
NAMES = count(1)


def scan(**changes: Any) -> Scan:
    return Scan(validate(ScanParameters, Located(SIZE | changes)))


def report(**changes: Any) -> Report:
    return Report(validate(ReportParameters, Located(SIZE | changes)))


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    return EventCluster(tmp_path, f"deployment-{next(NAMES)}")


def execution(name: str = "t1") -> Execution:
    return Execution(f"/w/{name}", "/w/shared", time.monotonic() + 60)


def run(workload: Scan | Report, cluster: Any, name: str = "t1") -> tuple[Verdict, Execution]:
    done = execution(name)
    workload.prepare(cluster, done)
    for phase in workload.phases():
        done.runs[phase] = workload.run_phase(phase, cluster, done)
    return workload.verify(cluster, done), done


@pytest.mark.parametrize("format_", ["csv", "parquet"])
@pytest.mark.parametrize("workload", [scan, report])
def test_what_was_asked_is_answered_rightly(workload: Any, format_: str, cluster: Any) -> None:
    made = workload(format=format_, codec="none")
    verdict, done = run(made, cluster)

    assert verdict.valid, verdict.reason
    assert made.phases() == (made.name, "duckdb")
    assert done.runs["duckdb"].phase.beside and not done.runs[made.name].phase.beside
    metrics = done.runs[made.name].phase.metrics
    result = 5000 * len(made.queries(QUERY_ENGINES["spark"]))
    assert metrics["rows_per_s"].value == pytest.approx(
        result / done.runs[made.name].phase.elapsed_s
    )
    assert metrics["size_share"].value == pytest.approx(1.0) if format_ == "csv" else True
    assert done.runs["duckdb"].phase.metrics["rows_per_s"].value > 0
    names = [check.name for check in verdict.checks]
    assert "files in HDFS" in names and sum(name.startswith("answer of") for name in names) > 1


@pytest.mark.parametrize("format_", ["csv", "parquet"])
@pytest.mark.parametrize("workload", [scan, report])
def test_trino_answers_the_same(workload: Any, format_: str, cluster: Any) -> None:
    made = workload(format=format_, codec="none", engine="trino")
    verdict, done = run(made, cluster)

    assert verdict.valid, verdict.reason
    assert "files in HDFS" in [check.name for check in verdict.checks]
    assert made.phases() == (made.name, "duckdb")
    metrics = done.runs[made.name].phase.metrics
    queries = len(made.queries(QUERY_ENGINES["trino"]))
    assert metrics["cpu_time"].value == pytest.approx(0.5 * queries)
    assert metrics["read_share"].value == pytest.approx(1000 / metrics["bytes_on_disk"].value)
    assert metrics["partitions_pruned"].value == 0
    assert ("rows_skipped" in metrics) == (format_ == "parquet")
    ((_, steps),) = cluster.trino.jobs
    assert [step["name"] for step in steps[-queries:]] == list(made.queries(QUERY_ENGINES["trino"]))
    assert cluster.trino.timed == list(made.queries(QUERY_ENGINES["trino"]))
    assert len(steps) == 2 * 3 + 3 * queries + queries, "both tables, three times each, then timed"


@pytest.mark.parametrize("format_", ["csv", "parquet"])
@pytest.mark.parametrize("workload", [scan, report])
def test_hive_answers_the_same(workload: Any, format_: str, cluster: Any) -> None:
    made = workload(format=format_, codec="none", engine="hive")
    verdict, done = run(made, cluster)

    assert verdict.valid, verdict.reason
    assert "files in HDFS" in [check.name for check in verdict.checks]
    assert made.parameters.engines() == ("spark", "hive")
    metrics = done.runs[made.name].phase.metrics
    queries = made.queries(QUERY_ENGINES["hive"])
    assert metrics["cpu_time"].value == pytest.approx(CPU_S * len(queries))
    assert metrics["read_share"].value == pytest.approx(READ_BYTES / metrics["bytes_on_disk"].value)
    assert metrics["partitions_pruned"].value == 0
    assert "map_input_records" not in metrics, "of Parquet tasks count batches"
    assert "rows_skipped" not in metrics, "Hive does not tell"
    ((_, steps),) = cluster.hive.jobs
    assert [step["name"] for step in steps[-len(queries) :]] == list(queries)
    assert len(steps) == 2 * 4 + 2 * len(queries), "both tables, then once each and timed"


def test_a_wrong_answer_of_hive_and_one_without_a_job_are_found(cluster: Any) -> None:
    workload = scan(engine="hive", warm_up=False)
    cluster.hive.spoil["scan"] = {"rows": [{"collection": "data-01", "events": 1, "digest": 2}]}
    verdict, _ = run(workload, cluster)
    assert "got collection data-01, events 1, digest 2" in verdict.reason
    cluster.hive.spoil["scan"] = {"jobs": []}
    with pytest.raises(TrialInvalidError, match="Hive submitted no job for: scan"):
        run(workload, cluster)


def test_a_wrong_answer_of_trino_and_a_file_that_changed_are_found(cluster: Any) -> None:
    workload = scan(engine="trino", warm_up=False)
    cluster.trino.spoil["scan"] = {"rows": [{"collection": "data-01", "events": 1, "digest": 2}]}
    verdict, _ = run(workload, cluster)
    assert "got collection data-01, events 1, digest 2" in verdict.reason
    cluster.trino.spoil.clear()
    data = event_data.ensure(workload.parameters, cluster, "/w/shared", time.monotonic() + 60)
    file = min(cluster.place(data.path).glob("*/*.csv"))
    file.write_bytes(file.read_bytes().replace(b"0" * 50, b"1" * 50, 1))
    verdict, _ = run(workload, cluster)
    assert verdict.reason.startswith("files in HDFS: expected collection=data-01/part-00000.csv")


def test_text_with_separators_needs_no_quotes(tmp_path: Path) -> None:
    """Trino reads the CSV as such: a quote, or a comma in a value, would be read as it stands."""
    event_index.make(tmp_path / "made", 200, 1, 1)
    (file,) = (tmp_path / "made").glob("*/*.csv")
    lines = file.read_text().splitlines()
    assert not any('"' in line or "\\" in line for line in lines)
    assert {line.count(",") for line in lines} == {len(event_index.COLUMNS) - 1}


def test_every_engine_is_a_choice_and_every_choice_an_engine() -> None:
    choices = get_args(ScanParameters.model_fields["engine"].annotation)
    assert set(choices) == set(QUERY_ENGINES)
    needed = {name for engine in QUERY_ENGINES.values() for name in engine.engines}
    assert needed <= ENGINES.keys()
    assert scan(engine="trino").parameters.engines() == ("spark", "trino")


def test_some_events_are_of_interest_and_most_are_not(cluster: Any) -> None:
    _, done = run(scan(), cluster)
    rows = json.loads(done.runs["scan"].output)["answers"]["scan"]
    found = sum(row["events"] for row in rows)
    assert 5 <= found <= 50
    first = scan(first=0.25)  # half of the first collection
    assert run(first, cluster)[0].valid
    _, done = run(first, cluster)
    (row,) = json.loads(done.runs["scan"].output)["answers"]["scan"]
    assert row["collection"] == "data-01" and 0 < row["events"] < found


def test_data_is_made_and_converted_once_for_a_deployment(cluster: Any) -> None:
    run(scan(format="parquet", codec="snappy"), cluster)
    run(scan(format="parquet", codec="snappy"), cluster, "t2")
    assert [name for name, _ in cluster.spark.jobs] == ["convert", "scan", "scan"]
    again = EventCluster(cluster.root.parent / "again", f"deployment-{next(NAMES)}")
    run(scan(format="parquet", codec="snappy"), again)
    assert [name for name, _ in again.spark.jobs] == ["convert", "scan"]


def test_a_wrong_count_is_found(cluster: Any) -> None:
    rows = [{"collection": "data-01", "events": 1, "digest": 2}]
    cluster.spark.spoil["scan"] = {"rows": rows}
    verdict, _ = run(scan(warm_up=False), cluster)
    assert not verdict.valid
    assert "answer of scan: expected collection data-01, events" in verdict.reason
    assert "got collection data-01, events 1, digest 2" in verdict.reason


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_missing_partition_is_found(format_: str, cluster: Any) -> None:
    workload = report(format=format_, codec="none")
    data = event_data.ensure(workload.parameters, cluster, "/w/shared", time.monotonic() + 60)
    cluster.delete(f"{data.path}/collection=data-02")
    verdict, _ = run(workload, cluster)
    assert not verdict.valid
    assert "answer of n_tracks (report): expected collection data-02" in verdict.reason
    assert "got none" in verdict.reason
    assert "files in HDFS: expected collection=data-02/" in verdict.reason


def test_a_flipped_byte_is_found_where_no_answer_shows_it(cluster: Any) -> None:
    """A digit of a mask, which the report never reads: only the files' checksums tell."""
    workload = report()
    data = event_data.ensure(workload.parameters, cluster, "/w/shared", time.monotonic() + 60)
    file = min(cluster.place(data.path).glob("*/*.csv"))
    spoilt = bytearray(file.read_bytes())
    place = spoilt.index(b"0" * 50)
    spoilt[place] = ord("1")
    file.write_bytes(spoilt)
    verdict, _ = run(workload, cluster)
    assert not verdict.valid
    assert verdict.reason.startswith("files in HDFS: expected collection=data-01/part-00000.csv")


def test_a_flipped_byte_that_is_asked_for_is_found_in_the_answer(cluster: Any) -> None:
    workload = report(columns=["event_number"])
    data = event_data.ensure(workload.parameters, cluster, "/w/shared", time.monotonic() + 60)
    file = min(cluster.place(data.path).glob("*/*.csv"))
    text = file.read_bytes()
    file.write_bytes(text.replace(b",1000000", b",1000001", 1))
    verdict, _ = run(workload, cluster)
    assert "answer of event_number (report)" in verdict.reason


def test_data_that_was_converted_wrongly_is_never_used(cluster: Any) -> None:
    rows = [{"collection": "data-01", "records": 2500, "digest": 1}]
    cluster.spark.spoil["content"] = {"rows": rows}
    with pytest.raises(TrialInvalidError, match="the csv-none data differs from the generated"):
        scan().prepare(cluster, execution())
    cluster.spark.spoil.clear()
    scan().prepare(cluster, execution())  # whole or absent: it is made anew


def test_duckdb_alone_is_no_phase_beside(cluster: Any) -> None:
    workload = scan(engine="duckdb")
    verdict, done = run(workload, cluster)
    assert verdict.valid, verdict.reason
    assert workload.phases() == ("scan",) and not done.runs["scan"].phase.beside


def test_a_format_that_duckdb_cannot_read_says_so(cluster: Any) -> None:
    workload = scan(format="orc", codec="zstd")
    assert workload.phases() == ("scan",)
    _, done = run(workload, cluster)
    assert done.runs["scan"].notes == ["DuckDB cannot read ORC: scan has no reference phase"]


def test_what_was_not_read_is_told_by_its_share(cluster: Any) -> None:
    _, done = run(report(format="parquet", codec="none", only=1, columns=["n_jets"]), cluster)
    metrics = done.runs["report"].phase.metrics
    # the stand-in tells of 2 partitions of 2 and of 500 records of 2500
    assert metrics["partitions_pruned"].value == 0
    assert metrics["rows_skipped"].value == pytest.approx(0.8)
    assert metrics["read_share"].value < 0.1
    _, done = run(report(columns=["n_jets"]), cluster)
    assert "rows_skipped" not in done.runs["report"].phase.metrics  # a line is always read


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": "csv", "codec": "zstd"}, "csv does not support compression with zstd"),
        ({"format": "orc", "codec": "none", "engine": "duckdb"}, "DuckDB cannot read ORC"),
        ({"size": "1 kB"}, "size must be at least 1800 bytes for each collection"),
        ({"codec": "lzo"}, "must be one of none, gzip"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        scan(**changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"columns": ["guid_aod"]}, "no numeric column 'guid_aod'"),
        ({"columns": ["event_time"], "engine": "hive"}, "'event_time' by hive is too imprecise"),
        ({"columns": ["n_jets", "n_jets"]}, "a column is listed twice"),
        ({"columns": []}, "number of items must be at least 1"),
        ({"only": 3}, "only 2 collections"),
    ],
)
def test_bad_reports_are_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        report(**changes)


def test_the_cluster_must_have_datanodes_enough() -> None:
    assert scan().check(load_cluster("local-3")) == []
    (problem,) = scan(replication=4).check(load_cluster("local-3"))
    assert problem == "workloads.scan.replication is 4, but the cluster has 3 datanodes"


def test_the_engine_that_converts_is_known() -> None:
    for name in ("scan", "report"):
        assert find_workload(name).parameters_type is not None
    assert all(name in ENGINES for name in scan().parameters.engines())


def test_a_testbed_without_spark_is_said_so() -> None:
    with pytest.raises(TrialInvalidError, match="no client"):
        scan().prepare(BareDeployment(), execution())


def test_data_is_counted_as_it_lies_on_disk() -> None:
    plain = 5000 * event_index.RECORD_BYTES
    assert scan().data_bytes() == plain
    assert scan(format="parquet", codec="zstd").data_bytes() < plain / 10
    assert report(only=1).demands("report", 3).disk_read_bytes == plain / 2
