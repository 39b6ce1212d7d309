"""The trial record: the output of every testbed and the only input of analysis and report.

Plain JSON with a schema version. One trial is one file; host samples and task
attempts are in Parquet files, because they are long (see ``folder.py``).
Times are seconds; instants are seconds since the epoch (UTC).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

TRIAL_SCHEMA = "windtunnel.trial/1"
STUDY_SCHEMA = "windtunnel.study/1"

Kind = Literal["measured", "predicted", "published", "observed"]
CacheState = Literal["warm", "dropped", "larger than memory", "unknown"]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A duration."""
Instant = Annotated[float, Field(ge=-62_135_596_800, le=253_402_300_799, allow_inf_nan=False)]
"""Epoch seconds in the years 1 to 9999, which calendars of Python support."""


class Record(BaseModel):
    """Base of all stored records; unknown fields are errors, so that a misspelt field is found."""

    model_config = ConfigDict(extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values, which are validated like those of a new record.

        Pydantic's own method accepts any key and any value; a record is stored, so both must be
        valid. Raises pydantic.ValidationError.
        """
        copied = super().model_copy(deep=deep)
        if not update:
            return copied
        return type(self).model_validate({**dict(copied), **update})


FAULT = "fault"
"""The path of the faults in a treatment's overrides."""
Fate = Literal["finished", "job failed", "output wrong"]


class Metric(Record):
    """One number with its unit: ``s``, ``bytes``, ``bytes/s``, ``count``, ``ratio``, ``W`` ..."""

    value: float
    unit: str


class Check(Record):
    """One step of a verification: the expected and the actual value."""

    name: str
    passed: bool
    expected: str = ""
    got: str = ""


class Verdict(Record):
    """Valid, or invalid with the reason. Invalid trials are stored and listed, never averaged."""

    valid: bool
    reason: str = ""
    checks: list[Check] = Field(default_factory=list)


class PredictedPhase(Record):
    """How a phase was predicted, and how wrong the prediction may be.

    ``low_s`` .. ``high_s`` is the interval of 90 %. ``resources_s`` are the seconds that each
    resource alone would take, and with the key ``start-up`` those in which the job and its
    tasks start; ``bottleneck`` takes the longest, ``next_bottleneck`` the second longest.
    ``inside_fitted_range`` states whether the treatment is within those that the model was
    fitted to. The error of the logarithm of the time has Student's distribution with
    ``freedom`` degrees of freedom: ``loadings`` are standard deviations along directions that
    all predictions of the study have in common, ``own`` is the rest, so that the errors of
    ratios are known too.
    """

    low_s: float
    high_s: float
    bottleneck: str
    next_bottleneck: str
    resources_s: dict[str, float]
    inside_fitted_range: bool
    freedom: float
    loadings: list[float] = Field(default_factory=list)
    own: float = 0.0


class Phase(Record):
    """One timed phase of a trial.

    ``elapsed_s`` is the time from the job's start to its finish in the job history; ``wall_s``
    includes the client's start-up and the wait for the result. ``started_at`` and
    ``finished_at`` are epoch seconds of the job. ``beside`` marks a reference phase, which is
    for comparison and excluded from every total. ``prediction`` is given in predicted trials.
    """

    name: str
    job_id: str | None = None
    beside: bool = False
    started_at: Instant
    finished_at: Instant
    elapsed_s: Finite
    wall_s: Finite
    metrics: dict[str, Metric] = Field(default_factory=dict)
    prediction: PredictedPhase | None = None


class Treatment(Record):
    """One combination of levels.

    ``levels`` maps factor name to level label; ``overrides`` maps paths (into the
    cluster description or ``workloads.NAME.``, or ``fault``) to the value that the level sets.
    """

    id: str
    levels: dict[str, str] = Field(default_factory=dict)
    overrides: dict[str, Any] = Field(default_factory=dict)

    @property
    def cluster_overrides(self) -> dict[str, Any]:
        """The overrides that are paths into the cluster description."""
        return {
            path: value
            for path, value in self.overrides.items()
            if path != FAULT and not path.startswith("workloads.")
        }


class FaultRecord(Record):
    """One fault of a trial: its kind, its time, and the recovery of the file system.

    The fault was planned ``after_s`` seconds after the start of the phase's job or, if that is
    given, at the progress ``at_progress`` of the job. ``at`` and ``undone_at`` are epoch seconds;
    ``at`` is None if the fault was not injected. ``noticed_s`` is the time in seconds from the
    fault until the storage's master (the NameNode, Ceph's monitors) reported the loss of a host or
    that the storage does not serve, or did not answer. ``whole_s`` is the time until every block
    was fully replicated; both are None if that did not happen within ``watched_s`` seconds after
    the fault. ``watched_s`` is None if the fault removes no
    replicas. ``moved_back_s`` is the time in seconds from ``undone_at`` until the storage had moved
    data to the host that was put into service again; None if that did not happen within
    ``watched_back_s`` seconds, which is None if the storage moves no data back. ``ordered`` states
    that the storage was ordered to give up the host, so that it has no loss to detect.
    """

    kind: str
    target: str
    text: str
    phase: str
    after_s: Seconds
    at_progress: Finite | None = None
    at: Instant | None = None
    undone_at: Instant | None = None
    noticed_s: Finite | None = None
    whole_s: Finite | None = None
    watched_s: Finite | None = None
    moved_back_s: Finite | None = None
    watched_back_s: Finite | None = None
    ordered: bool = False


class Before(Record):
    """The machine just before a trial: covariates that show whether a trial was disturbed."""

    load_1min: Finite
    memory_available_bytes: int
    page_cache_bytes: int
    cpu_idle_share: Finite
    cache_state: CacheState


class Trial(Record):
    """One execution of one workload at one treatment: the independent unit of statistics.

    ``round`` counts from 1 (0 = warm-up, never averaged); ``position`` is the position in the
    round's random order; ``attempt`` counts repetitions of the same slot, from 1: after an
    invalid trial, and of a warm-up when a study is resumed. ``extra`` marks a trial that the
    variation limit required. ``deployment`` counts, from 1, the starts of the cluster within the
    study: trials of one deployment are nested in it. ``power_source`` is the source of the power
    samples. ``outcome`` is the outcome of the job under ``faults``; None without faults, or if
    the trial failed for another reason. ``thresholds`` are the limits by which the testbed judged
    the trial, by name; empty if it has none, or in trials of older versions.

    All numbers are finite. If the trial counts, no time of its phases is negative; a step of the
    clock can make a negative time in an invalid trial.
    """

    schema_: str = Field(default=TRIAL_SCHEMA, alias="schema")
    id: str
    study_id: str
    kind: Kind = "measured"
    testbed: str
    workload: str
    treatment: Treatment
    parameters: dict[str, Any] = Field(default_factory=dict)
    round: int
    position: int
    attempt: int = 1
    extra: bool = False
    started_at: Instant
    finished_at: Instant
    verdict: Verdict
    deployment: int | None = None
    phases: list[Phase] = Field(default_factory=list)
    metrics: dict[str, Metric] = Field(default_factory=dict)
    power_source: str | None = None
    before: Before | None = None
    faults: list[FaultRecord] = Field(default_factory=list)
    outcome: Fate | None = None
    flags: list[str] = Field(default_factory=list)
    thresholds: dict[str, Metric] = Field(default_factory=dict)
    samples_file: str | None = None
    tasks_file: str | None = None
    provenance: str | None = None

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    @model_validator(mode="after")
    def _has_possible_numbers(self) -> Self:
        for where, metrics in (
            ("metrics", self.metrics),
            *((f"phases.{i}.metrics", phase.metrics) for i, phase in enumerate(self.phases)),
        ):
            for name, metric in metrics.items():
                if not math.isfinite(metric.value):
                    raise ValueError(f"{where}.{name}.value: {metric.value} is no finite number")
        for i, phase in enumerate(self.phases):
            for name, time_s in (("elapsed_s", phase.elapsed_s), ("wall_s", phase.wall_s)):
                if self.answers and time_s < 0:
                    raise ValueError(f"phases.{i}.{name}: {time_s} s is negative")
        return self

    @property
    def warmup(self) -> bool:
        """Whether the trial only warmed the system up and must not be averaged."""
        return self.round == 0

    @property
    def answers(self) -> bool:
        """Whether its slot is complete: the trial is valid, or it failed because of the fault."""
        return self.verdict.valid or self.outcome in ("job failed", "output wrong")


class ProtocolRecord(Record):
    """The rules that were fixed before the first trial.

    ``rounds_known`` is false for imported rows without a column of rounds: their ``round`` is the
    number of the row within its treatment, and rows of equal numbers have nothing in common.
    """

    rounds: int
    rounds_known: bool = True
    seed: int
    warmup: int = 0
    variation_limit: float = 0.20
    extra_rounds: int = 0
    trial_time_limit_s: float
    retry_invalid: int = 1
    cache: str = "warm"
    preset: str | None = None
    restart: str = "never"
    retest: str = "noisy cells"
    pause_s: float = 0.0
    invalidate: dict[str, float] = Field(default_factory=dict)
    detect: float | None = None
    power: float = 0.80
    pilot_rounds: int | None = None
    max_rounds: int | None = None


class DesignRecord(Record):
    """The combinations of levels that are treatments, and the effects that are confounded.

    ``options`` are those of the design (``resolution``, ``generators`` ...). ``confounded``
    has a line for each group of effects that the design cannot separate.
    """

    kind: str = "full-factorial"
    options: dict[str, Any] = Field(default_factory=dict)
    confounded: list[str] = Field(default_factory=list)


SimilarityState = Literal["match", "near", "broken", "unknown"]


class SimilarityGroup(Record):
    """A dimensionless group of a scale model, compared with the full size.

    ``state`` is ``match`` within 10 %, ``near`` within 30 %; ``says`` is the consequence if it
    does not match. ``treatment`` is given if a treatment's state differs from the baseline's.
    """

    name: str
    workload: str | None = None
    treatment: str | None = None
    full: float | None = None
    model: float | None = None
    unit: str = "ratio"
    state: SimilarityState
    says: str = ""


class ScaleRecord(Record):
    """The scale of a model, and its similarity to the full size that ``cluster`` describes.

    ``rate`` is the speed of disks, NICs and CPUs, ``data`` the size of data and of memory for
    data, both as fractions of the full size. ``smt_gain`` is the work of a core with several
    threads, relative to one, from which CPU quotas follow; None in older records, whose quotas
    count each hardware thread as a core. ``core_speed`` is the work of a core of the machine,
    relative to one of ``cluster``; None if they were taken as equal. ``core_probe_ms`` is the CPU
    time of the core probe for which it is valid; None if the quotas did not follow the probe.
    ``cpu_s_per_gb`` is the CPU
    time of the tasks per GB at full size, by phase. Times of trials are those of the model.
    """

    rate: float
    data: float
    smt_gain: float | None = None
    core_speed: float | None = None
    core_probe_ms: float | None = None
    cpu_s_per_gb: dict[str, float] = Field(default_factory=dict)
    groups: list[SimilarityGroup] = Field(default_factory=list)


class StudyRecord(Record):
    """The resolved study, written once, before the first trial.

    ``sources`` names the documents or files of results that Windtunnel did not measure.
    ``testbed_options`` are those of the testbed. ``scale`` is given if the trials ran in a scale
    model of ``cluster``.
    """

    schema_: str = Field(default=STUDY_SCHEMA, alias="schema")
    id: str
    name: str
    question: str = ""
    kind: Kind = "measured"
    testbed: str
    testbed_options: dict[str, Any] = Field(default_factory=dict)
    created_at: Instant
    fingerprint: str
    source_text: str = ""
    cluster: dict[str, Any] = Field(default_factory=dict)
    workloads: dict[str, dict[str, Any]] = Field(default_factory=dict)
    factors: dict[str, list[str]] = Field(default_factory=dict)
    baseline: dict[str, str] = Field(default_factory=dict)
    treatments: list[Treatment] = Field(default_factory=list)
    design: DesignRecord = Field(default_factory=DesignRecord)
    protocol: ProtocolRecord
    notes: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)
    scale: ScaleRecord | None = None

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
