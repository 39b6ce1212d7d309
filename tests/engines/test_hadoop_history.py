"""The job history: REST answers and ``.jhist`` texts as Hadoop 3.5 writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.engines.deployment import FileStatus
from windtunnel.engines.hadoop import history
from windtunnel.engines.hadoop.history import History, parse_attempts
from windtunnel.errors import TrialInvalidError

JOB_ID = "job_1792000000000_0001"
TASK = "org.apache.hadoop.mapreduce.TaskCounter"
PACKAGE = "org.apache.hadoop.mapreduce.jobhistory"
BEGAN = 1_792_000_000_000


def event(kind: str, record: str, **fields: Any) -> str:
    return json.dumps({"type": kind, "event": {f"{PACKAGE}.{record}": fields}})


def started(kind: str, number: int, at_ms: int, attempt: int = 0, **fields: Any) -> str:
    letter = "m" if kind == "MAP" else "r"
    task = f"task_1792000000000_0001_{letter}_{number:06d}"
    return event(
        f"{kind}_ATTEMPT_STARTED",
        "TaskAttemptStarted",
        taskid=task,
        taskType=kind,
        attemptId=f"{task.replace('task', 'attempt')}_{attempt}",
        startTime=BEGAN + at_ms,
        trackerName="worker-1",
        httpPort=20011,
        shufflePort=20012,
        containerId="container_1792000000000_0001_01_000002",
        **{"locality": {"string": "NODE_LOCAL"}, "avataar": {"string": "VIRGIN"}, **fields},
    )


def counted(**values: int) -> dict[str, Any]:
    """The counters of an attempt as they stand in its last event."""
    counts = [{"name": name, "displayName": name, "value": v} for name, v in values.items()]
    return {"name": "COUNTERS", "groups": [{"name": TASK, "displayName": "", "counts": counts}]}


def finished(kind: str, number: int, at_ms: int, attempt: int = 0, **fields: Any) -> str:
    letter = "m" if kind == "MAP" else "r"
    task = f"task_1792000000000_0001_{letter}_{number:06d}"
    return event(
        f"{kind}_ATTEMPT_FINISHED",
        "MapAttemptFinished" if kind == "MAP" else "ReduceAttemptFinished",
        taskid=task,
        attemptId=f"{task.replace('task', 'attempt')}_{attempt}",
        taskType=kind,
        taskStatus="SUCCEEDED",
        finishTime=BEGAN + at_ms,
        hostname="worker-1",
        port=20010,
        rackname="/default-rack",
        **fields,
    )


def failed(number: int, at_ms: int, status: str = "FAILED") -> str:
    task = f"task_1792000000000_0001_m_{number:06d}"
    return event(
        f"MAP_ATTEMPT_{status}",
        "TaskAttemptUnsuccessfulCompletion",
        taskid=task,
        taskType="MAP",
        attemptId=f"{task.replace('task', 'attempt')}_0",
        finishTime=BEGAN + at_ms,
        hostname="worker-2",
        status=status,
        error="a made-up error",
    )


REDUCE_TIMES = {"shuffleFinishTime": BEGAN + 6_000, "sortFinishTime": BEGAN + 6_500}
JHIST = "\n".join(
    [
        "Avro-Json",
        json.dumps({"type": "record", "name": "Event", "fields": []}),
        "",
        event("JOB_SUBMITTED", "JobSubmitted", jobid=JOB_ID, jobName="TeraSort"),
        started("MAP", 0, 1_000),
        started("MAP", 1, 1_000, locality=None),
        failed(1, 2_000),
        finished("MAP", 0, 3_000, mapFinishTime=BEGAN + 2_900),
        started("MAP", 1, 2_500, attempt=1, locality={"string": "RACK_LOCAL"}),
        finished("MAP", 1, 4_500, attempt=1),
        started("REDUCE", 0, 2_000, locality=None),
        finished("REDUCE", 0, 9_000, **REDUCE_TIMES),
        event("JOB_FINISHED", "JobFinished", jobid=JOB_ID, finishTime=BEGAN + 10_000),
        "",
    ]
)
JOB = {
    "id": JOB_ID,
    "state": "SUCCEEDED",
    "submitTime": BEGAN - 500,
    "startTime": BEGAN,
    "finishTime": BEGAN + 10_000,
    "failedMapAttempts": 1,
    "killedMapAttempts": 0,
    "failedReduceAttempts": 0,
    "killedReduceAttempts": 2,
}
# A list of one is written as the one: here a group, and the counter of another group.
COUNTERS: dict[str, Any] = {
    "jobCounters": {
        "id": JOB_ID,
        "counterGroup": [
            {
                "counterGroupName": TASK,
                "counter": [
                    {"name": "CPU_MILLISECONDS", "totalCounterValue": 4_200},
                    {"name": "SPILLED_RECORDS", "totalCounterValue": 2_000},
                ],
            },
            {
                "counterGroupName": "org.apache.hadoop.examples.terasort.TeraGen$Counters",
                "counter": {"name": "CHECKSUM", "totalCounterValue": -5},
            },
        ],
    }
}


class Files:
    """The history folders of HDFS, with one ``.jhist``."""

    def __init__(self, content: bytes | None) -> None:
        self.content = content
        self.day = "/tmp/hadoop-yarn/staging/history/done/2026/11/21/000000"

    def folders(self, path: str) -> list[str]:
        if path == self.day or not (self.day + "/").startswith(path + "/"):
            return []
        return [f"{path}/{self.day.removeprefix(path).split('/')[1]}"]

    def list_files(self, path: str) -> list[FileStatus]:
        names = [f"{JOB_ID}_conf.xml", f"{JOB_ID}-1792000000000-root-TeraSort-SUCCEEDED.jhist"]
        there = path == self.day and self.content is not None
        return [FileStatus(f"{path}/{name}", 1, 1) for name in names] if there else []

    def read(self, path: str, limit_bytes: int = 1 << 20) -> bytes:
        assert path.endswith(".jhist")
        assert self.content is not None
        return self.content[:limit_bytes]


def server(job: Any, counters: Any, jhist: bytes | None = JHIST.encode()) -> History:
    """A history server that gives fixed answers (a callable: one after the other)."""

    def answer(request: httpx.Request) -> httpx.Response:
        body = counters if request.url.path.endswith("/counters") else job
        body = next(body) if isinstance(body, Iterator) else body
        return body if isinstance(body, httpx.Response) else httpx.Response(200, json=body)

    made = History(("127.1.2.3", 20001), Files(jhist))  # type: ignore[arg-type]
    made.close()
    made._http = httpx.Client(transport=httpx.MockTransport(answer))
    return made


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history.time, "sleep", lambda seconds: None)


# -- a whole job -----------------------------------------------------------------------


def test_a_job_becomes_a_phase_with_times_counters_and_tasks() -> None:
    run = server({"job": JOB}, COUNTERS).collect("terasort", JOB_ID, wall_s=12.5)

    assert run.phase.elapsed_s == 10.0
    assert run.phase.started_at == BEGAN / 1e3
    assert run.phase.wall_s == 12.5
    metrics = {name: metric.value for name, metric in run.phase.metrics.items()}
    assert metrics["client_overhead"] == 2.0
    assert metrics["master_start"] == 0.5
    assert metrics["cpu_time"] == 4.2
    assert metrics["spilled_records"] == 2_000
    assert metrics["failed_attempts"] == 1
    assert metrics["killed_attempts"] == 2
    assert metrics["map_time"] == pytest.approx(2.0 + 2.0)
    assert metrics["shuffle_time"] == pytest.approx(4.0)
    assert metrics["merge_time"] == pytest.approx(0.5)
    assert metrics["reduce_time"] == pytest.approx(2.5)
    assert len(run.tasks) == 4


def test_a_list_of_one_that_is_written_as_the_one_is_read() -> None:
    only = COUNTERS["jobCounters"]["counterGroup"][1]
    run = server({"job": JOB}, {"jobCounters": {"counterGroup": only}}).collect("p", JOB_ID, 1)

    assert run.counters == {
        "org.apache.hadoop.examples.terasort.TeraGen$Counters:CHECKSUM": -5,
    }


@pytest.mark.parametrize("counters", [{}, {"jobCounters": {}}, {"jobCounters": {"id": JOB_ID}}])
def test_a_job_without_counters_is_an_invalid_trial(
    counters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_WAIT_S", 0.01)

    with pytest.raises(TrialInvalidError, match="no counters"):
        server({"job": JOB}, counters).collect("p", JOB_ID, 1)


def test_without_its_history_file_task_times_are_unknown_and_not_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history.History, "_history_file", lambda self, job_id: "")

    run = server({"job": JOB}, COUNTERS).collect("sort", JOB_ID, 1)

    assert "map_time" not in run.phase.metrics
    assert "speculative_attempts" not in run.phase.metrics
    assert run.notes == ["sort: no task times, the job's history file was not found"]


def test_a_job_that_is_not_there_yet_is_waited_for() -> None:
    answers = iter(
        [
            httpx.Response(404),
            httpx.Response(200, text="<html>starting</html>"),
            {"job": {**JOB, "finishTime": 0}},
            {"job": JOB},
        ]
    )
    assert server(answers, COUNTERS).collect("p", JOB_ID, 1).phase.elapsed_s == 10.0


def test_a_job_that_never_shows_up_is_an_invalid_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_WAIT_S", 0.01)
    with pytest.raises(TrialInvalidError, match=f"did not show {JOB_ID}"):
        server(httpx.Response(404), COUNTERS).collect("p", JOB_ID, 1)


@pytest.mark.parametrize(
    ("jhist", "tasks"),
    [
        (None, 0),
        (b"", 0),
        (b"Avro-Binary\n\x00\x9f\x92\xff\xfe\n{\x00\xc3\x28}\n5\nnull\n[1]\n", 0),
        (JHIST.encode()[: JHIST.index("JOB_FINISHED") - 40], 3),
    ],
    ids=["missing", "empty", "binary", "cut off"],
)
def test_a_history_file_that_is_missing_or_damaged_costs_only_task_rows(
    jhist: bytes | None, tasks: int
) -> None:
    run = server({"job": JOB}, COUNTERS, jhist).collect("p", JOB_ID, 1)

    assert len(run.tasks) == tasks
    assert run.phase.elapsed_s == 10.0


# -- attempts --------------------------------------------------------------------------


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
        "started_at": (BEGAN + 1_000) / 1e3,
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
