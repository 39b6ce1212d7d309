"""The runner: rounds of trials on real daemons, until the plan is done or must stop."""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol as Contract

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment
from windtunnel.errors import DeploymentError, InterruptedStudyError, StudyStoppedError
from windtunnel.probes.machine import machine_facts
from windtunnel.results.record import Trial
from windtunnel.study.journal import Journal
from windtunnel.study.plan import Plan, Slot
from windtunnel.study.trial import PhaseHook, failed_trial, run_trial
from windtunnel.testbeds.base import Testbed

_INVALID_IN_A_ROW = 3


class Listener(Contract):
    """Who is told how a study goes on."""

    def started(self, done: int, total: int) -> None:
        """The study begins, or goes on, with ``done`` of ``total`` trials in the journal."""
        ...

    def deploying(self, cluster: Cluster, why: str) -> None:
        """A cluster is being started."""
        ...

    def trial_started(self, slot: Slot, attempt: int) -> None:
        """A trial begins."""
        ...

    def phase(self, name: str) -> None:
        """A phase of the running trial begins."""
        ...

    def trial_ended(self, trial: Trial, done: int, total: int, left_s: float | None) -> None:
        """A trial is in the journal; ``left_s`` is the expected time to the end."""
        ...

    def note(self, text: str) -> None:
        """Something that the user should know."""
        ...


@dataclass
class Runner:
    """Runs a plan into a journal on a testbed.

    ``stop_requested`` may be set at any time (from a signal handler): the running trial is
    finished, then :class:`InterruptedStudyError` is raised.
    """

    plan: Plan
    journal: Journal
    testbed: Testbed
    listener: Listener
    retry_invalid: bool = False
    after_phase: PhaseHook | None = None
    stop_requested: bool = False
    _stack: ExitStack = field(default_factory=ExitStack)
    _deployment: Deployment | None = None
    _invalid_in_a_row: int = 0
    _durations: list[float] = field(default_factory=list)
    _done: int = 0
    _total: int = 0

    def run(self) -> None:
        """Run what the journal does not hold yet.

        Raises
        ------
        StudyStoppedError
            After three invalid trials in a row.
        InterruptedStudyError
            If a stop was requested.
        """
        passes = [self.plan.warmup_slots(i + 1) for i in range(self.plan.protocol.warmup)]
        passes += [self.plan.round_slots(i + 1) for i in range(self.plan.protocol.rounds)]
        self._total = sum(len(slots) for slots in passes)
        self._done = sum(not self._open(slot) for slots in passes for slot in slots)
        self.listener.started(self._done, self._total)
        with self._stack:
            for slots in passes:
                self._run_pass(slots)
            self._run_extra_rounds()

    def _open(self, slot: Slot) -> bool:
        """Whether a slot still needs a trial."""
        attempts = self.journal.attempts(slot)
        if any(trial.verdict.valid for trial in attempts):
            return False
        return self.retry_invalid or len(attempts) <= self.plan.protocol.retry_invalid

    def _run_pass(self, slots: list[Slot]) -> None:
        """Run the open slots; those that came out invalid again at the end of the pass."""
        pending = [slot for slot in slots if self._open(slot)]
        for _ in range(1 + max(self.plan.protocol.retry_invalid, int(self.retry_invalid))):
            again = [slot for slot in pending if not self._run_slot(slot)]
            pending = [slot for slot in again if self._may_repeat(slot)]

    def _may_repeat(self, slot: Slot) -> bool:
        return len(self.journal.attempts(slot)) <= self.plan.protocol.retry_invalid

    def _run_extra_rounds(self) -> None:
        rounds = self.plan.protocol.rounds
        for number in range(rounds + 1, rounds + 1 + self.plan.protocol.extra_rounds):
            noisy = self._noisy_cells(number)
            if not noisy:
                return
            slots = self.plan.extra_slots(number, noisy)
            pending = [slot for slot in slots if self._open(slot)]
            if pending:
                names = ", ".join(f"{workload} {treatment}" for workload, treatment in noisy)
                self.listener.note(f"variation above the limit: one more round of {names}")
            self._total += len(slots)
            self._done += len(slots) - len(pending)
            self._run_pass(slots)

    def _noisy_cells(self, before_round: int) -> list[tuple[str, str]]:
        """Cells in which a phase, or the total, varies by more than the limit so far."""
        cells: dict[tuple[str, str, str], list[float]] = {}
        for trial in self.journal.trials():
            if trial.verdict.valid and 0 < trial.round < before_round:
                times = {phase.name: phase.elapsed_s for phase in trial.phases}
                for name, elapsed_s in (times | {"": sum(times.values())}).items():
                    key = (trial.workload, trial.treatment.id, name)
                    cells.setdefault(key, []).append(elapsed_s)
        limit = self.plan.protocol.variation_limit
        noisy = [
            (workload, treatment)
            for (workload, treatment, _), times in cells.items()
            if len(times) > 1 and statistics.stdev(times) / statistics.fmean(times) > limit
        ]
        return list(dict.fromkeys(noisy))

    def _run_slot(self, slot: Slot) -> bool:
        """Run one trial of a slot; returns whether it is valid."""
        if self.stop_requested:
            raise InterruptedStudyError(
                f"stopped after {self._done} of {self._total} trials, as asked",
                remedy="run the same command again: it goes on where it stopped.",
            )
        began = time.monotonic()
        attempt = max((trial.attempt for trial in self.journal.attempts(slot)), default=0) + 1
        trial = self._attempt(slot, attempt)
        self._durations.append(time.monotonic() - began)
        self._count(trial, slot)
        return trial.verdict.valid

    def _attempt(self, slot: Slot, attempt: int) -> Trial:
        started_at = time.time()
        try:
            deployment = self._deployment_for(self.plan.cluster_of(slot.treatment))
        except DeploymentError as error:
            self._drop_deployment()
            log = f"; log: {error.log}" if error.log else ""
            reason = f"the cluster did not come up: {error.message}{log}"
            return failed_trial(self.plan, slot, attempt, self.journal, reason, started_at)
        self.listener.trial_started(slot, attempt)
        provenance = {"machine": machine_facts(), "software": self.testbed.provenance(deployment)}
        trial, broken = run_trial(
            self.plan,
            slot,
            attempt,
            deployment,
            self.journal,
            provenance=self.journal.store_provenance(provenance),
            on_phase=self.listener.phase,
            after_phase=self.after_phase,
        )
        if broken:
            self._drop_deployment()
        return trial

    def _count(self, trial: Trial, slot: Slot) -> None:
        final = trial.verdict.valid or not self._may_repeat(slot)
        self._done += final
        left = self._total - self._done
        left_s = left * statistics.fmean(self._durations) if self._durations else None
        self.listener.trial_ended(trial, self._done, self._total, left_s)
        self._invalid_in_a_row = 0 if trial.verdict.valid else self._invalid_in_a_row + 1
        if self._invalid_in_a_row >= _INVALID_IN_A_ROW:
            raise StudyStoppedError(
                f"{_INVALID_IN_A_ROW} trials in a row were invalid; the last one: "
                f"{trial.verdict.reason}",
                remedy="mend the cause, then run the same command with --retry-invalid: "
                "the valid trials are kept.",
            )

    def _deployment_for(self, cluster: Cluster) -> Deployment:
        """The running deployment, changed to ``cluster`` where that suffices, or a new one."""
        if self._deployment is not None:
            try:
                self._deployment.check_alive()
                for line in self.testbed.reconfigure(self._deployment, cluster):
                    self.listener.note(line)
                return self._deployment
            except DeploymentError as error:
                self._drop_deployment()
                why = error.message
        else:
            why = "none is running"
        self.listener.deploying(cluster, why)
        self._deployment = self._stack.enter_context(self.testbed.deploy(cluster))
        return self._deployment

    def _drop_deployment(self) -> None:
        self._deployment = None
        self._stack.close()
