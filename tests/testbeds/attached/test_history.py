"""Task attempts from the REST interface, where the history file is not readable."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import pytest

from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.web import Through
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host
from windtunnel.testbeds.attached import history

JOB = "job_1700000000000_0001"
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
    """A history server with one job of ``tasks`` maps."""

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks

    def close(self) -> None:
        """Nothing."""

    def get(self, url: str, **_: Any) -> httpx.Response:
        path = urlsplit(url).path.partition(JOB)[2]
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
                "nodeHttpAddress": "worker:8042",
            }
            return {"taskAttempts": {"taskAttempt": [attempt]}}
        return {"jobTaskAttemptCounters": {}}


@pytest.mark.parametrize(("tasks", "said"), [(3, []), (5, ["the others (2) were not requested"])])
def test_tasks_that_were_not_requested_are_noted(
    tasks: int, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_MOST_TASKS", 3)
    one = history.AttachedHistory(
        Through("http://h:1", cast(httpx.Client, Server(tasks))),
        cast(WebHdfs, Unreadable()),
        cast(Host, SimpleNamespace()),
        ("/new", "/done"),
        "ann",
    )
    run = one.collect("teragen", JOB, 10.0)
    assert len(run.tasks) == 3
    assert [note.rpartition("; ")[2] for note in run.notes] == said
