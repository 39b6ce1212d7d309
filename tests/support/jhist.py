"""A history server with fixed answers, and ``.jhist`` texts as Hadoop 3.5 writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx

from tests.support.hosts import host
from windtunnel.engines.deployment import FileStatus
from windtunnel.engines.hadoop.history import History

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

    made = History(("127.1.2.3", 20001), Files(jhist), host())  # type: ignore[arg-type]
    made.close()
    made._http = httpx.Client(transport=httpx.MockTransport(answer))
    return made
