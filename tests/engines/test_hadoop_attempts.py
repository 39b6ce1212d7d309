"""Task attempts out of ``.jhist`` texts, whole and damaged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.jhist import (
    BEGAN,
    COUNTERS,
    JHIST,
    JOB,
    JOB_ID,
    PACKAGE,
    counted,
    event,
    failed,
    finished,
    server,
    started,
)
from windtunnel.engines.hadoop.attempts import parse_attempts


def test_attempts_have_host_times_status_and_locality() -> None:
    first, second, third, fourth = sorted(
        parse_attempts(JHIST, "terasort"), key=lambda row: row["attempt"]
    )

    counters = ("input_records", "input_bytes", "output_records", "output_bytes", "cpu_time")
    assert first == {
        "phase": "terasort",
        "task": "task_1792000000000_0001_m_000000",
        "attempt": "attempt_1792000000000_0001_m_000000_0",
        "type": "MAP",
        "status": "SUCCEEDED",
        "host": "worker-1",
        "container": "container_1792000000000_0001_01_000002",
        "started_at": (BEGAN + 1_000) / 1e3,
        "work_started_at": None,
        "finished_at": (BEGAN + 3_000) / 1e3,
        "shuffle_finished_at": None,
        "map_finished_at": (BEGAN + 2_900) / 1e3,
        "sort_finished_at": None,
        "locality": "NODE_LOCAL",
        "speculative": False,
        **dict.fromkeys((*counters, "spilled_records", "gc_time")),
    }
    assert (second["status"], second["host"], second["locality"]) == ("FAILED", "worker-2", None)
    assert (third["status"], third["locality"]) == ("SUCCEEDED", "RACK_LOCAL")
    assert fourth["type"] == "REDUCE"
    assert fourth["sort_finished_at"] == (BEGAN + 6_500) / 1e3


def test_what_each_attempt_counted_is_read() -> None:
    union = {f"{PACKAGE}.JhCounters": counted(SPILLED_RECORDS=7)}
    rows = [
        finished("MAP", 0, 900, counters=counted(SPILLED_RECORDS=1280, MAP_OUTPUT_RECORDS=320)),
        started("MAP", 1, 0, avataar={"string": "SPECULATIVE"}),
        event(
            "MAP_ATTEMPT_KILLED",
            "TaskAttemptUnsuccessfulCompletion",
            taskid="task_1792000000000_0001_m_000001",
            attemptId="attempt_1792000000000_0001_m_000001_0",
            finishTime=BEGAN,
            status="KILLED",
            counters=union,
        ),
        finished("REDUCE", 0, 900, counters=counted(REDUCE_SHUFFLE_BYTES=5, GC_TIME_MILLIS=40)),
    ]
    one, two, three = parse_attempts("\n".join(rows), "sort")

    assert (one["spilled_records"], one["output_records"], one["speculative"]) == (1280, 320, None)
    assert (two["spilled_records"], two["speculative"]) == (7, True)
    assert (three["input_bytes"], three["gc_time"], three["spilled_records"]) == (5, 0.04, None)


def test_spills_of_maps_and_of_reduces_are_told_apart() -> None:
    rows = [
        finished("MAP", 0, 900, counters=counted(SPILLED_RECORDS=1280)),
        finished("MAP", 1, 900, counters=counted(SPILLED_RECORDS=20)),
        finished("REDUCE", 0, 900, counters=counted(GC_TIME_MILLIS=40)),
    ]
    run = server({"job": JOB}, COUNTERS, "\n".join(rows).encode()).collect("p", JOB_ID, 1)

    assert run.phase.metrics["map_spilled_records"].value == 1300
    assert "reduce_spilled_records" not in run.phase.metrics, "unknown, not 0"


@pytest.mark.parametrize(
    "counters",
    [None, 5, {}, {"x": None}, {"groups": 5}, {"groups": [5, {"counts": [None, {"name": 1}]}]}],
)
def test_counters_of_an_attempt_that_are_damaged_are_unknown(counters: Any) -> None:
    (row,) = parse_attempts(finished("MAP", 0, 900, counters=counters), "p")

    assert row["spilled_records"] is None


def test_attempts_that_overlap_on_one_task_are_speculative() -> None:
    rows = [
        started("MAP", 0, 0),
        started("MAP", 0, 500, attempt=1),
        finished("MAP", 0, 900, attempt=1),
        failed(0, 950, status="KILLED"),
        started("MAP", 1, 0),
        finished("MAP", 1, 100),
        started("MAP", 1, 200, attempt=1),  # after the first had ended: a retry
        finished("MAP", 1, 300, attempt=1),
    ]
    run = server({"job": JOB}, COUNTERS, "\n".join(rows).encode()).collect("p", JOB_ID, 1)

    assert run.phase.metrics["speculative_attempts"].value == 1


@pytest.mark.parametrize(
    "rows",
    [
        [finished("MAP", 0, 900)],
        [finished("REDUCE", 0, 900)],
        [started("REDUCE", 0, 1), finished("REDUCE", 0, 900, shuffleFinishTime=None)],
        ['{"type": "MAP_ATTEMPT_FINISHED", "event": {}}'],
        ['{"type": "MAP_ATTEMPT_FINISHED", "event": {"x": {}}}'],
        ['{"type": "MAP_ATTEMPT_FINISHED", "event": {"x": 5}}'],
        ['{"type": "MAP_ATTEMPT_STARTED", "event": {"x": []}}'],
        ['{"type": ["MAP_ATTEMPT_STARTED"], "event": {"x": {}}}'],
    ],
)
def test_events_that_lack_something_do_not_break_the_record(rows: list[str]) -> None:
    run = server({"job": JOB}, COUNTERS, "\n".join(rows).encode()).collect("p", JOB_ID, 1)

    assert run.phase.elapsed_s == 10.0


@given(cut=st.integers(0, len(JHIST)))
def test_a_file_that_is_cut_off_anywhere_gives_the_attempts_before_the_cut(cut: int) -> None:
    whole = list(parse_attempts(JHIST, "p"))
    rows = list(parse_attempts(JHIST[:cut], "p"))

    assert rows == whole[: len(rows)]


@given(text=st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    assert list(parse_attempts(text, "p")) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)
KINDS = st.sampled_from(["MAP_ATTEMPT_STARTED", "MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_FAILED"])
FIELDS = st.dictionaries(st.sampled_from(["attemptId", "taskid", "finishTime", "locality"]), JSON)


@given(kind=KINDS, fields=FIELDS)
def test_no_event_breaks_the_parser(kind: str, fields: dict[str, Any]) -> None:
    list(parse_attempts(event(kind, "Whatever", **fields), "p"))


def test_an_attempt_that_was_killed_before_it_was_placed_ran_nowhere() -> None:
    attempt = "attempt_1_0001_r_000000_0"
    start = {"attemptId": attempt, "startTime": 5000, "trackerName": "UNKNOWN"}
    end = {
        "attemptId": attempt,
        "taskid": "task_1_0001_r_000000",
        "status": "KILLED",
        "hostname": "UNKNOWN",
        "finishTime": 6000,
    }
    events = [
        {"type": "REDUCE_ATTEMPT_STARTED", "event": {"started": start}},
        {"type": "REDUCE_ATTEMPT_KILLED", "event": {"ended": end}},
    ]

    (row,) = parse_attempts("\n".join(json.dumps(event) for event in events), "sort")

    assert (row["host"], row["started_at"], row["status"]) == ("", None, "KILLED")
