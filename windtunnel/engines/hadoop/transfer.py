"""PUT and GET: files between a client's own disk and HDFS, as timed phases.

A phase lasts from the time when the NameNode opened the first file to the time when it closed
the last file (put), or to the end of the client (get). The NameNode's log has these times, so
that a phase excludes the start-up of the client's JVM, as with jobs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.client import Submitter, numbered, watch, why
from windtunnel.engines.hadoop.log_times import epoch_s
from windtunnel.engines.job_metrics import CLIENT_OVERHEAD
from windtunnel.errors import DeploymentError, TrialInvalidError
from windtunnel.hosts.base import Host, ProcessSpec
from windtunnel.results.metrics import MetricInfo, numbers, register
from windtunnel.results.record import Phase

_SHELL = "org.apache.hadoop.fs.FsShell"
_STAMP = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) INFO "
_LARGEST_LOG_BYTES = 64 << 20
_SOURCE = "sizes of the files, times in the NameNode's log"
TRANSFERRED = MetricInfo("transferred", "bytes", "bytes of all files that were copied", _SOURCE)
TRANSFER_RATE = MetricInfo(
    "transfer_rate",
    "bytes/s",
    "bytes that were copied per second of the phase, all streams together",
    _SOURCE,
    better="more",
)
register(TRANSFERRED, TRANSFER_RATE)


@dataclass(frozen=True)
class ClientRun:
    """A program that ran on the client host: epoch seconds and output."""

    started_at: float
    finished_at: float
    text: str


class Transfer:
    """Puts and gets files on one host of a deployment.

    ``logs`` are those of the NameNodes; without any, the times are those of the client.
    ``make_folder`` creates a folder of HDFS, or raises DeploymentError.
    """

    def __init__(
        self,
        submitter: Submitter,
        host: Host,
        make_folder: Callable[[str], None],
        logs: Sequence[Path] = (),
    ) -> None:
        self.host = host
        self._submitter = submitter
        self._make_folder = make_folder
        self._logs = logs

    def put(
        self,
        sources: Sequence[Path],
        folder: str,
        replication: int,
        streams: int,
        deadline_s: float,
    ) -> JobRun:
        """Copy local files into a folder of HDFS, which is created; raises TrialInvalidError."""
        try:
            self._make_folder(folder)
        except DeploymentError as error:  # with a fault in force, this is its effect on the phase
            raise TrialInvalidError(f"put failed: {error.message}") from error
        replicas = f"-Ddfs.replication={replication}"
        words = [replicas, "-put", "-t", str(streams), *map(str, sources), folder]
        began = self._log_sizes()
        run = self._shell("put", words, deadline_s, reads=sources)
        log = self._log_since(began)
        size = sum(source.stat().st_size for source in sources)
        near_s = run.started_at
        started = _moments(log, "create", folder, near_s)
        finished = _closed(log, folder, near_s)
        return _phase("put", run, started[:1], finished[-1:], size)

    def get(self, sources: Sequence[str], folder: Path, streams: int, deadline_s: float) -> JobRun:
        """Copy files of HDFS into a local folder, which is created; raises TrialInvalidError."""
        folder.mkdir(parents=True, exist_ok=True)
        words = ["-get", "-t", str(streams), *sources, str(folder)]
        began = self._log_sizes()
        run = self._shell("get", words, deadline_s)
        log = self._log_since(began)
        size = sum((folder / source.rpartition("/")[2]).stat().st_size for source in sources)
        opened = [
            when for source in sources for when in _moments(log, "open", source, run.started_at)
        ]
        return _phase("get", run, sorted(opened)[:1], [run.finished_at], size)

    def run(
        self, name: str, argv: Sequence[str], deadline_s: float, reads: Sequence[Path] = ()
    ) -> ClientRun:
        """Run a program on the client host to its end; raises TrialInvalidError.

        ``reads`` are the user's own files that the program reads.
        """
        label = numbered(f"transfer-{name}")
        log = self.host.logs / "clients" / f"{label}.log"
        env = self._submitter.env
        spec = ProcessSpec(label, argv, log, self.host.root, env=env, reads=reads)
        began = time.time()
        code = watch(self._submitter, self.host.spawn(spec), name, deadline_s)
        ended = time.time()
        if code != 0:
            raise TrialInvalidError(f"{name} failed (exit code {code}): {why(log)}")
        return ClientRun(began, ended, log.read_text(errors="replace"))

    def _shell(
        self, name: str, words: Sequence[str], deadline_s: float, reads: Sequence[Path] = ()
    ) -> ClientRun:
        command = self._submitter.command(_SHELL, words)
        return self.run(name, command, deadline_s, reads)

    def _log_sizes(self) -> list[int]:
        return [log.stat().st_size for log in self._logs]

    def _log_since(self, offsets: Sequence[int]) -> str:
        texts = []
        for log, offset in zip(self._logs, offsets, strict=True):
            with log.open("rb") as file:
                file.seek(offset)
                texts.append(file.read(_LARGEST_LOG_BYTES).decode(errors="replace"))
        return "".join(texts)


def _moments(log: str, command: str, path: str, near_s: float) -> list[float]:
    """Times of a command on a path or below it in the NameNode's audit log; epoch seconds.

    ``near_s`` is a time near to the command, epoch seconds.
    """
    below = re.escape(path)
    line = rf"{_STAMP}FSNamesystem\.audit: allowed=true\t.*\tcmd={command}\tsrc={below}(?:/|\t)"
    return _times(line, log, near_s)


def _closed(log: str, folder: str, near_s: float) -> list[float]:
    """Times at which the NameNode closed files of a folder; epoch seconds."""
    line = rf"{_STAMP}hdfs\.StateChange: DIR\* completeFile: {re.escape(folder)}/.* is closed"
    return _times(line, log, near_s)


def _times(line: str, log: str, near_s: float) -> list[float]:
    found = re.findall(line, log, re.MULTILINE)
    return sorted(epoch_s(stamp, near_s) for stamp in found)  # several NameNodes have a log each


def _phase(
    name: str, run: ClientRun, started: list[float], finished: list[float], size: int
) -> JobRun:
    """One timed phase; if the NameNode's log lacks a time, the client's times and a note."""
    wall_s = run.finished_at - run.started_at
    notes = []
    if not started or not finished:
        notes = [
            f"{name}: the time includes the start of the client, because the NameNode's log has "
            "no times of these files"
        ]
        started, finished = [run.started_at], [run.finished_at]
    elapsed_s = finished[0] - started[0]
    metrics = numbers(
        {
            TRANSFERRED: size,
            TRANSFER_RATE: size / elapsed_s if elapsed_s > 0 else None,
            CLIENT_OVERHEAD: max(0.0, wall_s - elapsed_s),
        }
    )
    record = Phase(
        name=name,
        started_at=started[0],
        finished_at=finished[0],
        elapsed_s=elapsed_s,
        wall_s=wall_s,
        metrics=metrics,
    )
    return JobRun(record, {}, notes=notes)
