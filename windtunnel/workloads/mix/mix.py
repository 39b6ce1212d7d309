"""Several workloads at the same time: the slowdown of each compared with running alone.

Each part is one phase of another workload. Every trial runs each part alone, one after the other,
and then all parts together, each on its own data. The slowdown is the time together divided by the
time alone, paired within the trial. Phases of a part before the measured one (TeraGen before
TeraSort, the load before YCSB's run) run first, phases after it (TeraValidate) at the end, both
untimed. Each execution is verified by its own workload.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from windtunnel.cluster import Cluster, Duration, Located, blame, validate
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.errors import DescriptionError
from windtunnel.results.record import Metric, Phase, Verdict
from windtunnel.workloads import find_workload
from windtunnel.workloads.base import WARM, About, Demand, Execution, Parameters, Workload
from windtunnel.workloads.mix.runs import (
    ELAPSED,
    OVERLAP,
    OWN,
    SLOWDOWN,
    of_phase,
    part_metrics,
    sums,
)
from windtunnel.workloads.verdicts import verdict

TOGETHER = "together"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Part(BaseModel):
    """One part of a mix."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workload: str = Field(description="Name of the workload.")
    phase: str | None = Field(
        None,
        description="The phase that is measured. Default: the phase with the name of the workload, "
        "or the last phase.",
    )
    weight: PositiveInt = Field(1, description="Number of instances that run at the same time.")
    start: Duration = Field(
        "0 s", description="Start, relative to the start of the mix.", validate_default=True
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Parameters of the workload."
    )

    @model_validator(mode="after")
    def _sound(self) -> Part:
        try:
            made = self.make()
        except DescriptionError as error:
            named = ("workload",) if error.key == "workloads" else ("parameters", error.key)
            where = [key for key in named if key]
            raise blame(error.message, *where, remedy=error.remedy or "") from error
        if self.phase is not None and self.phase not in made.phases():
            known = ", ".join(made.phases())
            raise blame(
                f"{self.workload} has no phase '{self.phase}' with these parameters",
                "phase",
                remedy=f"use one of: {known}.",
            )
        return self

    @model_validator(mode="after")
    def _cold(self) -> Part:
        if self.measured().endswith(WARM):
            raise blame(
                f"'{self.measured()}' measures the caches as one phase leaves them, and in a mix "
                "the other parts change the caches as well",
                "phase",
                remedy="measure another phase, or run the workload alone.",
            )
        return self

    def make(self) -> Workload[Any]:
        """The workload; raises DescriptionError for a wrong name or parameter."""
        kind = find_workload(self.workload)
        if kind is Mix:
            raise DescriptionError(
                "a mix cannot be part of a mix",
                key="workloads",
                remedy="list the parts of the inner mix directly.",
            )
        return kind(validate(kind.parameters_type, Located(dict(self.parameters))))

    def measured(self) -> str:
        """The measured phase: as given, or the one with the workload's name, or the last.

        For TeraSort it is terasort and not TeraValidate; for a key-value store run and not load.
        """
        phases = self.make().phases()
        return self.phase or next((p for p in phases if p == self.workload), phases[-1])


class MixParameters(Parameters):
    """Parameters of ``mix``."""

    amounts: ClassVar[tuple[str, ...]] = ("parts",)

    parts: dict[str, Part] = Field(
        description="The parts, with names of your choice: letters, digits and _.", min_length=2
    )

    @model_validator(mode="after")
    def _names(self) -> MixParameters:
        for name in self.parts:
            if name == TOGETHER or not _NAME.fullmatch(name):
                raise blame(
                    f"a part cannot be called '{name}'",
                    "parts",
                    name,
                    remedy="use letters, digits and _, a letter first, because tables and folders "
                    f"get this name; '{TOGETHER}' is reserved.",
                )
        return self

    @model_validator(mode="after")
    def _together(self) -> MixParameters:
        taken: set[str] = set()
        for name, part in self.parts.items():
            whole = part.make().parameters.takes_whole()
            if whole is not None and (whole in taken or part.weight > 1):
                raise blame(
                    f"'{part.workload}' needs {whole}, which only one instance can use",
                    "parts",
                    name,
                    remedy="remove one of them, or use another engine for one.",
                )
            taken |= {whole} if whole else set()
        return self

    def at_scale(self, data: float, tasks: float = 1.0) -> dict[str, Any]:
        """The parts at their scale; start times do not change."""
        plain = self.model_dump(mode="json", exclude_none=True)
        for name, part in self.parts.items():
            plain["parts"][name]["parameters"] = part.make().parameters.at_scale(data, tasks)
        return plain

    def engines(self) -> tuple[str, ...]:
        """The engines of all parts."""
        made = (part.make().parameters.engines() for part in self.parts.values())
        return tuple(sorted({name for names in made for name in names}))

    def own_program(self) -> bool:
        """Whether one of the parts needs it."""
        return any(part.make().parameters.own_program() for part in self.parts.values())


@dataclass
class _Instance:
    """One execution of a part: ``number`` counts those that run together, 0 runs alone.

    ``phase`` is the measured phase of the workload.
    """

    name: str
    number: int
    part: Part
    workload: Workload[Any]
    phase: str
    execution: Execution

    @property
    def label(self) -> str:
        """``sort alone``, ``sort together``, ``sort together (2)``."""
        if not self.number:
            return f"{self.name} alone"
        return f"{self.name} {TOGETHER}" + (f" ({self.number})" if self.part.weight > 1 else "")

    def before(self, deployment: Deployment) -> None:
        """Prepare the workload and run the phases before the measured one."""
        self.workload.prepare(deployment, self.execution)
        for phase in self.workload.phases():
            if phase == self.phase:
                return
            self.execution.runs[phase] = self.workload.run_phase(phase, deployment, self.execution)

    def measure(self, deployment: Deployment) -> JobRun:
        """Run the measured phase."""
        run = self.workload.run_phase(self.phase, deployment, self.execution)
        self.execution.runs[self.phase] = run
        return run

    def after(self, deployment: Deployment) -> Verdict:
        """Run the phases after the measured one and return the workload's own verdict."""
        phases = self.workload.phases()
        for phase in phases[phases.index(self.phase) + 1 :]:
            self.execution.runs[phase] = self.workload.run_phase(phase, deployment, self.execution)
        return self.workload.verify(deployment, self.execution)


class Mix(Workload[MixParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "mix"
    summary: ClassVar[str] = "several workloads at the same time, and the slowdown of each"
    about: ClassVar[About] = About(
        stresses="the resources that its parts share",
        metrics=(ELAPSED, SLOWDOWN, OVERLAP, OWN),
        example="mix",
    )

    def __init__(self, parameters: MixParameters) -> None:
        super().__init__(parameters)
        # by the trial's folder: what was prepared is measured, verified and cleaned later
        self._instances: dict[str, list[_Instance]] = {}

    def phases(self) -> tuple[str, ...]:
        """Each part alone, then all together."""
        return (*(f"alone-{name}" for name in self.parameters.parts), TOGETHER)

    def phases_without_progress(self) -> tuple[str, ...]:
        """Those of parts whose measured phase has none."""
        parts = [(name, p.measured(), p.make()) for name, p in self.parameters.parts.items()]
        return tuple(f"alone-{n}" for n, phase, w in parts if phase in w.phases_without_progress())

    def phases_without_fraction(self) -> tuple[str, ...]:
        """Those of parts whose measured phase has none; then the phase of all together as well."""
        parts = [(name, p.measured(), p.make()) for name, p in self.parameters.parts.items()]
        found = [f"alone-{n}" for n, phase, w in parts if phase in w.phases_without_fraction()]
        return (*found, TOGETHER) if found else ()

    def check(self, cluster: Cluster) -> list[str]:
        """The problems of all parts."""
        return [
            f"workloads.mix.parts.{name}: {problem}"
            for name, part in self.parameters.parts.items()
            for problem in part.make().check(cluster)
        ]

    def data_bytes(self) -> int:
        """Bytes of the data of all parts that run together."""
        return sum(p.make().data_bytes() * p.weight for p in self.parameters.parts.values())

    def demands(self, phase: str, workers: int) -> Demand:
        """The sum over the parts that run in the phase."""
        demands = [
            part.make().demands(part.measured(), workers)
            for name, part in self.parameters.parts.items()
            for _ in range(part.weight if phase == TOGETHER else 1)
            if phase in (TOGETHER, f"alone-{name}")
        ]
        return Demand(
            sum(d.disk_read_bytes for d in demands),
            sum(d.disk_write_bytes for d in demands),
            sum(d.network_bytes for d in demands),
        )

    def trial_bytes(self, workers: int) -> float:
        """Each instance of a part runs all phases of its workload, alone and together."""
        parts = self.parameters.parts.values()
        return sum(p.make().trial_bytes(workers) * (p.weight + 1) for p in parts)

    def job_settings(self) -> Iterable[tuple[str, str]]:
        """Those of all parts."""
        parts = self.parameters.parts.values()
        return (pair for part in parts for pair in part.make().job_settings())

    def replication(self) -> int:
        """The largest of all parts."""
        return max(part.make().replication() for part in self.parameters.parts.values())

    def clients(self) -> int:
        """Those of all instances, which start at the same time."""
        return sum(p.make().clients() * p.weight for p in self.parameters.parts.values())

    def shared_bytes(self) -> Mapping[str, float]:
        """Those of all parts; equal ones are shared."""
        found: dict[str, float] = {}
        for part in self.parameters.parts.values():
            found |= part.make().shared_bytes()
        return found

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Prepare each part and run its phases before the measured one."""
        made = list(self._make(execution))
        self._instances[execution.folder] = made
        for instance in made:
            instance.before(deployment)

    def _make(self, execution: Execution) -> Iterator[_Instance]:
        for name, part in self.parameters.parts.items():
            for number in range(part.weight + 1):
                folder = f"{execution.folder}/{name}-{number}"
                own = replace(execution, folder=folder, runs={})
                yield _Instance(name, number, part, part.make(), part.measured(), own)

    def _of(self, execution: Execution) -> list[_Instance]:
        """The instances of a trial, with its present time limit, which preparations extend."""
        for instance in self._instances[execution.folder]:
            instance.execution.deadline_s = execution.deadline_s
        return self._instances[execution.folder]

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run one part alone, or all together; raises TrialInvalidError if one fails."""
        instances = self._of(execution)
        if phase != TOGETHER:
            (alone,) = (i for i in instances if i.number == 0 and phase == f"alone-{i.name}")
            run = alone.measure(deployment)
            record = run.phase.model_copy(update={"name": phase})
            return replace(run, phase=record, tasks=of_phase(phase, [run]))
        chosen = [i for i in instances if i.number > 0]
        runs = _all_at_once(chosen, deployment)
        return self._together(chosen, runs, execution.runs)

    def _together(
        self,
        instances: Sequence[_Instance],
        runs: Sequence[JobRun],
        alone: Mapping[str, JobRun],
    ) -> JobRun:
        metrics: dict[str, Metric] = {}
        for name in self.parameters.parts:
            own = [run for i, run in zip(instances, runs, strict=True) if i.name == name]
            others = [run for i, run in zip(instances, runs, strict=True) if i.name != name]
            metrics |= part_metrics(name, own, others, alone[f"alone-{name}"])
        started_at = min(run.phase.started_at for run in runs)
        finished_at = max(run.phase.finished_at for run in runs)
        record = Phase(
            name=TOGETHER,
            started_at=started_at,
            finished_at=finished_at,
            elapsed_s=finished_at - started_at,
            wall_s=max(run.phase.wall_s for run in runs),
            metrics=metrics,
        )
        return JobRun(
            record,
            sums(runs),
            tasks=of_phase(TOGETHER, runs),
            notes=[note for run in runs for note in run.notes],
            samples=[sample for run in runs for sample in run.samples],
        )

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if every execution of every part is valid."""
        checks = [
            check.model_copy(update={"name": f"{instance.label}: {check.name}"})
            for instance in self._of(execution)
            for check in instance.after(deployment).checks
        ]
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the data of the parts."""
        for instance in self._instances.pop(execution.folder, []):
            instance.workload.clean(deployment, instance.execution)
        deployment.files.delete(execution.folder)


def _all_at_once(instances: Sequence[_Instance], deployment: Deployment) -> list[JobRun]:
    """Start each instance at its time and wait for all; then raise the first error.

    After a failure, no further instance starts.
    """
    began, failed = time.monotonic(), threading.Event()

    def one(instance: _Instance) -> JobRun | None:
        if failed.wait(max(0.0, began + float(instance.part.start) - time.monotonic())):
            return None
        try:
            return instance.measure(deployment)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(len(instances), thread_name_prefix="mix") as pool:
        futures = [pool.submit(one, instance) for instance in instances]
    for future in futures:
        if error := future.exception():
            raise error
    runs = [future.result() for future in futures]
    return [run for run in runs if run is not None]
