"""The deployment contract: a running cluster as workloads see it, on every testbed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from windtunnel.cluster import Cluster
from windtunnel.engines.faults import Faulty
from windtunnel.engines.running import Running
from windtunnel.errors import TrialInvalidError
from windtunnel.hosts.base import Host
from windtunnel.results.record import Metric, Phase
from windtunnel.results.sample import Recording, Sample, Source

ROOT = "/windtunnel"
TRIALS, SHARED = f"{ROOT}/trials", f"{ROOT}/shared"
"""The folders of the workloads' files: one folder per trial, and inputs of several trials."""

T = TypeVar("T")
R = TypeVar("R", bound=Running)


@dataclass(frozen=True)
class JobRun:
    """A finished job: its phase record, all its counters, and its task attempts.

    ``counters`` maps ``GROUP:NAME`` to the job's total. ``tasks`` rows have the columns
    of the ``tasks`` Parquet file (see ``results/folder.py``). ``notes`` state what could not be
    read; the metrics that need it are then omitted. ``output`` holds the last lines that the
    job's client wrote, for programs that print their result there. ``samples`` are readings that
    a client took itself while it ran, such as its throughput each second; they are stored with
    those of the hosts.
    """

    phase: Phase
    counters: Mapping[str, int]
    tasks: Sequence[Mapping[str, Any]] = field(default_factory=list)
    notes: Sequence[str] = ()
    output: str = ""
    samples: Sequence[Sample] = ()

    def with_metrics(self, metrics: Mapping[str, Metric]) -> JobRun:
        """The same job with additional metrics of its phase."""
        if not metrics:
            return self
        both = {**self.phase.metrics, **metrics}
        return replace(self, phase=self.phase.model_copy(update={"metrics": both}))


@dataclass(frozen=True)
class FileStatus:
    """A file in the cluster's file system: path, bytes, replication.

    ``erasure_code`` is its policy; None if it has replicas.
    """

    path: str
    length_bytes: int
    replication: int
    erasure_code: str | None = None

    @property
    def is_data(self) -> bool:
        """Whether it has content and no hidden name: S3A's committers write to ``_SUCCESS``."""
        return self.length_bytes > 0 and not self.path.rpartition("/")[2].startswith(("_", "."))

    @property
    def copies(self) -> str:
        """How its data is kept, in words: ``replication 2`` or ``erasure code RS-3-2-1024k``."""
        return copies_text(self.replication, self.erasure_code)


def copies_text(replication: int, erasure_code: str | None = None) -> str:
    """How data is kept, in words; see :attr:`FileStatus.copies`."""
    return f"erasure code {erasure_code}" if erasure_code else f"replication {replication}"


def found_copies(files: Iterable[FileStatus]) -> str:
    """How the data of files is kept, in words, with ``/`` between different ones."""
    return "/".join(sorted({file.copies for file in files})) or "replication none"


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


class Deployment(ABC):
    """A running cluster.

    Methods that not every deployment supports have a default, so that callers need not check the
    type. Without a client, :meth:`put` and similar methods raise TrialInvalidError. Without limits,
    :meth:`unshaped` changes nothing. Without hosts to sample, :meth:`sources` is empty.

    Attributes
    ----------
    id:
        Id of the deployment on this machine.
    hosts:
        Its hosts, the masters first.
    files:
        The cluster's file system.
    faulty:
        Makes faults in it; None: none can be made.
    root:
        The folder of all files of workloads.
    here:
        Whether its daemons run on this machine, so that samples of this machine are theirs.
    """

    id: str
    hosts: Sequence[Host]
    files: FileSystem
    faulty: Faulty | None = None
    root: str = ROOT
    here: bool = True

    @property
    def trials(self) -> str:
        """The folder with one folder per trial."""
        return f"{self.root}/trials"

    @property
    def shared_inputs(self) -> str:
        """The folder with the inputs of several trials."""
        return f"{self.root}/shared"

    def settle(self, note: Callable[[str], None], stop_if_requested: Callable[[], None]) -> None:
        """Wait until a trial may begin; raises StudyStoppedError if that takes too long.

        Parameters
        ----------
        note:
            Function that receives remarks for the user.
        stop_if_requested:
            Raises InterruptedStudyError if the user requested a stop.
        """
        return

    def surroundings(self) -> tuple[Mapping[str, Metric], Sequence[str]]:
        """The activity of others on the cluster since :meth:`settle`: metrics and remarks."""
        return {}, ()

    @abstractmethod
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
            Monotonic time (``time.monotonic()``) at which the job is aborted.

        Raises
        ------
        TrialInvalidError
            If the job failed or ran out of time.
        DeploymentError
            If a daemon died meanwhile.
        """

    @abstractmethod
    def reconfigure(self, cluster: Cluster) -> list[str]:
        """Change only what differs from ``cluster``; returns one line for each change.

        Raises
        ------
        DeploymentError
            If the difference needs a new deployment.
        """

    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """Versions and hashes of the software and all settings that are not defaults."""

    @abstractmethod
    def check_alive(self) -> None:
        """Raise DeploymentError, naming the daemon, if one has died."""

    @abstractmethod
    def processes(self) -> Mapping[str, int]:
        """Process id of every daemon by its name, for the sampler."""

    def expected_copies(self, replication: int) -> str:
        """How the storage keeps files that are written with this replication, in words."""
        return copies_text(replication)

    def storage_metrics(self, folder: str) -> Mapping[str, Metric]:
        """What the storage reports about the files of a trial; empty if it reports nothing."""
        return {}

    @cached_property
    def cache(self) -> dict[Hashable, Any]:
        """Results that later trials on this deployment use again; removed with the deployment."""
        return {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of ``make``, which is called only once per ``key`` on this deployment."""
        if key not in self.cache:
            self.cache[key] = make()
        found: T = self.cache[key]
        return found

    @property
    def client(self) -> Host:
        """The host that jobs and transfers start from."""
        return self.hosts[0]

    @property
    def client_folder(self) -> Path:
        """A folder on the client's own disk, for the files that are put and got.

        Raises TrialInvalidError where there is no client.
        """
        raise _no_client()

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
        raise _no_client()

    def get(
        self, sources: Sequence[str], folder: Path, *, streams: int = 1, deadline_s: float
    ) -> JobRun:
        """Copy files of the file system into a folder of the client; errors as with put."""
        raise _no_client()

    def run_on_client(
        self, name: str, argv: Sequence[str], *, deadline_s: float, reads: Sequence[Path] = ()
    ) -> str:
        """Run a program on the client host; returns what it wrote. Errors as with put.

        ``reads`` are the user's own files that it reads.
        """
        raise _no_client()

    def engine(self, kind: type[R]) -> R:
        """An engine (``engines.engine.Engine``), started if it does not run yet.

        Raises DeploymentError or SetupError, TrialInvalidError where none can run.
        """
        raise TrialInvalidError("no engine can run in this deployment")

    def before_phase(self) -> None:
        """Prepare resources of a phase that no trial measures, such as warm JVMs.

        Raises DeploymentError if it fails.
        """
        return

    def phase_metrics(self, phase: Phase) -> Mapping[str, Metric]:
        """Numbers of the deployment about a finished phase, which :meth:`before_phase` prepared."""
        return {}

    def unshaped(self) -> AbstractContextManager[None]:
        """A context without limits of the hosts, for work that is not measured.

        At its end, all written data is on the disks.
        """
        return nullcontext()

    def sources(self) -> Sequence[Source]:
        """The sources of samples of hosts other than this machine."""
        return ()

    def recorded(self, since_s: float, until_s: float) -> Recording:
        """The samples that a monitoring system recorded between two times (epoch seconds)."""
        return Recording()

    def network_bytes(self) -> tuple[int, int]:
        """Bytes sent and received so far on interfaces that this machine's do not count.

        Raises OSError.
        """
        return 0, 0


def _no_client() -> TrialInvalidError:
    return TrialInvalidError("this testbed has no client that could put or get files")
