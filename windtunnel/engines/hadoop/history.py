"""What the job history knows of a finished job: phases, counters, task attempts.

Job and counters come from the history server's REST interface; the task attempts from
the job's ``.jhist`` file in HDFS (one read instead of one request a task).
Sources: MapReduce History Server REST API's, Apache Hadoop documentation; the events'
schema stands at the head of each ``.jhist`` file.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.attempts import parse_attempts
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.web import http_client
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host
from windtunnel.results.record import Metric, Phase

_TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_JOB = "org.apache.hadoop.mapreduce.JobCounter"
_FILES = "org.apache.hadoop.mapreduce.FileSystemCounter"

# metric -> counter, unit, factor
_COUNTERS: dict[str, tuple[str, str, float]] = {
    "cpu_time": (f"{_TASK}:CPU_MILLISECONDS", "s", 1e-3),
    "gc_time": (f"{_TASK}:GC_TIME_MILLIS", "s", 1e-3),
    "hdfs_bytes_read": (f"{_FILES}:HDFS_BYTES_READ", "bytes", 1),
    "hdfs_bytes_written": (f"{_FILES}:HDFS_BYTES_WRITTEN", "bytes", 1),
    "file_bytes_read": (f"{_FILES}:FILE_BYTES_READ", "bytes", 1),
    "file_bytes_written": (f"{_FILES}:FILE_BYTES_WRITTEN", "bytes", 1),
    "spilled_records": (f"{_TASK}:SPILLED_RECORDS", "count", 1),
    "map_input_records": (f"{_TASK}:MAP_INPUT_RECORDS", "count", 1),
    "map_output_records": (f"{_TASK}:MAP_OUTPUT_RECORDS", "count", 1),
    "map_output_bytes": (f"{_TASK}:MAP_OUTPUT_BYTES", "bytes", 1),
    "reduce_input_records": (f"{_TASK}:REDUCE_INPUT_RECORDS", "count", 1),
    "reduce_output_records": (f"{_TASK}:REDUCE_OUTPUT_RECORDS", "count", 1),
    "reduce_shuffle_bytes": (f"{_TASK}:REDUCE_SHUFFLE_BYTES", "bytes", 1),
    "merged_map_outputs": (f"{_TASK}:MERGED_MAP_OUTPUTS", "count", 1),
    "maps": (f"{_JOB}:TOTAL_LAUNCHED_MAPS", "count", 1),
    "reduces": (f"{_JOB}:TOTAL_LAUNCHED_REDUCES", "count", 1),
    "data_local_maps": (f"{_JOB}:DATA_LOCAL_MAPS", "count", 1),
    "rack_local_maps": (f"{_JOB}:RACK_LOCAL_MAPS", "count", 1),
    "other_local_maps": (f"{_JOB}:OTHER_LOCAL_MAPS", "count", 1),
}
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
        A host of the deployment, whose network requests come from.
    folder:
        Where in it: the part of the path that all history files share.
    check_alive:
        Called while waiting; raises if a daemon has died.
    """

    def __init__(
        self,
        address: tuple[str, int],
        files: WebHdfs,
        host: Host,
        folder: str = HISTORY_FOLDER,
        check_alive: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = folder
        self._check_alive = check_alive
        self._base = f"http://{address[0]}:{address[1]}/ws/v1/history/mapreduce/jobs"
        self._files = files
        self._http = http_client(host.open_socket, _TIMEOUT_S)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def collect(self, phase: str, job_id: str, wall_s: float) -> JobRun:
        """Everything about one finished job, as one timed phase.

        Parameters
        ----------
        wall_s:
            Seconds from the client's start to its end, as the caller saw them.

        Raises
        ------
        TrialInvalidError
            If the history server does not show the job within 30 s.
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
        raise TrialInvalidError(f"the history server gave no counters of {job_id}")

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
        raise TrialInvalidError(f"the history server did not show {job_id} within {_WAIT_S:.0f} s")

    def _get(self, path: str) -> dict[str, Any]:
        import httpx

        try:
            answer = self._http.get(self._base + path, headers={"Accept": "application/json"})
            found: dict[str, Any] = answer.json() if answer.is_success else {}
        except (httpx.HTTPError, ValueError):
            return {}
        return found

    def _attempts(self, job_id: str, phase: str) -> Iterator[dict[str, Any]]:
        text = self._history_file(job_id)
        return parse_attempts(text, phase) if text else iter(())

    def _history_file(self, job_id: str) -> str:
        """Text of the job's ``.jhist``, from wherever the history server has put it by now.

        It may be moved between looking and reading, from the folder of fresh files to the
        folder of the day; then it is looked for again.
        """
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            found = self._find(job_id, self._folder, depth=6)
            if found:
                with contextlib.suppress(DeploymentError):
                    return self._files.read(found, limit_bytes=1 << 30).decode(errors="replace")
            self._pause()
        return ""

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
    """``GROUP:NAME`` -> total, from the REST answer."""
    flat = {}
    for group in _many(counters.get("counterGroup")):
        for counter in _many(group.get("counter")):
            key = f"{group['counterGroupName']}:{counter['name']}"
            flat[key] = int(counter["totalCounterValue"])
    return flat


def _many(value: Any) -> list[dict[str, Any]]:
    """A list; the history server writes a list of one as the one."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _metrics(
    counters: Mapping[str, int],
    tasks: list[dict[str, Any]],
    job: Mapping[str, Any],
    wall_s: float,
) -> dict[str, Metric]:
    metrics = {
        name: Metric(value=counters[key] * factor, unit=unit)
        for name, (key, unit, factor) in _COUNTERS.items()
        if key in counters
    }
    submitted = job.get("submitTime") or job["startTime"]
    seen_s = (job["finishTime"] - submitted) / 1e3
    metrics["client_overhead"] = Metric(value=max(0.0, wall_s - seen_s), unit="s")
    metrics["master_start"] = Metric(value=(job["startTime"] - submitted) / 1e3, unit="s")
    for name, key in (("failed_attempts", "failed"), ("killed_attempts", "killed")):
        count = job.get(f"{key}MapAttempts", 0) + job.get(f"{key}ReduceAttempts", 0)
        metrics[name] = Metric(value=count, unit="count")
    if tasks:  # else unknown, which is not 0
        metrics["speculative_attempts"] = Metric(value=_speculative(tasks), unit="count")
        for name, seconds in _task_times(tasks).items():
            metrics[name] = Metric(value=seconds, unit="s")
        for kind, name in (("MAP", "map_spilled_records"), ("REDUCE", "reduce_spilled_records")):
            spilled = _spilled(tasks, kind)
            if spilled is not None:
                metrics[name] = Metric(value=spilled, unit="count")
    return metrics


def _spilled(tasks: list[dict[str, Any]], kind: str) -> float | None:
    """Records that the tasks of a kind wrote to disk, each time counted; None if not all tell."""
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


def _task_times(tasks: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds summed over the successful attempts of each kind of work."""
    totals = {"map_time": 0.0, "shuffle_time": 0.0, "merge_time": 0.0, "reduce_time": 0.0}
    for row in tasks:
        if row["status"] != "SUCCEEDED":
            continue
        began, ended = row["started_at"], row["finished_at"]
        if row["type"] == "MAP":
            totals["map_time"] += _between(began, ended)
        else:
            shuffled, merged = row["shuffle_finished_at"], row["sort_finished_at"]
            totals["shuffle_time"] += _between(began, shuffled)
            totals["merge_time"] += _between(shuffled, merged)
            totals["reduce_time"] += _between(merged, ended)
    return totals


def _between(start: float | None, end: float | None) -> float:
    """Seconds between two instants; none where one of them is not in the history."""
    return 0.0 if start is None or end is None else end - start
