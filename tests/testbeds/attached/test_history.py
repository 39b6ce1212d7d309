"""Task attempts from the REST interface, where the history file is not readable."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.history_files import binary_jhist, jhist, job_lines
from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.web import Through
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host
from windtunnel.testbeds.attached import history

JOB = "job_1700000000000_0001"
LINES = job_lines(1, 1_000, 8_000)
COUNTERS = {
    "jobCounters": {
        "counterGroup": [
            {
                "counterGroupName": "org.apache.hadoop.mapreduce.TaskCounter",
                "counter": [{"name": "CPU_MILLISECONDS", "totalCounterValue": 1000}],
            }
        ]
    }
}


class Unreadable:
    """A file system that permits nothing."""

    def list_files(self, folder: str) -> list[Any]:
        raise DeploymentError("permission denied")


class Server:
    """A history server with one job of ``tasks`` maps; paths with ``fails`` have no answer."""

    def __init__(self, tasks: int, fails: str = "nothing") -> None:
        self.tasks = tasks
        self.fails = fails
        self.requests = 0

    def close(self) -> None:
        """Nothing."""

    def get(self, url: str, **_: Any) -> httpx.Response:
        path = urlsplit(url).path.partition(JOB)[2]
        self.requests += 1
        if self.fails in path:
            return httpx.Response(500)
        return httpx.Response(200, json=self._answer(path))

    def _answer(self, path: str) -> dict[str, Any]:
        if path == "":
            times = {"startTime": 1000, "finishTime": 9000, "submitTime": 500}
            return {"job": {**times, "mapsTotal": self.tasks, "reducesTotal": 0}}
        if path == "/counters":
            return COUNTERS
        if path == "/tasks":
            return {"tasks": {"task": [{"id": f"task_{n}"} for n in range(self.tasks)]}}
        if path.endswith("/attempts"):
            attempt = {
                "id": f"attempt_{path.split('/')[2]}_0",
                "type": "MAP",
                "state": "SUCCEEDED",
                "startTime": 1000,
                "finishTime": 2000,
                "assignedContainerId": "container_1",
                "nodeHttpAddress": "worker:8042",
            }
            return {"taskAttempts": {"taskAttempt": [attempt]}}
        return {"jobTaskAttemptCounters": {}}


class Readable:
    """A file system with the history file of the job."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def list_files(self, folder: str) -> list[Any]:
        return [SimpleNamespace(path=f"{folder}/{JOB}-1.jhist")]

    def read(self, path: str, limit_bytes: int) -> bytes:
        return self.data


def collected(server: Server, files: object = Unreadable()) -> JobRun:
    one = history.AttachedHistory(
        Through("http://h:1", cast(httpx.Client, server)),
        cast(WebHdfs, files),
        cast(Host, SimpleNamespace()),
        ("/new", "/done"),
        "ann",
    )
    return one.collect("teragen", JOB, 10.0)


def test_task_attempts_come_from_the_web_server() -> None:
    run = collected(Server(3))
    assert len(run.tasks) == 3 and run.notes == []
    assert run.phase.metrics["map_time"].value == 3.0


@pytest.mark.parametrize(
    ("tasks", "fails", "says"),
    [
        (4, "nothing", "it has 4 tasks (limit of the requests: 3)"),
        (3, "/tasks/task_1/attempts", "did not return /job_1700000000000_0001/tasks/task_1/"),
        (3, "attempt_task_2_0/counters", "attempt_task_2_0/counters"),
    ],
)
def test_a_part_of_the_task_attempts_is_not_recorded_as_all(
    tasks: int, fails: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_MOST_TASKS", 3)
    run = collected(Server(tasks, fails))
    assert run.tasks == []
    assert "map_time" not in run.phase.metrics
    (note,) = run.notes
    assert note.startswith("teragen: no task times, the job's history file is not readable, and ")
    assert says in note


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (binary_jhist(LINES), "the job's history file is in the binary form, and it has 4 tasks"),
        (jhist(LINES[:2]), "the job's history file has no task attempts, and it has 4 tasks"),
    ],
)
def test_a_file_that_is_readable_is_not_called_unreadable(
    data: bytes, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_MOST_TASKS", 3)
    (note,) = collected(Server(4), Readable(data)).notes
    assert says in note


def test_a_history_file_in_json_needs_no_requests_for_its_tasks() -> None:
    server = Server(4)
    run = collected(server, Readable(jhist(LINES)))
    assert len(run.tasks) == 3 and run.notes == []
    assert server.requests == 2


def test_the_requests_for_task_attempts_have_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_LIMIT_S", -1.0)
    server = Server(1000)
    (note,) = collected(server).notes
    assert "the requests took more than" in note
    assert server.requests == 2
