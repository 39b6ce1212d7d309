"""The history of finished jobs on an existing cluster.

The history server knows all jobs. The history file of a job is readable for its user until the
history server moves it, so it is searched in the two folders where it can be, and nowhere else.
If it is not readable, or not in JSON, the task attempts come from the REST interface, with one
request per task and one per attempt, without their locality. They are complete or absent: sums
over a part of the tasks would look like those of the job.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.attempts import BINARY, attempt_from_rest
from windtunnel.engines.hadoop.history import History, many
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.web import Through
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host

_MOST_TASKS = 5000
_NOT_READABLE = "is not readable"
_LIMIT_S = 120.0  # of all requests for the attempts of a job
_JOB = re.compile(r"job_\d+_(\d+)")


class _UnreadError(Exception):
    """Task attempts were not read completely, with the reason."""


class AttachedHistory(History):
    """Client of the history server of an existing cluster.

    Parameters
    ----------
    folders:
        The folder of new history files, and that of the others.
    user:
        The user of the jobs.
    """

    def __init__(
        self,
        through: Through,
        files: WebHdfs,
        host: Host,
        folders: tuple[str, str],
        user: str,
    ) -> None:
        super().__init__(("", 0), files, host, through=through)
        self._new, self._done = folders
        self._user = user
        self._unread: dict[str, str] = {}  # id of a job -> why its task attempts are unknown
        self._file: dict[str, str] = {}  # id of a job -> the state of its history file

    def collect(self, phase: str, job_id: str, wall_s: float) -> JobRun:
        """As of every history server; the reason is noted if the task attempts are unknown."""
        run = super().collect(phase, job_id, wall_s)
        reason, file = self._unread.pop(job_id, ""), self._file.pop(job_id, _NOT_READABLE)
        if not reason:
            return run
        note = f"{phase}: no task times, the job's history file {file}, and {reason}"
        return replace(run, notes=[note])

    def _attempts(self, job_id: str, phase: str) -> Iterator[dict[str, Any]]:
        rows = list(super()._attempts(job_id, phase))
        try:
            yield from rows or list(self._by_rest(job_id, phase))
        except _UnreadError as error:
            self._unread[job_id] = str(error)

    def _by_rest(self, job_id: str, phase: str) -> Iterator[dict[str, Any]]:
        """All task attempts; raises _UnreadError if one of them cannot be read in time."""
        deadline = time.monotonic() + _LIMIT_S
        tasks = many(self._part(f"/{job_id}/tasks", "tasks", deadline).get("task"))
        if len(tasks) > _MOST_TASKS:
            raise _UnreadError(f"it has {len(tasks)} tasks (limit of the requests: {_MOST_TASKS})")
        for task in tasks:
            lead = f"/{job_id}/tasks/{task['id']}/attempts"
            for attempt in many(self._part(lead, "taskAttempts", deadline).get("taskAttempt")):
                path = f"{lead}/{attempt['id']}/counters"
                counters = self._part(path, "jobTaskAttemptCounters", deadline)
                yield attempt_from_rest(attempt, task["id"], phase, _counters(counters))

    def _part(self, path: str, key: str, deadline_s: float) -> dict[str, Any]:
        """The object with a key in an answer; raises _UnreadError without an answer."""
        if time.monotonic() > deadline_s:
            raise _UnreadError(f"the requests took more than {_LIMIT_S:.0f} s")
        found = self._answer(path)
        if found is None:
            raise _UnreadError(f"the history server did not return {path}")
        return found.get(key) or {}

    def _history_file(self, job_id: str) -> str:
        """Text of the job's ``.jhist`` if it is readable now; empty otherwise."""
        found = self._search(job_id)
        if found is None:
            return ""
        try:
            data = self._files.read(found, limit_bytes=1 << 30)
        except DeploymentError:  # moved meanwhile
            return ""
        binary = data.startswith(BINARY)
        self._file[job_id] = "is in the binary form" if binary else "has no task attempts"
        return data.decode(errors="replace")

    def _search(self, job_id: str) -> str | None:
        found = _JOB.fullmatch(job_id)
        serial = f"{int(found[1]):09d}"[:6] if found else "000000"
        today = time.strftime("%Y/%m/%d")
        for folder in (f"{self._new}/{self._user}", f"{self._done}/{today}/{serial}"):
            try:
                hit = self._find(job_id, folder, depth=0)
            except DeploymentError:  # no permission: the history server has moved the file
                continue
            if hit:
                return hit
        return None


def _counters(found: Mapping[str, Any]) -> dict[str, float]:
    """The counters of an attempt by name, from the REST response."""
    groups = many(found.get("taskAttemptCounterGroup"))
    return {
        counter["name"]: float(counter["value"])
        for group in groups
        for counter in many(group.get("counter"))
    }
