"""Sources of jobs: a history server, a folder of files, a folder in HDFS. One status per file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from windtunnel.analysis.formatting import plural
from windtunnel.errors import ClusterAccessError, UsageError
from windtunnel.hosts.rest import RestClient
from windtunnel.published.history import rest
from windtunnel.published.history.jhist import parse_jhist, parse_job_settings
from windtunnel.published.history.job import ObservedJob, UnreadableJobError
from windtunnel.published.history.spark import is_event_log, parse_event_log

_MAX_BYTES = 1 << 30
_FILES_OF_A_JOB = 20  # listed at most for each job to read: not every file has a job
_RAISE_LIMIT = "raise --limit, or specify a folder in it"
_PASSED_OVER = (".crc", ".pending", "_SUCCESS")


@dataclass(frozen=True)
class Status:
    """The outcome of one file or one job of a server: its job, or why there is none."""

    source: str
    job: ObservedJob | None
    text: str
    bytes: int = 0

    @property
    def line(self) -> str:
        """The status line."""
        return f"{'read' if self.job else 'not read'}: {self.source}: {self.text}"


def from_folder(path: Path) -> Iterator[Status]:
    """Jobs of a file, or of all files below a folder.

    Raises UsageError if there is no such file or folder.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist", remedy="correct the path.")
    for file in [path] if path.is_file() or is_event_log(path) else _candidates(path):
        yield _one_file(file)


def _candidates(folder: Path) -> Iterator[Path]:
    """Files with history, and folders with rolling event logs, in the order of their names."""
    for one in sorted(folder.iterdir()):
        if one.is_symlink() and not one.exists():
            continue
        if one.is_dir():
            if is_event_log(one):
                yield one
            else:
                yield from _candidates(one)
        elif not one.name.endswith(_PASSED_OVER) and not one.name.endswith("_conf.xml"):
            yield one


def _one_file(file: Path) -> Status:
    try:
        size = (
            sum(p.stat().st_size for p in file.rglob("*")) if file.is_dir() else file.stat().st_size
        )
        if size > _MAX_BYTES:
            return Status(str(file), None, "larger than 1 GiB", size)
        if size == 0:
            return Status(str(file), None, "empty")
        if file.is_file() and file.name.endswith(".jhist"):
            settings, mistake = _settings_of(file)
            job = parse_jhist(file.read_bytes(), str(file), settings)
            job.notes.extend(mistake)
        elif is_event_log(file):
            job = parse_event_log(file)
        else:
            return Status(str(file), None, "neither a job history file nor a Spark event log", size)
    except UnreadableJobError as error:
        return Status(str(file), None, str(error), size)
    except OSError as error:
        return Status(str(file), None, error.strerror or "cannot be read")
    return _read(str(file), job, size)


def _read(source: str, job: ObservedJob, size: int = 0) -> Status:
    notes = "".join(f"; note: {note}" for note in job.notes)
    version = f" {job.version}" if job.version else ""
    text = (
        f"{job.engine}{version} {job.id} {job.status}, {job.elapsed_s:.1f} s, "
        f"{len(job.tasks)} task attempts, {len(job.settings)} settings{notes}"
    )
    return Status(source, job, text, size)


def _settings_of(file: Path) -> tuple[dict[str, str], list[str]]:
    """The settings from the configuration file of the same job in the same folder, and a note."""
    job = "_".join(file.name.split("-")[0].split("_")[:3]).removesuffix(".jhist")
    for one in (file.with_name(f"{job}_conf.xml"), *file.parent.glob(f"*{job}*conf*.xml")):
        if one.is_file() and one.stat().st_size <= _MAX_BYTES:
            settings, mistake = parse_job_settings(one.read_bytes())
            return settings, [f"{one} {mistake}"] if mistake else []
    return {}, []


def from_server(client: RestClient, url: str, limit: int, since: float | None) -> Iterator[Status]:
    """Jobs of a history server, the newest first. Raises ClusterAccessError."""
    begin = 0 if since is None else int(since * 1000)
    for listed in rest.listed_jobs(client, url, limit, begin):
        name = str(listed["id"])
        try:
            yield _read(name, rest.read_job(client, url, listed))
        except UnreadableJobError as error:
            yield Status(name, None, str(error))


def from_hdfs(client: RestClient, url: str, limit: int) -> Iterator[Status]:
    """At most ``limit`` jobs of history files below a folder of WebHDFS, the newest files first.

    Raises ClusterAccessError.
    """
    found = rest.hdfs_files(client, url, limit * _FILES_OF_A_JOB)
    for folder, reason in found.refused.items():
        yield Status(unquote(folder.rpartition("/")[2]), None, reason)
    if found.unlisted:
        last = unquote(found.unlisted[-1])
        text = f"not listed: {plural(len(found.unlisted), 'folder')}, first {last}; {_RAISE_LIMIT}"
        yield Status(url, None, text)
    names = [path for path in found.files if path.endswith(".jhist")]
    names.sort(key=lambda path: (-found.files[path][1], path))
    jobs = 0
    for number, path in enumerate(names):
        if jobs == limit:
            yield Status(url, None, f"{plural(len(names) - number, 'older file')}; {_RAISE_LIMIT}")
            return
        status = _hdfs_file(client, path, found)
        jobs += status.job is not None
        yield status


def _hdfs_file(client: RestClient, path: str, listed: rest.HdfsFiles) -> Status:
    name, (size, _) = unquote(path.rpartition("/")[2]), listed.files[path]
    if size > _MAX_BYTES:
        return Status(name, None, "larger than 1 GiB", size)
    job_id = "_".join(name.split("-")[0].split("_")[:3])
    conf = f"{path.rpartition('/')[0]}/{job_id}_conf.xml"
    try:
        known = conf in listed.files
        settings, mistake = parse_job_settings(_content(client, conf)) if known else ({}, "")
        job = parse_jhist(_content(client, path), path, settings)
        job.notes.extend([f"{job_id}_conf.xml {mistake}"] if mistake else [])
    except UnreadableJobError as error:
        return Status(name, None, str(error), size)
    return _read(name, job, size)


def _content(client: RestClient, url: str) -> bytes:
    """A file of WebHDFS; raises UnreadableJobError without it, or without the right to read it."""
    try:
        return client.get_bytes(url, {"op": "OPEN"}, _MAX_BYTES)
    except ClusterAccessError as error:
        if reason := rest.refusal(error, "the file no longer exists"):
            raise UnreadableJobError(reason) from None
        raise


@dataclass
class Rate:
    """Counts statuses and their rate."""

    files: int = 0
    jobs: int = 0
    bytes: int = 0

    def add(self, status: Status) -> None:
        """Count one."""
        self.files += 1
        self.jobs += status.job is not None
        self.bytes += status.bytes

    def line(self, began: float) -> str:
        """Files, jobs and their rate since ``began`` (of the monotonic clock)."""
        elapsed = max(time.monotonic() - began, 1e-6)
        size = f", {self.bytes / 1e6 / elapsed:.2f} MB/s" if self.bytes else ""
        return (
            f"{self.files} read in {elapsed:.1f} s ({self.files / elapsed:.1f} per second{size}): "
            f"{self.jobs} jobs, {self.files - self.jobs} not read"
        )
