"""The job history of a finished job: phases, counters, task attempts.

Job and counters come from the history server's REST interface; the task attempts come from
the job's ``.jhist`` file in HDFS (one read instead of one request per task).
Sources: MapReduce History Server REST API's, Apache Hadoop documentation; each ``.jhist``
file begins with the schema of its events.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.attempts import parse_attempts
from windtunnel.engines.hadoop.job_counters import (
    COUNTERS,
    KILLED_ATTEMPTS,
    MAP_SPILLED,
    MASTER_START,
    MERGE_TIME,
    REDUCE_SPILLED,
    SHUFFLE_TIME,
    SPECULATIVE_ATTEMPTS,
)
from windtunnel.engines.hadoop.start_up import ContainerLogs, start_metrics
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.job_metrics import (
    CLIENT_OVERHEAD,
    FAILED_ATTEMPTS,
    MAP_TIME,
    REDUCE_TIME,
)
from windtunnel.engines.web import Through, http_client
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host
from windtunnel.results.metrics import MetricInfo, numbers
from windtunnel.results.record import Metric, Phase

_WAIT_S = 30.0
_TIMEOUT_S = 10.0
HISTORY_FOLDER = "/tmp/hadoop-yarn/staging/history"


class History:
    """Client of one history server.

    Parameters
    ----------
    address:
        IP address and port of the history server's web server.
    files:
        The file system that holds the history files.
    host:
        A host of the deployment; requests are sent from its network.
    folder:
        The common parent folder of all history files.
    check_alive:
        Called while waiting; raises if a daemon has died.
    logs:
        The logs of the containers; without them, the start-up of tasks is unknown.
    through:
        The connections of the requests; None for those of the host.
    """

    def __init__(
        self,
        address: tuple[str, int],
        files: WebHdfs,
        host: Host,
        folder: str = HISTORY_FOLDER,
        check_alive: Callable[[], None] = lambda: None,
        logs: ContainerLogs | None = None,
        through: Through | None = None,
    ) -> None:
        self._logs = logs
        self._folder = folder
        self._check_alive = check_alive
        server = through or Through(
            f"http://{address[0]}:{address[1]}", http_client(host.open_socket, _TIMEOUT_S)
        )
        self._base = f"{server.url}/ws/v1/history/mapreduce/jobs"
        self._files = files
        self._http = server.http

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def collect(self, phase: str, job_id: str, wall_s: float) -> JobRun:
        """All data about one finished job, as one timed phase.

        Parameters
        ----------
        wall_s:
            Seconds from the client's start to its end, as the caller measured them.

        Raises
        ------
        TrialInvalidError
            If the history server does not report the job within 30 s.
        """
        job = self._wait_for(job_id)
        counters = self._counters(job_id)
        tasks = list(self._attempts(job_id, phase))
        notes = [] if tasks else [f"{phase}: no task times, the job's history file was not found"]
        started, finished = job["startTime"] / 1e3, job["finishTime"] / 1e3
        record = Phase(
            name=phase,
            job_id=job_id,
            started_at=started,
            finished_at=finished,
            elapsed_s=finished - started,
            wall_s=wall_s,
            metrics=_metrics(counters, tasks, job, wall_s),
        )
        return JobRun(phase=record, counters=counters, tasks=tasks, notes=notes)

    def _counters(self, job_id: str) -> dict[str, int]:
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            counters = _flatten(self._get(f"/{job_id}/counters").get("jobCounters", {}))
            if counters:
                return counters
            self._pause()
        raise TrialInvalidError(f"the history server returned no counters of {job_id}")

    def _pause(self) -> None:
        self._check_alive()
        time.sleep(0.2)

    def _wait_for(self, job_id: str) -> dict[str, Any]:
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            job: dict[str, Any] = self._get(f"/{job_id}").get("job", {})
            if job.get("finishTime"):
                return job
            self._pause()
        raise TrialInvalidError(
            f"the history server did not report {job_id} within {_WAIT_S:.0f} s"
        )

    def _get(self, path: str) -> dict[str, Any]:
        """The JSON object at a path; empty without a usable answer."""
        return self._answer(path) or {}

    def _answer(self, path: str) -> dict[str, Any] | None:
        """The JSON object at a path; None without a usable answer."""
        import httpx

        try:
            answer = self._http.get(self._base + path, headers={"Accept": "application/json"})
            found: dict[str, Any] | None = answer.json() if answer.is_success else None
        except (httpx.HTTPError, ValueError):
            return None
        return found

    def _attempts(self, job_id: str, phase: str) -> Iterator[dict[str, Any]]:
        text = self._history_file(job_id)
        for row in parse_attempts(text, phase) if text else ():
            if self._logs and row["container"]:
                launched_at = row["started_at"] or 0.0
                row["work_started_at"] = self._logs.work_started_at(row["container"], launched_at)
            yield row

    def _history_file(self, job_id: str) -> str:
        """Text of the job's ``.jhist``, from its current folder.

        The history server may move the file between the search and the read, from the folder of
        new files to the folder of the day; then the search is repeated.
        """
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            found = self._search(job_id)
            if found:
                with contextlib.suppress(DeploymentError):
                    return self._files.read(found, limit_bytes=1 << 30).decode(errors="replace")
            self._pause()
        return ""

    def _search(self, job_id: str) -> str | None:
        """The path of the job's ``.jhist``; None if it is not there."""
        return self._find(job_id, self._folder, depth=6)

    def _find(self, job_id: str, folder: str, depth: int) -> str | None:
        for file in self._files.list_files(folder):
            name = file.path.rsplit("/", 1)[-1]
            if name.startswith(job_id) and name.endswith(".jhist"):
                return file.path
        below_here = self._files.folders(folder) if depth else []
        for below in reversed(below_here):
            hit = self._find(job_id, below, depth - 1)
            if hit:
                return hit
        return None


def _flatten(counters: Mapping[str, Any]) -> dict[str, int]:
    """``GROUP:NAME`` -> total, from the REST response."""
    flat = {}
    for group in many(counters.get("counterGroup")):
        for counter in many(group.get("counter")):
            key = f"{group['counterGroupName']}:{counter['name']}"
            flat[key] = int(counter["totalCounterValue"])
    return flat


def many(value: Any) -> list[dict[str, Any]]:
    """The value as a list; the history server writes a list of one item as the item."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _metrics(
    counters: Mapping[str, int],
    tasks: list[dict[str, Any]],
    job: Mapping[str, Any],
    wall_s: float,
) -> dict[str, Metric]:
    found: dict[MetricInfo, float | None] = {
        info: counters[key] * factor for info, (key, factor) in COUNTERS.items() if key in counters
    }
    submitted = job.get("submitTime") or job["startTime"]
    recorded_s = (job["finishTime"] - submitted) / 1e3
    found[CLIENT_OVERHEAD] = max(0.0, wall_s - recorded_s)
    found[MASTER_START] = (job["startTime"] - submitted) / 1e3
    for info, key in ((FAILED_ATTEMPTS, "failed"), (KILLED_ATTEMPTS, "killed")):
        found[info] = job.get(f"{key}MapAttempts", 0) + job.get(f"{key}ReduceAttempts", 0)
    if tasks:  # without tasks these are unknown, not 0
        found[SPECULATIVE_ATTEMPTS] = _speculative(tasks)
        found |= _task_times(tasks)
        found |= start_metrics(tasks)
        found[MAP_SPILLED] = _spilled(tasks, "MAP")
        found[REDUCE_SPILLED] = _spilled(tasks, "REDUCE")
    return numbers(found)


def _spilled(tasks: list[dict[str, Any]], kind: str) -> float | None:
    """Records that tasks of a kind spilled, counted each time; None if a task lacks the count."""
    done = [row for row in tasks if row["type"] == kind and row["status"] == "SUCCEEDED"]
    counts = [row["spilled_records"] for row in done if row["spilled_records"] is not None]
    return sum(counts) if counts and len(counts) == len(done) else None


def _speculative(tasks: list[dict[str, Any]]) -> int:
    """Attempts that ran while another attempt of the same task was still running."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for row in tasks:
        if row["started_at"] and row["finished_at"]:
            spans.setdefault(row["task"], []).append((row["started_at"], row["finished_at"]))
    count = 0
    for times in spans.values():
        times.sort()
        ends = [end for _, end in times]
        count += sum(times[i][0] < max(ends[:i]) for i in range(1, len(times)))
    return count


def _task_times(tasks: list[dict[str, Any]]) -> dict[MetricInfo, float]:
    """Seconds summed over the successful attempts of each kind of work."""
    totals = dict.fromkeys((MAP_TIME, SHUFFLE_TIME, MERGE_TIME, REDUCE_TIME), 0.0)
    for row in tasks:
        if row["status"] != "SUCCEEDED":
            continue
        began, ended = row["started_at"], row["finished_at"]
        if row["type"] == "MAP":
            totals[MAP_TIME] += _between(began, ended)
        else:
            shuffled, merged = row["shuffle_finished_at"], row["sort_finished_at"]
            totals[SHUFFLE_TIME] += _between(began, shuffled)
            totals[MERGE_TIME] += _between(shuffled, merged)
            totals[REDUCE_TIME] += _between(merged, ended)
    return totals


def _between(start: float | None, end: float | None) -> float:
    """Seconds between two instants; 0 if one of them is not in the history."""
    return 0.0 if start is None or end is None else end - start
