"""A job out of the history server: times, counters, what is missing or late."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from tests.support.jhist import BEGAN, COUNTERS, JHIST, JOB, JOB_ID, server
from windtunnel.engines.hadoop import history
from windtunnel.errors import TrialInvalidError


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


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
    with pytest.raises(TrialInvalidError, match=f"did not report {JOB_ID}"):
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
    jhist: bytes | None, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_WAIT_S", 1.0)  # how long it is looked for
    run = server({"job": JOB}, COUNTERS, jhist).collect("p", JOB_ID, 1)

    assert len(run.tasks) == tasks
    assert run.phase.elapsed_s == 10.0
