"""The workload contract: parameters, prepare, ordered phases, verify, demands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, get_args

from pydantic import BaseModel, ConfigDict

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.metrics import MetricInfo, register
from windtunnel.results.record import Verdict

WARM = "-warm"
"""The suffix of phases before which caches are never dropped, whatever the protocol states: they
measure the caches as the previous phase left them."""


class Parameters(BaseModel):
    """Base of all workload parameters: typed, with units, without unknown keys.

    ``amounts`` are the parameters that are amounts of data or of work, in whole numbers; a
    scale model multiplies them by its data scale. ``task_counts`` are numbers of tasks, which a
    model can combine.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    amounts: ClassVar[tuple[str, ...]] = ()
    task_counts: ClassVar[tuple[str, ...]] = ()

    def at_scale(self, data: float, tasks: float = 1.0) -> dict[str, Any]:
        """These parameters as plain data, with amounts times ``data`` and counts times ``tasks``.

        Each is at least 1.
        """
        factors = dict.fromkeys(self.amounts, data) | dict.fromkeys(self.task_counts, tasks)
        given = {key: value for key in factors if (value := getattr(self, key)) is not None}
        shares = {key: max(1, round(value * factors[key])) for key, value in given.items()}
        return self.model_copy(update=shares).model_dump(mode="json", exclude_none=True)

    def takes_whole(self) -> str | None:
        """The exclusive resource for which a second instance would wait; None if there is none."""
        return None

    def engines(self) -> tuple[str, ...]:
        """Names of the engines that the workload needs in addition to Hadoop."""
        return ()

    def own_program(self) -> bool:
        """Whether a program of Windtunnel runs on the cluster, in addition to Hadoop's own."""
        return False


@dataclass
class Execution:
    """One execution of a workload: its folders, its deadline and the results of its phases.

    ``folder`` is a folder of its own on the cluster's file system; ``shared`` one for
    inputs that later trials of the study use again. ``deadline_s`` is monotonic time. ``study``
    holds values of earlier trials that later trials of the study need, on any deployment.
    ``notes`` are remarks for the record of the trial.
    """

    folder: str
    shared: str
    deadline_s: float
    runs: dict[str, JobRun] = field(default_factory=dict)
    study: dict[Hashable, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Demand:
    """Bytes that a phase moves in the whole cluster, including replication and shuffle."""

    disk_read_bytes: float = 0.0
    disk_write_bytes: float = 0.0
    network_bytes: float = 0.0


@dataclass(frozen=True)
class About:
    """Facts about a workload for users, in addition to its parameters.

    ``stresses`` names the resources that it needs most. ``metrics`` describes its own metrics in
    the order of the tables, in addition to those of every job. ``example`` is a study in the
    catalogue. :func:`register_metrics` adds the metrics to the catalogue of metrics.
    """

    stresses: str
    metrics: Sequence[MetricInfo]
    example: str


P = TypeVar("P", bound=Parameters)


class Workload(ABC, Generic[P]):
    """What is run: a subclass of ``Workload[ITS_PARAMETERS]``, one line in the registry.

    ``name`` is its name in the registry, ``summary`` one line for lists of workloads.
    ``parameters_type`` is the class that ``Workload[...]`` names.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    about: ClassVar[About]
    parameters_type: ClassVar[type[Parameters]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in getattr(cls, "__orig_bases__", ()):
            for given in get_args(base):
                if isinstance(given, type) and issubclass(given, Parameters):
                    cls.parameters_type = given

    def __init__(self, parameters: P) -> None:
        self.parameters = parameters

    @abstractmethod
    def phases(self) -> tuple[str, ...]:
        """Names of the timed phases, in order."""

    def phases_without_progress(self) -> tuple[str, ...]:
        """The phases that report no progress: a fault in them cannot be timed."""
        return ()

    def phases_without_fraction(self) -> tuple[str, ...]:
        """The phases that report their start, but not which fraction of their work is done."""
        return ()

    def check(self, cluster: Cluster) -> list[str]:
        """Why this workload cannot run on that cluster; empty if it can."""
        return []

    @abstractmethod
    def data_bytes(self) -> int:
        """Bytes of the data set, for cache and size rules."""

    @abstractmethod
    def demands(self, phase: str, workers: int) -> Demand:
        """Bytes that a phase moves."""

    def trial_bytes(self, workers: int) -> float:
        """Bytes that a trial writes at most, with all replicas and the spills of tasks.

        Shared inputs are excluded. Override it if untimed work writes as well.
        """
        return sum(self.demands(phase, workers).disk_write_bytes for phase in self.phases())

    def shared_bytes(self) -> Mapping[str, float]:
        """Name of the folder of each shared input -> bytes of all its replicas.

        Only of workloads that need no other engine than Hadoop.
        """
        return {}

    def job_settings(self) -> Iterable[tuple[str, str]]:
        """Settings that its jobs need in their tasks; jobs can have different values of one.

        Only of workloads that need no other engine than Hadoop.
        """
        return ()

    def replication(self) -> int:
        """The largest number of replicas that its parameters set; 1 if they set none."""
        given = (value for name, value in self.parameters if name.endswith("replication"))
        return max((value for value in given if isinstance(value, int)), default=1)

    def clients(self) -> int:
        """The number of clients that write to HDFS at the same time, also to submit jobs."""
        return 1

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Untimed work before the phases."""
        return

    @abstractmethod
    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run one phase; raises TrialInvalidError if it fails."""

    @abstractmethod
    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """The verdict, from the data itself."""

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove what this trial wrote and no later one needs: its folder."""
        deployment.files.delete(execution.folder)


def register_metrics(kind: type[Workload[Any]]) -> None:
    """Add a workload's own metrics to the catalogue, as the registry of workloads does.

    Raises
    ------
    SetupError
        If a metric has the name of another metric and a different description.
    """
    register(*kind.about.metrics)
