"""The history of finished jobs on an existing cluster.

The history server knows all jobs. The history file of a job is readable for its user until the
history server moves it, so it is searched in the two folders where it can be, and nowhere else.
If it is not readable, the task attempts come from the REST interface, with two requests per task
and one per attempt, without their locality.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.attempts import attempt_from_rest
from windtunnel.engines.hadoop.history import History, many
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.web import Through
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host

_MOST_TASKS = 5000
_JOB = re.compile(r"job_\d+_(\d+)")


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
        self._unread = 0  # tasks of the job that is collected

    def collect(self, phase: str, job_id: str, wall_s: float) -> JobRun:
        """As of every history server; tasks that were not read are noted."""
        self._unread = 0
        run = super().collect(phase, job_id, wall_s)
        if not self._unread:
            return run
        note = (
            f"{phase}: the history file is not readable, so that the task attempts are those of "
            f"{_MOST_TASKS} tasks; the others ({self._unread}) were not requested"
        )
        return replace(run, notes=[*run.notes, note])

    def _attempts(self, job_id: str, phase: str) -> Iterator[dict[str, Any]]:
        rows = list(super()._attempts(job_id, phase))
        yield from rows or self._by_rest(job_id, phase)

    def _by_rest(self, job_id: str, phase: str) -> Iterator[dict[str, Any]]:
        found = self._get(f"/{job_id}/tasks").get("tasks") or {}
        tasks = many(found.get("task"))
        self._unread = len(tasks[_MOST_TASKS:])
        for task in tasks[:_MOST_TASKS]:
            lead = f"/{job_id}/tasks/{task['id']}/attempts"
            attempts = self._get(lead).get("taskAttempts") or {}
            for attempt in many(attempts.get("taskAttempt")):
                counters = self._get(f"{lead}/{attempt['id']}/counters")
                named = _counters(counters.get("jobTaskAttemptCounters") or {})
                yield attempt_from_rest(attempt, task["id"], phase, named)

    def _history_file(self, job_id: str) -> str:
        """Text of the job's ``.jhist`` if it is readable now; empty otherwise."""
        found = self._search(job_id)
        if found is not None:
            with contextlib.suppress(DeploymentError):  # moved meanwhile
                return self._files.read(found, limit_bytes=1 << 30).decode(errors="replace")
        return ""

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
