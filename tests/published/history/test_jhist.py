"""``.jhist`` files: text, binary, truncated, of foreign versions, and any bytes at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.history_files import binary_jhist, configuration, encoded, jhist, job_lines
from tests.support.jhist import BEGAN, event
from windtunnel.published.history.avro import Decoder, TruncatedError
from windtunnel.published.history.build import build
from windtunnel.published.history.jhist import parse_jhist, parse_job_settings
from windtunnel.published.history.job import UnreadableJobError, pattern_of

LINES = job_lines(3, 0, 20_000)


@pytest.mark.parametrize("data", [jhist(LINES), binary_jhist(LINES)], ids=["text", "binary"])
def test_both_forms_hold_the_same_job(data: bytes) -> None:
    job = parse_jhist(data, "file", {"mapreduce.task.io.sort.mb": "100", "a.password": "x"})
    assert (job.id, job.name, job.user, job.queue) == (
        "job_1792000000000_0003",
        "etl 7",
        "ann",
        "etl",
    )
    assert job.status == "SUCCEEDED" and job.succeeded
    assert job.submitted_at == BEGAN / 1e3 - 0.5
    assert (job.started_at, job.elapsed_s) == (BEGAN / 1e3, 20.0)
    assert (job.maps, job.reduces, len(job.tasks)) == (2, 1, 3)
    assert job.tasks[0]["cpu_time"] == 5.0
    assert job.counters["org.apache.hadoop.mapreduce.TaskCounter:SPILLED_RECORDS"] == 40
    assert job.settings == {"mapreduce.task.io.sort.mb": "100"}
    assert job.pattern == "etl # (ann, etl)"
    assert job.notes == []


@pytest.mark.parametrize("data", [jhist(LINES), binary_jhist(LINES)], ids=["text", "binary"])
def test_a_truncated_file_is_a_status_or_the_whole_job(data: bytes) -> None:
    for size in range(0, len(data) - 1, 7):
        with pytest.raises(UnreadableJobError):
            parse_jhist(data[:size], "file")


@given(st.binary(max_size=400))
def test_any_bytes_are_a_status(data: bytes) -> None:
    for head in (b"", b"Avro-Json\n", b"Avro-Binary\n"):
        with pytest.raises(UnreadableJobError):
            parse_jhist(head + data, "file")


@given(st.data())
def test_a_changed_byte_never_breaks_the_reader(data: st.DataObject) -> None:
    whole = bytearray(binary_jhist(LINES))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse_jhist(bytes(whole), "file")
    except UnreadableJobError as error:
        assert str(error)


@given(st.integers(-(2**62), 2**62))
def test_numbers_of_avro(value: int) -> None:
    assert list(Decoder(encoded(value), "long").values()) == [value]


def test_simple_types_and_a_map_of_avro() -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "a", "type": {"type": "map", "values": "boolean"}},
            {"name": "b", "type": "double"},
            {"name": "c", "type": {"type": "fixed", "name": "f", "size": 2}},
            {"name": "d", "type": "bytes"},
        ],
    }
    body = encoded(1) + encoded(1) + b"k\x01" + encoded(0) + b"\x00" * 8 + b"xy" + encoded(1) + b"z"
    assert list(Decoder(body, schema).values()) == [
        {"a": {"k": True}, "b": 0.0, "c": b"xy", "d": b"z"}
    ]
    with pytest.raises(TruncatedError):
        list(Decoder(body[:-1], schema).values())


def test_a_job_without_an_end_and_one_of_a_foreign_version() -> None:
    with pytest.raises(UnreadableJobError, match="no end of the job after 8 events"):
        parse_jhist(jhist(LINES[:-1]), "file")
    with pytest.raises(UnreadableJobError, match="unknown version"):
        parse_jhist(b'Meta VERSION="1" .\nJob JOBID="job_2010"', "file")
    foreign = [line.replace("finishTime", "endTime") for line in LINES]
    with pytest.raises(UnreadableJobError, match="lacks a field"):
        parse_jhist(jhist(foreign), "file")


def test_a_job_that_ended_with_an_internal_error_has_an_end() -> None:
    end = event(
        "JOB_ERROR",
        "JobUnsuccessfulCompletion",
        jobid="job_1792000000000_0003",
        finishTime=BEGAN + 20_000,
        finishedMaps=2,
        finishedReduces=0,
        jobStatus="ERROR",
    )
    job = parse_jhist(jhist([*LINES[:-1], end]), "file")
    assert (job.status, job.succeeded, job.elapsed_s) == ("ERROR", False, 20.0)
    (trial,) = build([job], ["file"]).trials
    assert (trial.verdict.valid, trial.verdict.reason) == (False, "the job ended as ERROR")


@given(
    st.dictionaries(st.from_regex(r"[a-z.]{1,20}", fullmatch=True), st.text("abc 1/", max_size=9))
)
def test_settings_of_a_job(settings: dict[str, str]) -> None:
    found, mistake = parse_job_settings(configuration(settings))
    assert mistake == ""
    assert found == {name: value.strip() for name, value in settings.items()}


@given(st.binary(max_size=200))
def test_any_bytes_as_settings(data: bytes) -> None:
    parse_job_settings(b"<configuration>" + data)


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (b"not XML", "the settings"),
        (b"", "the settings"),
        (configuration({"a": "1"})[:-10], "the other settings"),
    ],
)
def test_a_damaged_file_of_settings_is_noted(data: bytes, left: str) -> None:
    _, mistake = parse_job_settings(data)
    assert mistake == f"is not XML (line 1): {left} of this job are unknown"


def test_patterns_of_names() -> None:
    assert pattern_of("load 2026-03-01") == pattern_of("load 2026-04-11") == "load #-#-#"
    assert pattern_of("q 0x1f") == "q #"
    assert pattern_of("") == "unnamed"
    assert "planted" not in pattern_of("sqoop --password=planted jdbc")
