"""The parts of a trial while it runs; at the end, they become one validated record."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from windtunnel.engines.deployment import JobRun
from windtunnel.probes.sampler import Sampler
from windtunnel.results.metrics import numbers
from windtunnel.results.record import (
    Before,
    Check,
    Fate,
    FaultRecord,
    Metric,
    Phase,
    Trial,
    Verdict,
)
from windtunnel.results.trial_metrics import (
    CPU_IDLE_SHARE,
    CPU_STEAL_SHARE,
    DATA_BYTES,
    HARNESS_OVERHEAD,
    SAMPLER_CPU_SHARE,
    STORAGE_CPU_TIME,
    TRIAL_WALL,
)
from windtunnel.study.clock_steps import LARGEST_STEP_S, ClockSteps
from windtunnel.study.invalidate import apply_rules
from windtunnel.study.plan import Plan, Slot
from windtunnel.study.storage_cpu import storage_cpu_s
from windtunnel.testbeds.base import Judgement


@dataclass
class Outcome:
    """The result of the phases of a trial, also if one of them failed.

    ``broken`` states that the deployment must not be used again, ``fate`` how the job ended under
    faults, ``left`` which faults could not be undone, ``metrics`` what the storage reports.
    ``unfinished`` is the phase whose job failed because of a fault; None if no job failed.
    """

    verdict: Verdict
    runs: Mapping[str, JobRun] = field(default_factory=dict)
    broken: bool = False
    fate: Fate | None = None
    left: str = ""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    unfinished: Phase | None = None


@dataclass
class TrialDraft:
    """A trial in progress: :meth:`ended`, then the judgements, then :meth:`record`.

    ``deployment`` is the number of the deployment within the study, ``provenance`` the hash of the
    stored provenance. Times are epoch seconds.
    """

    plan: Plan
    slot: Slot
    attempt: int
    study_id: str
    started_at: float
    deployment: int | None = None
    provenance: str | None = None
    before: Before | None = None
    finished_at: float = 0.0
    outcome: Outcome | None = None
    verdict: Verdict = field(default_factory=lambda: Verdict(valid=False, reason="it did not run"))
    metrics: dict[str, Metric] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    faults: Sequence[FaultRecord] = ()
    power_source: str | None = None
    thresholds: Mapping[str, Metric] = field(default_factory=dict)
    clock: ClockSteps = field(default_factory=ClockSteps)
    clock_step_s: float = 0.0

    @property
    def id(self) -> str:
        """The id of its record and of its files."""
        return f"{self.slot.id}-a{self.attempt}"

    @property
    def phases(self) -> list[Phase]:
        """Its timed phases."""
        return [] if self.outcome is None else [run.phase for run in self.outcome.runs.values()]

    @property
    def judged_phases(self) -> list[Phase]:
        """Its timed phases, and the phase whose job failed because of a fault."""
        failed = None if self.outcome is None else self.outcome.unfinished
        return self.phases if failed is None else [*self.phases, failed]

    @property
    def fate(self) -> Fate | None:
        """How the job ended under faults; None without faults, or if the trial does not count."""
        return self.outcome.fate if self.outcome else None

    def ended(self, outcome: Outcome) -> None:
        """Record the outcome of the phases; the time of the trial ends here."""
        self.finished_at = time.time()
        self.clock_step_s = self.clock.step_s()
        self.outcome = outcome
        self.verdict = outcome.verdict
        self.flags += [note for run in outcome.runs.values() for note in run.notes]
        if outcome.left:
            self.flags.append(f"the cluster was abandoned after the fault: {outcome.left}")

    def measured(self, sampler: Sampler, data_bytes: int) -> None:
        """Add the metrics of the trial as a whole: harness, machine, and size of the data."""
        if sampler.failures:
            self.flags.append(f"{len(sampler.failures)} samples failed: {sampler.failures[0]}")
        self.flags += sampler.notes
        self.power_source = sampler.power_source
        wall_s = self.finished_at - self.started_at
        self.metrics |= numbers(
            {
                CPU_IDLE_SHARE: sampler.mean("cpu_idle"),
                CPU_STEAL_SHARE: sampler.mean("cpu_steal"),
                TRIAL_WALL: wall_s,
                HARNESS_OVERHEAD: wall_s - sum(phase.elapsed_s for phase in self.phases),
                SAMPLER_CPU_SHARE: sampler.cost,
                STORAGE_CPU_TIME: storage_cpu_s(sampler.rows, self.phases),
                DATA_BYTES: data_bytes,
            }
        )

    def apply_rules(self) -> None:
        """Apply the rules of the study; an invalid trial keeps its reason."""
        if self._counts:
            limits = self.plan.protocol.invalidate.rules()
            checks, flags = apply_rules(limits, self.before, self.metrics)
            failed = [f"{c.name}: {c.got}, not {c.expected}" for c in checks if not c.passed]
            self.flags += flags
            self._judge(checks, failed)
            if self.clock_step_s:
                step = f"{self.clock_step_s:+.1f} s"
                check = Check(
                    name="steps of this machine's clock",
                    passed=False,
                    expected=f"at most {LARGEST_STEP_S:.0f} s",
                    got=step,
                )
                reason = f"this machine's clock was set, or the machine was suspended ({step})"
                self._judge([check], [reason])
            for phase in self.phases:
                if (time_s := min(phase.elapsed_s, phase.wall_s)) < 0:  # also of another host
                    reason = f"{phase.name} took {time_s:.3f} s: a clock was set back"
                    self._judge([], [reason])

    def judge(self, judgement: Judgement) -> None:
        """Add the checks of the testbed, and the limits that they used."""
        self.thresholds = {**self.thresholds, **judgement.thresholds}
        self.flags += judgement.flags
        self._judge(judgement.checks, [c.got for c in judgement.checks if not c.passed])

    @property
    def _counts(self) -> bool:
        """Whether the trial is valid, or has an outcome of its faults: the rules apply to both."""
        return self.verdict.valid or self.fate in ("job failed", "output wrong")

    def _judge(self, checks: Iterable[Check], reasons: Sequence[str]) -> None:
        """Add checks; ``reasons`` make a valid trial invalid, and an outcome does not count."""
        before, reason = self.verdict, self.verdict.reason
        if reasons and self._counts:
            reason = "; ".join([*reasons, *([reason] if reason else [])])
            if self.outcome is not None and not before.valid:
                self.outcome = replace(self.outcome, fate=None)
        self.verdict = Verdict(
            valid=before.valid and not reasons, reason=reason, checks=[*before.checks, *checks]
        )

    def _drop_infinite(self) -> None:
        """Drop metrics that are no finite numbers, with a flag: JSON has none."""
        for name, metrics in [("", self.metrics), *((p.name, p.metrics) for p in self.phases)]:
            wrong = [
                key
                for key, one in metrics.items()
                if isinstance(one, Metric) and not math.isfinite(one.value)
            ]
            for bad in wrong:
                del metrics[bad]
                self.flags.append(f"{name} {bad}: no finite number, dropped".strip())

    def record(self) -> Trial:
        """The record of the trial; raises pydantic.ValidationError if a part of it is invalid."""
        slot = self.slot
        self._drop_infinite()
        return Trial(
            id=self.id,
            study_id=self.study_id,
            testbed=self.plan.testbed,
            workload=slot.workload,
            treatment=slot.treatment,
            parameters=self.plan.run_parameters_of(slot.workload, slot.treatment),
            round=slot.round,
            position=slot.position,
            attempt=self.attempt,
            extra=slot.extra,
            started_at=self.started_at,
            finished_at=self.finished_at,
            verdict=self.verdict,
            deployment=self.deployment,
            phases=self.phases,
            metrics=self.metrics,
            power_source=self.power_source,
            before=self.before,
            faults=list(self.faults),
            outcome=self.fate,
            flags=self.flags,
            thresholds=dict(self.thresholds),
            provenance=self.provenance,
        )
