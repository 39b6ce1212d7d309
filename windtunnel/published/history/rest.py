"""Finished jobs from a history server, or from history files in HDFS, by REST.

Source: MapReduce History Server REST API's, WebHDFS REST API (Apache Hadoop documentation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest import RestClient
from windtunnel.published.history.job import ObservedJob, UnreadableJobError, lasting_settings

MOST_TASKS = 200
"""Jobs with more tasks are read without their attempts: each task is a request."""

_GONE = ("not found",)


def listed_jobs(
    client: RestClient, url: str, limit: int, begin_ms: int = 0
) -> list[dict[str, Any]]:
    """The newest jobs that a history server lists, the newest first. Raises ClusterAccessError.

    ``limit`` is not sent: the server would return the jobs with the lowest ids, the oldest ones.
    """
    params: dict[str, str | int | float] = {"startedTimeBegin": begin_ms} if begin_ms else {}
    found = client.get_json(f"{_base(url)}/jobs", params).get("jobs") or {}
    jobs = [job for job in _many(found.get("job")) if job.get("id")]
    return sorted(jobs, key=_begun_s, reverse=True)[:limit]


def read_job(client: RestClient, url: str, listed: Mapping[str, Any]) -> ObservedJob:
    """One finished job.

    Raises
    ------
    UnreadableJobError
        The history server no longer has the job, or the job has no end.
    ClusterAccessError
        The server does not answer.
    """
    base = f"{_base(url)}/jobs/{listed['id']}"
    try:
        job = client.get_json(base).get("job") or {}
        counters = _counters(client.get_json(f"{base}/counters").get("jobCounters") or {})
        settings = _settings(client.get_json(f"{base}/conf").get("conf") or {})
    except ClusterAccessError as error:
        if reason := refusal(error, "the history server no longer has the job"):
            raise UnreadableJobError(reason) from None
        raise
    ended = _seconds(job.get("finishTime"))
    if ended is None:
        raise UnreadableJobError("the job has no end")
    notes: list[str] = []
    total = int(job.get("mapsTotal") or 0) + int(job.get("reducesTotal") or 0)
    tasks = list(_attempts(client, base)) if total <= MOST_TASKS else []
    if total > MOST_TASKS:
        notes.append(f"{total} tasks are not read one by one; its .jhist file has them")
    submitted = _seconds(job.get("submitTime")) or _seconds(listed.get("submitTime"))
    # a job that was killed before it started has no start (0 or -1)
    begun = _seconds(job.get("startTime")) or submitted or ended
    return ObservedJob(
        id=str(job["id"]),
        engine="mapreduce",
        name=str(job.get("name") or "unnamed"),
        user=str(job.get("user") or "unknown"),
        queue=str(job.get("queue") or "unknown"),
        status=str(job.get("state") or "unknown"),
        submitted_at=submitted,
        started_at=min(begun, ended),
        finished_at=ended,
        source=base,
        maps=int(job.get("mapsTotal") or 0),
        reduces=int(job.get("reducesTotal") or 0),
        uberized=job["uberized"] if isinstance(job.get("uberized"), bool) else None,
        counters=counters,
        tasks=tasks,
        settings=lasting_settings(settings),
        notes=notes,
    )


def _begun_s(job: Mapping[str, Any]) -> float:
    """The start of a job; its submission if it never started."""
    return _seconds(job.get("startTime")) or _seconds(job.get("submitTime")) or 0.0


def refusal(error: ClusterAccessError, gone: str) -> str | None:
    """Why one object cannot be read (``gone``: it is absent); None for an error of the server."""
    if error.reason in _GONE:
        return gone
    return f"no access right: {error.message}" if error.reason == "forbidden" else None


def _base(url: str) -> str:
    return f"{url.rstrip('/')}/ws/v1/history/mapreduce"


def _many(value: Any) -> list[dict[str, Any]]:
    """The value as a list; the server writes a list of one item as the item."""
    found = value if isinstance(value, list) else [] if value is None else [value]
    return [one for one in found if isinstance(one, dict)]


def _counters(found: Mapping[str, Any]) -> dict[str, float]:
    return {
        f"{group.get('counterGroupName')}:{one.get('name')}": float(one["totalCounterValue"])
        for group in _many(found.get("counterGroup"))
        for one in _many(group.get("counter"))
        if isinstance(one.get("totalCounterValue"), (int, float))
    }


def _settings(found: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(one["name"]): str(one.get("value", ""))
        for one in _many(found.get("property"))
        if "name" in one
    }


def _attempts(client: RestClient, base: str) -> Iterator[dict[str, Any]]:
    tasks = client.get_json(f"{base}/tasks").get("tasks") or {}
    for task in _many(tasks.get("task")):
        answer = client.get_json(f"{base}/tasks/{task.get('id')}/attempts")
        for one in _many((answer.get("taskAttempts") or {}).get("taskAttempt")):
            yield _row(task, one)


def _row(task: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(one.get("type") or task.get("type") or "MAP")
    shuffled = _seconds(one.get("shuffleFinishTime"))
    merged = _seconds(one.get("mergeFinishTime"))
    host = str(one.get("nodeHttpAddress") or "").rpartition(":")[0]
    return {
        "phase": "job",
        "task": str(task.get("id")),
        "attempt": str(one.get("id")),
        "type": kind,
        "status": str(one.get("state") or task.get("state")),
        "host": host,
        "started_at": _seconds(one.get("startTime")),
        "finished_at": _seconds(one.get("finishTime")),
        "shuffle_finished_at": shuffled,
        "sort_finished_at": merged,
    }


def _seconds(value: object) -> float | None:
    return value / 1e3 if isinstance(value, (int, float)) and value > 0 else None


@dataclass
class HdfsFiles:
    """The files below a folder of HDFS.

    ``files`` maps the URL of a file to its size in bytes and its last change in epoch ms.
    ``refused`` has the URLs of folders that cannot be listed, with the reason, ``unlisted`` those
    that were not listed, because there are too many files.
    """

    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unlisted: list[str] = field(default_factory=list)


def hdfs_files(client: RestClient, url: str, most: int) -> HdfsFiles:
    """The files below a folder of WebHDFS or HttpFS.

    ``url`` is ``http[s]://HOST:PORT/webhdfs/v1/FOLDER``. No further folder is listed after
    ``most`` files. Folders are in reverse order of their names, so that the newest of
    ``YEAR/MONTH/DAY`` is the first. Raises ClusterAccessError.
    """
    root = url.rstrip("/")
    folders, found = [root], HdfsFiles()
    while folders and len(found.files) < most:
        folder = folders.pop()
        try:
            answer = client.get_json(folder, {"op": "LISTSTATUS"})
        except ClusterAccessError as error:
            reason = refusal(error, "the folder no longer exists")
            if folder == root or reason is None:
                raise
            found.refused[folder] = reason
            continue
        inner = []
        for one in _many((answer.get("FileStatuses") or {}).get("FileStatus")):
            # names of history files contain percent signs: '-' in the name of a job is '%2D'
            name = quote(str(one.get("pathSuffix") or ""))
            path = f"{folder}/{name}" if name else folder  # the folder is a file
            if one.get("type") == "DIRECTORY":
                inner.append(path)
            else:
                changed = int(one.get("modificationTime") or 0)
                found.files[path] = int(one.get("length") or 0), changed
        folders += sorted(inner)
    found.unlisted = folders
    return found
