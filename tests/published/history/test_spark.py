"""Spark event logs: plain, compressed, rolling, in progress, truncated."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.history_files import lz4_blocks, snappy_blocks, spark_lines
from windtunnel.published.history.build import build, store
from windtunnel.published.history.job import UnreadableJobError, unique_jobs
from windtunnel.published.history.spark import is_event_log, parse_event_log
from windtunnel.results.folder import read_results

TEXT = ("\n".join(spark_lines()) + "\n").encode()
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".lz4": lz4_blocks,
    ".snappy": snappy_blocks,
    ".zstd": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
    ".gz": gzip.compress,
}


@pytest.mark.parametrize("suffix", FORMS)
def test_every_compression(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"application_1792000000000_0009{suffix}"
    file.write_bytes(FORMS[suffix](TEXT))
    assert is_event_log(file)
    job = parse_event_log(file)
    assert (job.id, job.name, job.user, job.queue) == (
        "application_1792000000000_0009",
        "daily 12",
        "ann",
        "etl",
    )
    assert (job.version, job.status, job.elapsed_s) == ("4.0.1", "SUCCEEDED", 3.0)
    assert len(job.tasks) == 4 and job.tasks[0]["cpu_time"] == 0.5
    assert job.counters["input_bytes"] == 4000
    assert "planted-s3-secret" not in str(job)
    assert job.notes == []


@pytest.mark.parametrize("suffix", FORMS)
def test_truncated_logs_keep_their_events_or_are_a_status(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"application_1792000000000_0009{suffix}"
    data = FORMS[suffix](TEXT)
    for size in range(0, len(data), 41):
        file.write_bytes(data[:size])
        try:
            job = parse_event_log(file)
        except UnreadableJobError as error:
            assert str(error)
        else:
            assert job.notes and job.status in ("UNFINISHED", "SUCCEEDED")


def test_a_rolling_log_in_progress(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_application_1792000000000_0009"
    folder.mkdir()
    lines = spark_lines(ended=False)
    name = "application_1792000000000_0009"
    (folder / f"events_10_{name}").write_text("\n".join(lines[6:]) + "\n")
    (folder / f"events_2_{name}").write_text("\n".join(lines[:6]) + "\n")
    (folder / f"appstatus_{name}.inprogress").touch()
    job = parse_event_log(folder)
    assert len(job.tasks) == 4
    assert job.status == "UNFINISHED"
    assert "in progress" in job.notes[0]


def test_a_log_without_cpu_times_has_none(tmp_path: Path) -> None:
    """Spark before 2.1."""
    file = tmp_path / "application_1792000000000_0009"
    file.write_bytes(TEXT.replace(b'"Executor CPU Time": 500000000, ', b""))
    job = parse_event_log(file)
    assert "cpu_s" not in job.counters and job.counters["gc_s"] == 0.04
    assert [task["cpu_time"] for task in job.tasks] == [None] * 4


def test_the_last_attempt_of_an_application_counts(tmp_path: Path) -> None:
    jobs = []
    for attempt, tasks, ended in ((1, 6, False), (2, 3, True), (2, 4, True)):
        lines = spark_lines(tasks, ended)
        lines[1] = json.dumps(json.loads(lines[1]) | {"App Attempt ID": str(attempt)})
        file = tmp_path / f"application_1792000000000_0009_{attempt}_{tasks}"
        file.write_text("\n".join(lines) + "\n")
        jobs.append(parse_event_log(file))
    assert [job.attempt for job in jobs] == [1, 2, 2]
    for order in (jobs, jobs[::-1]):
        (job,) = unique_jobs(order).values()
        assert (job.status, len(job.tasks)) == ("SUCCEEDED", 4)
        (trial,) = build(order, ["logs"]).trials
        assert trial.verdict.valid
    store(jobs, build(jobs, ["logs"]), tmp_path / "results", None)
    results = read_results(tmp_path / "results")
    tasks_file = results.tasks_path(results.trials[0])
    assert tasks_file is not None and pq.read_table(tasks_file).num_rows == 4


def test_what_is_no_application(tmp_path: Path) -> None:
    file = tmp_path / "application_1_1"
    for text in ("", "{}\n", '{"Event": "SparkListenerLogStart", "Spark Version": "1"}\n', "\n\n"):
        file.write_text(text)
        with pytest.raises(UnreadableJobError):
            parse_event_log(file)
    (tmp_path / "eventlog_v2_x").mkdir()
    with pytest.raises(UnreadableJobError, match="without events"):
        parse_event_log(tmp_path / "eventlog_v2_x")


MAGIC = [b"", b"LZ4Block", b"\x82SNAPPY\x00", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"]


@given(st.binary(max_size=300), st.sampled_from(MAGIC))
def test_any_bytes_are_a_status(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, magic: bytes
) -> None:
    file = tmp_path_factory.mktemp("log") / "application_1_1"
    file.write_bytes(magic + data)
    with pytest.raises(UnreadableJobError):
        parse_event_log(file)
