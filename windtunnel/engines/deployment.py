"""The deployment contract: a running cluster as workloads see it, on whatever testbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from windtunnel.hosts.base import Host
from windtunnel.results.record import Phase


@dataclass(frozen=True)
class JobRun:
    """A finished job: its phase record, all its counters, and its task attempts.

    ``counters`` maps ``GROUP:NAME`` to the job's total. ``tasks`` rows have the columns
    of the ``tasks`` Parquet file (see ``results/folder.py``). ``notes`` say what could not be
    read; the metrics that need it are then left out. ``output`` holds the last lines that the
    job's client wrote, for programs that say their result there. ``samples`` are readings that
    a client took itself while it ran, such as its throughput each second: time in s since 1970,
    host, metric, unit, value; they are stored with those of the hosts.
    """

    phase: Phase
    counters: Mapping[str, int]
    tasks: Sequence[Mapping[str, Any]] = field(default_factory=list)
    notes: Sequence[str] = ()
    output: str = ""
    samples: Sequence[tuple[float, str, str, str, float]] = ()


@dataclass(frozen=True)
class FileStatus:
    """A file in the cluster's file system: path, bytes, replication."""

    path: str
    length_bytes: int
    replication: int


class FileSystem(Protocol):
    """The cluster's file system, for checks and small files (data goes through jobs)."""

    def list_files(self, path: str) -> list[FileStatus]:
        """Files directly in a folder; an absent folder is empty."""
        ...

    def read(self, path: str, limit_bytes: int = 1 << 20) -> bytes:
        """The first ``limit_bytes`` bytes of a file."""
        ...

    def replicas(self, path: str) -> list[list[str]]:
        """For each block of a file the names of the hosts that hold it."""
        ...

    def checksums(self, path: str) -> list[dict[str, Any]]:
        """All files below a folder: ``path`` in it, ``bytes``, ``replication``, ``checksum``."""
        ...

    def delete(self, path: str) -> None:
        """Remove a file or folder; one that is absent is no error."""
        ...


@runtime_checkable
class Transfers(Protocol):
    """A deployment that can move files between a client host and its file system.

    ``client_folder`` is a folder on the client's own disk.
    """

    @property
    def client_folder(self) -> Path:
        """A folder on the client's own disk, for the files that are put and got."""
        ...

    def put(
        self,
        sources: Sequence[Path],
        folder: str,
        *,
        replication: int,
        streams: int = 1,
        deadline_s: float,
    ) -> JobRun:
        """Copy files of the client into a folder of the file system, as one timed phase.

        Raises TrialInvalidError if it fails, DeploymentError if a daemon died meanwhile.
        """
        ...

    def get(
        self, sources: Sequence[str], folder: Path, *, streams: int = 1, deadline_s: float
    ) -> JobRun:
        """Copy files of the file system into a folder of the client; errors as with put."""
        ...

    def run_on_client(
        self, name: str, argv: Sequence[str], *, deadline_s: float, reads: Sequence[Path] = ()
    ) -> str:
        """Run a program on the client host; returns what it wrote. Errors as with put.

        ``reads`` are the user's own files that it reads.
        """
        ...


@runtime_checkable
class Limited(Protocol):
    """A deployment whose hosts have limits that can be lifted for what is not measured."""

    def unshaped(self) -> AbstractContextManager[None]:
        """A context without the limits; at its end all that was written is on the disks."""
        ...


class Deployment(Protocol):
    """A running cluster."""

    @property
    def id(self) -> str:
        """Id of the deployment on this machine."""
        ...

    @property
    def hosts(self) -> Sequence[Host]:
        """Its hosts, the masters first."""
        ...

    @property
    def files(self) -> FileSystem:
        """The cluster's file system."""
        ...

    def run_job(
        self,
        phase: str,
        argv: Sequence[str],
        settings: Mapping[str, str],
        *,
        deadline_s: float,
    ) -> JobRun:
        """Run a program of the examples jar, or a main class, as one timed phase.

        Parameters
        ----------
        phase:
            Name of the phase that is timed.
        argv:
            Main class or program name, then its arguments.
        settings:
            Hadoop properties of this job alone.
        deadline_s:
            Monotonic time (``time.monotonic()``) at which the job is given up.

        Raises
        ------
        TrialInvalidError
            If the job failed or ran out of time.
        DeploymentError
            If a daemon died meanwhile.
        """
        ...

    def check_alive(self) -> None:
        """Raise DeploymentError, naming the daemon, if one has died."""
        ...

    def processes(self) -> Mapping[str, int]:
        """Process id of every daemon by its name, for the sampler."""
        ...
