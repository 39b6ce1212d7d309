"""The contract of testbeds. Code outside the folder of a testbed does not depend on its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from windtunnel.cluster import Cluster
from windtunnel.cluster.hosts import Part as ClosedModel
from windtunnel.engines.deployment import Deployment
from windtunnel.engines.faults import Part
from windtunnel.errors import UsageError
from windtunnel.results.calibration import CalibrationRecord
from windtunnel.results.record import Check, Metric, Phase, PredictedPhase, ScaleRecord
from windtunnel.results.sample import Sample

if TYPE_CHECKING:
    from windtunnel.hosts.fabric.state import Lack

Notify = Callable[[str], None]
# the resource that is measured, parts done, total number of parts
Progress = Callable[[str, int, int], None]


class TestbedOptions(ClosedModel):
    """The options of a testbed in a study: ``testbed: {kind: NAME, ...}``.

    Each testbed has a subclass whose ``kind`` is the literal of its name.
    """

    __test__: ClassVar[bool] = False  # pytest must not collect a class whose name starts so

    kind: str

    @property
    def data_fraction(self) -> float:
        """The fraction of a workload's data that a trial processes, more than 0 and at most 1."""
        return 1.0

    @property
    def task_fraction(self) -> float:
        """The fraction of a workload's tasks that run, more than 0 and at most 1."""
        return 1.0

    def block_of(self, changes: Mapping[str, Any]) -> str:
        """The block of a treatment: the trials of a block run one after the other in each round.

        ``changes`` are those of the treatment to the cluster description. By default, all
        treatments are in one block.
        """
        return ""

    def to_record(self) -> dict[str, Any]:
        """The options without the kind, as plain data."""
        return self.model_dump(mode="json", exclude={"kind"})

    def words(self) -> str:
        """The options as text, ``rate 1/40, data 1/1000``; empty without options."""
        return ", ".join(f"{name} {value}" for name, value in self.to_record().items())


@dataclass(frozen=True)
class Realisation:
    """The parts of a description that a testbed does not support.

    ``impossible`` parts stop a study before it starts; ``unrealised`` parts are ignored and are
    caveats of the report.
    """

    impossible: list[str] = field(default_factory=list)
    unrealised: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Judgement:
    """The judgement of a trial by the rules of a testbed, from its samples.

    A failed check makes the trial invalid, and its ``got`` is the reason. ``flags`` are reported
    with the trial. ``thresholds`` are the limits of the rules, by name. They are stored with the
    trial, so that a later report uses the rules that were in force.
    """

    checks: list[Check] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    thresholds: Mapping[str, Metric] = field(default_factory=dict)


@dataclass(frozen=True)
class PhaseLoad:
    """The bytes that a phase moves at full size, with all replicas and the shuffle."""

    name: str
    read_bytes: float
    write_bytes: float
    network_bytes: float


@dataclass(frozen=True)
class Load:
    """The data of a workload as described and as it runs, in bytes.

    ``reduces`` is None if the settings determine the number of reduces. Of ``reduces`` and
    ``writers``, the fraction ``task_fraction`` runs. ``tasks`` states that the
    workload runs in containers of YARN (a client that puts or gets files does not). ``writers`` is
    the number of map tasks that share the data, if the workload sets it and its jobs have no
    reduces; a task then takes its part of the time of the phase. ``own_program`` states that a
    program of Windtunnel runs on the cluster. ``trial_bytes`` are those that a trial writes at
    most, ``shared_bytes`` those of its shared inputs by name, both with all replicas.
    ``job_settings`` are settings that its jobs need in their tasks, ``replication`` is the largest
    number of replicas of a file, ``clients`` that of clients that write at the same time.
    """

    workload: str
    data_bytes: float
    model_bytes: float
    phases: tuple[PhaseLoad, ...] = ()
    reduces: int | None = None
    tasks: bool = True
    writers: int | None = None
    task_fraction: float = 1.0
    own_program: bool = False
    trial_bytes: float = 0.0
    shared_bytes: Mapping[str, float] = field(default_factory=dict)
    job_settings: Sequence[tuple[str, str]] = ()
    replication: int = 1
    clients: int = 1


@dataclass(frozen=True)
class PlannedTreatment:
    """A treatment in the form that testbeds take: its id, its cluster, the loads of workloads."""

    id: str
    cluster: Cluster
    loads: Sequence[Load]


@dataclass(frozen=True)
class Proposal:
    """Options that a testbed proposes for a study on this machine.

    ``lines`` is the proposal as text, ``data`` is the proposal for JSON. ``record`` is the record
    that a study with these options would store.
    """

    lines: Sequence[str]
    data: Mapping[str, Any]
    record: ScaleRecord


@dataclass(frozen=True)
class ValidationStudy:
    """A study of a validation: the name of its sub-folder, and the options of its testbed."""

    folder: str
    options: TestbedOptions


@dataclass(frozen=True)
class PlannedWork:
    """A workload at a treatment: its cluster, its parameters as written, its phases in order."""

    treatment: str
    workload: str
    cluster: Cluster
    parameters: Mapping[str, Any]
    phases: Sequence[str]


@dataclass(frozen=True)
class PhasePrediction:
    """A predicted phase: elapsed time, CPU time of all its tasks, and its uncertainty.

    ``energy_j`` is that of all hosts; None if the description lacks their power.
    """

    name: str
    elapsed_s: float
    cpu_s: float
    energy_j: float | None
    prediction: PredictedPhase


@dataclass(frozen=True)
class StudyRequest:
    """What a study requires of its testbed, before it starts.

    Attributes
    ----------
    study:
        Name of the study.
    treatments:
        The checked treatments, the baseline first.
    changes:
        The paths of the description that treatments change -> the names of the first such
        treatment.
    engines:
        Names of the engines in addition to Hadoop.
    restart:
        When the protocol restarts the cluster: ``never``, ``round`` or ``trial``.
    trials:
        Number of trials, at most.
    trial_limit_s:
        Time limit of a trial.
    factors:
        The paths that each factor changes, by its name.
    """

    study: str
    treatments: Sequence[PlannedTreatment]
    changes: Mapping[str, str]
    engines: Sequence[str]
    restart: str
    trials: int
    trial_limit_s: float
    factors: Mapping[str, Collection[str]] = field(default_factory=dict)


class Testbed(ABC):
    """An environment in which a cluster description has times: measured or predicted ones.

    A testbed is a subclass of :class:`ClusterTestbed` or of :class:`PredictingTestbed`.

    Parameters
    ----------
    logs:
        Folder for the logs of daemons.
    ``notify``:
        Function that receives each line to report.
    options:
        The options of the testbed; None for the defaults.
    """

    __test__: ClassVar[bool] = False

    name: ClassVar[str]
    about: ClassVar[str]
    """A description of one line."""
    options_type: ClassVar[type[TestbedOptions]]
    breakable: ClassVar[frozenset[Part]] = frozenset()
    """The components into which a study can inject faults."""
    fits_model: ClassVar[bool] = False
    one_machine: ClassVar[bool] = False  # all hosts share it, whatever is described
    """Whether a calibration fits the physics model to a study, instead of measuring limits."""
    calibration_study: ClassVar[str | None] = None
    """The study of the catalogue to which the physics model is fitted; None if the user has to
    specify a study."""
    no_cache_drop: ClassVar[str] = "drop needs root on this machine"
    """The reason why page caches cannot be emptied, if :meth:`can_drop_caches` is false."""

    @abstractmethod
    def __init__(
        self, logs: Path, notify: Notify, options: TestbedOptions | None = None
    ) -> None: ...

    @classmethod
    def lacks(cls) -> Sequence[Lack]:
        """The requirements of the testbed that this machine lacks, for ``doctor``."""
        return ()

    @classmethod
    def study_record(
        cls, options: TestbedOptions, planned: Iterable[PlannedTreatment]
    ) -> ScaleRecord | None:
        """The record of a scale model in the study record; None if clusters have full size.

        Parameters
        ----------
        planned:
            The treatments, the baseline first.

        Raises
        ------
        NotRealisableError
            If a description lacks what the testbed needs.
        """
        return None

    @classmethod
    def as_run(cls, options: TestbedOptions, cluster: Cluster) -> tuple[Cluster, float]:
        """The description of what runs, and the fraction of its processors that tasks get.

        Hosts without hardware are processes of one machine.
        """
        return cluster, 1.0

    @classmethod
    def propose(
        cls,
        planned: Sequence[PlannedTreatment],
        trials: int,
        within_s: float | None,
        given: Mapping[str, object],
    ) -> Proposal | None:
        """Propose options for a study on this machine; None if the testbed has no options.

        Parameters
        ----------
        planned:
            The treatments, the baseline first, with loads at full size.
        trials:
            Number of trials of the study.
        within_s:
            Time of the whole study; None for the default of the testbed.
        given:
            The options of the study's testbed as written, with its ``kind``; some can be missing.
        """
        return None

    @classmethod
    def validation(
        cls, options: TestbedOptions, core_speeds: Mapping[str, float]
    ) -> Sequence[ValidationStudy] | None:
        """The studies that validate the models of this testbed: the reference, then its models.

        None if the testbed has no models. ``options`` are those of the reference. ``core_speeds``
        has the work of a core in a model, relative to the reference, by sub-folder (default: 1).
        """
        return None

    @classmethod
    def calibrate(
        cls,
        clusters: Sequence[Cluster],
        options: TestbedOptions | None,
        progress: Progress,
    ) -> CalibrationRecord:
        """Measure the actual rate of every resource that the testbed limits.

        Parameters
        ----------
        options:
            The options of the testbed. If None, the first cluster is measured at full size, with a
            sweep over rates of each kind.

        Raises
        ------
        UsageError
            If the testbed limits nothing.
        """
        raise UsageError(
            f"the testbed '{cls.name}' limits no resources, so that it needs no calibration",
            remedy="'windtunnel catalogue testbeds' lists the testbeds.",
        )

    @abstractmethod
    def check(self, cluster: Cluster) -> Realisation:
        """Check before the start which parts of a description are supported."""

    @abstractmethod
    def can_drop_caches(self) -> bool:
        """Whether the page caches of the hosts can be emptied."""

    @abstractmethod
    def cache_bytes(self) -> int:
        """Memory that is available to page caches; larger data do not fit."""


class PredictingTestbed(Testbed):
    """A testbed that predicts times and starts nothing."""

    def can_drop_caches(self) -> bool:
        """No limit: nothing runs."""
        return True

    def cache_bytes(self) -> int:
        """No limit: nothing runs."""
        return 0

    @abstractmethod
    def check_work(self, work: PlannedWork) -> Realisation:
        """Check before the start whether a workload can be predicted."""

    @abstractmethod
    def predict(self, work: Sequence[PlannedWork]) -> list[list[PhasePrediction]]:
        """The phases of each workload, predicted together."""

    @abstractmethod
    def provenance(self) -> Mapping[str, Any]:
        """The data that determine the predictions in addition to the study, as plain data."""

    @abstractmethod
    def fit_text(self) -> bytes:
        """The file of the fit, which the results folder keeps."""


class ClusterTestbed(Testbed):
    """A testbed that measures on running clusters; most testbeds start them."""

    starts_clusters: ClassVar[bool] = True
    """False: the clusters run already; a deployment is a part of one."""

    @abstractmethod
    def permit_open(self) -> None:
        """Permit root to start clusters that other accounts of the machine can reach."""

    @abstractmethod
    def prepare(self, cluster: Cluster, engines: Collection[str] = ()) -> None:
        """Fetch and verify the software, including that of engines, without starting anything.

        Raises SetupError.
        """

    @abstractmethod
    def deploy(self, cluster: Cluster) -> AbstractContextManager[Deployment]:
        """A context manager with a running cluster, which removes everything at its end."""

    def ready(self, clusters: Iterable[Cluster], notify: Notify) -> CalibrationRecord | None:
        """Check before the first deployment that limited resources reach their set rates.

        Returns the measurements, or None if nothing is limited. Raises NotRealisableError if a
        resource deviates.
        """
        return None

    def admit(self, request: StudyRequest) -> Realisation:
        """Check a whole study before it starts, in addition to :meth:`check`.

        Raises
        ------
        NotAllowedError
            If the user has not permitted it.
        """
        return Realisation()

    def footprint(self, request: StudyRequest, expected_s: float | None) -> Sequence[str]:
        """The effects of a study on an existing cluster, as lines; empty for Windtunnel's own.

        Parameters
        ----------
        expected_s:
            Expected time of the study; None if it is unknown.
        """
        return ()

    def begin_study(self, study: str, note: Notify) -> None:
        """Prepare for the study with this id; ``note`` receives remarks for the user."""
        return

    def judge(self, rows: Sequence[Sample], phases: Sequence[Phase]) -> Judgement:
        """Judge from the samples whether the testbed disturbed a trial."""
        return Judgement()

    def judge_surroundings(self, metrics: Mapping[str, Metric]) -> Judgement:
        """Judge a trial by the activity of others during it (``Deployment.surroundings``)."""
        return Judgement()
