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
from windtunnel.results.decision import DecisionRecord
from windtunnel.results.record import Trial
from windtunnel.study.journal import Journal
from windtunnel.study.plan import Plan, Slot
from windtunnel.study.retest import extra_passes
from windtunnel.study.sample_size import decide
from windtunnel.study.trial import PhaseHook, failed_trial, run_trial
from windtunnel.testbeds.base import Testbed

_INVALID_IN_A_ROW = 3
_NONE_RUNS = "none is running"
_PAUSE_STEP_S = 0.2


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

    With ``pilot`` the runner stops after the pilot (the first round, if the protocol names
    none); without it the study goes on from there.
    ``stop_requested`` may be set at any time (from a signal handler): the running trial is
    finished, then :class:`InterruptedStudyError` is raised.
    """

    plan: Plan
    journal: Journal
    testbed: Testbed
    listener: Listener
    retry_invalid: bool = False
    pilot: bool = False
    after_phase: PhaseHook | None = None
    stop_requested: bool = False
    _stack: ExitStack = field(default_factory=ExitStack)
    _deployment: Deployment | None = None
    _deployments: int = 0
    _ready: bool = False
    _why: str = _NONE_RUNS
    _invalid_in_a_row: int = 0
    _durations: list[float] = field(default_factory=list)
    _cold: set[str] = field(default_factory=set)
    _warm: bool = False
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
        self._deployments = max((t.deployment or 0 for t in self.journal.trials()), default=0)
        rounds = self._rounds_known()
        measured = [self.plan.round_slots(i + 1) for i in range(rounds)]
        passes = [*self._warmups(measured), *measured]
        self._total = sum(len(slots) for slots in passes)
        self._done = sum(not self._open(slot) for slots in passes for slot in slots)
        self.listener.started(self._done, self._total)
        with self._stack:
            for slots in passes:
                self._run_pass(slots)
            decided = rounds if self.plan.protocol.detect is None else self._decide().rounds
            if self.pilot:
                return
            for number in range(rounds + 1, decided + 1):
                self._add_pass(self.plan.round_slots(number))
            self._run_extra_rounds(decided)

    def _warmups(self, measured: list[list[Slot]]) -> list[list[Slot]]:
        """The warm-up passes; again where a study goes on, as its new daemons are cold."""
        passes = [self.plan.warmup_slots(i + 1) for i in range(self.plan.protocol.warmup)]
        if any(self._open(slot) for slots in measured for slot in slots):
            self._cold = {slot.id for slots in passes for slot in slots}
            self._warm = True
        return passes

    def _rounds_known(self) -> int:
        """Rounds that are certain now: those of the pilot until its decision is made."""
        protocol = self.plan.protocol
        if self.pilot:
            return protocol.pilot_rounds or 1
        return self.journal.decision.rounds if self.journal.decision else protocol.rounds

    def _decide(self) -> DecisionRecord:
        """The decision on the number of rounds: the one of the journal, or made now, once."""
        if self.journal.decision is None:
            trials = self.journal.trials()
            self.journal.decide(decide(self.plan, self.journal.study.id, trials))
        assert self.journal.decision is not None
        self.listener.note(self.journal.decision.text)
        return self.journal.decision

    def _open(self, slot: Slot) -> bool:
        """Whether a slot still needs a trial."""
        if slot.id in self._cold:
            return True
        attempts = self.journal.attempts(slot)
        if any(trial.answers for trial in attempts):
            return False
        return self.retry_invalid or len(attempts) <= self.plan.protocol.retry_invalid

    def _run_pass(self, slots: list[Slot]) -> None:
        """Run the open slots; those that came out invalid again at the end of the pass."""
        pending = [slot for slot in slots if self._open(slot)]
        if pending and self.plan.protocol.restart == "round":
            self._drop_deployment("the protocol starts it anew before each round")
        for _ in range(1 + max(self.plan.protocol.retry_invalid, int(self.retry_invalid))):
            again = [slot for slot in pending if not self._run_slot(slot)]
            pending = [slot for slot in again if self._may_repeat(slot)]

    def _may_repeat(self, slot: Slot) -> bool:
        return len(self.journal.attempts(slot)) <= self.plan.protocol.retry_invalid

    def _add_pass(self, slots: list[Slot]) -> None:
        """Run a pass that the study grew by, warm-ups first if it goes on with it."""
        if not self._warm:
            for again in self._warmups([slots]):
                self._total += sum(slot.id in self._cold for slot in again)
                self._run_pass([slot for slot in again if slot.id in self._cold])
        self._total += len(slots)
        self._done += sum(not self._open(slot) for slot in slots)
        self._run_pass(slots)

    def _run_extra_rounds(self, rounds: int) -> None:
        for number, cells in extra_passes(self.plan.protocol, rounds, self.journal.trials):
            slots = self.plan.extra_slots(number, cells)
            if any(self._open(slot) for slot in slots):
                names = ", ".join(f"{workload} {treatment}" for workload, treatment in cells)
                self.listener.note(f"variation above the limit: one more round of {names}")
            self._add_pass(slots)

    def _run_slot(self, slot: Slot) -> bool:
        """Run one trial of a slot; returns whether the slot needs no other."""
        self._stop_if_asked()
        began = time.monotonic()
        attempt = max((trial.attempt for trial in self.journal.attempts(slot)), default=0) + 1
        trial = self._attempt(slot, attempt)
        self._durations.append(time.monotonic() - began)
        self._count(trial, slot)
        return trial.answers

    def _stop_if_asked(self) -> None:
        if self.stop_requested:
            raise InterruptedStudyError(
                f"stopped after {self._done} of {self._total} trials, as asked",
                remedy="run the same command again: it goes on where it stopped.",
            )

    def _pause(self) -> None:
        """Let the machine settle: after a trial of this run, with the next cluster ready."""
        until = time.monotonic() + (self.plan.protocol.pause if self._durations else 0.0)
        while (left_s := until - time.monotonic()) > 0:
            self._stop_if_asked()
            time.sleep(min(left_s, _PAUSE_STEP_S))

    def _attempt(self, slot: Slot, attempt: int) -> Trial:
        started_at = time.time()
        if self.plan.protocol.restart == "trial":
            self._drop_deployment("the protocol starts it anew before each trial")
        self._make_ready()
        try:
            deployment = self._deployment_for(self.plan.cluster_of(slot.treatment))
        except DeploymentError as error:
            self._drop_deployment(_NONE_RUNS)
            log = f"; log: {error.log}" if error.log else ""
            reason = f"the cluster did not come up: {error.message}{log}"
            return failed_trial(
                self.plan, slot, attempt, self.journal, reason, started_at, self._deployments
            )
        self._pause()
        self.listener.trial_started(slot, attempt)
        provenance = {"machine": machine_facts(), "software": self.testbed.provenance(deployment)}
        trial, broken = run_trial(
            self.plan,
            slot,
            attempt,
            deployment,
            self.journal,
            number=self._deployments,
            provenance=self.journal.store_provenance(provenance),
            on_phase=self.listener.phase,
            after_phase=self.after_phase,
            judge=self.testbed.judge,
        )
        if broken:
            self._drop_deployment(_NONE_RUNS)
        return trial

    def _count(self, trial: Trial, slot: Slot) -> None:
        self._cold.discard(slot.id)
        final = trial.answers or not self._may_repeat(slot)
        self._done += final
        left = self._total - self._done
        left_s = left * statistics.fmean(self._durations) if self._durations else None
        self.listener.trial_ended(trial, self._done, self._total, left_s)
        self._invalid_in_a_row = 0 if trial.answers else self._invalid_in_a_row + 1
        if self._invalid_in_a_row >= _INVALID_IN_A_ROW:
            raise StudyStoppedError(
                f"{_INVALID_IN_A_ROW} trials in a row were invalid; the last one: "
                f"{trial.verdict.reason}",
                remedy="mend the cause, then run the same command with --retry-invalid: "
                "the valid trials are kept.",
            )

    def _make_ready(self) -> None:
        """Before the first trial of this run: what the testbed sets is what it gives."""
        if self._ready:
            return
        clusters = self.plan.clusters(self.plan.treatments)
        found = self.testbed.ready(clusters, self.listener.note)
        if found is not None:
            self.journal.store_calibration(found)
        self._ready = True
        self._stop_if_asked()

    def _deployment_for(self, cluster: Cluster) -> Deployment:
        """The running deployment, changed to ``cluster`` where that suffices, or a new one."""
        if self._deployment is not None:
            try:
                self._deployment.check_alive()
                for line in self.testbed.reconfigure(self._deployment, cluster):
                    self.listener.note(line)
                return self._deployment
            except DeploymentError as error:
                self._drop_deployment(error.message)
        self.listener.deploying(cluster, self._why)
        self._deployments += 1
        self._deployment = self._stack.enter_context(self.testbed.deploy(cluster))
        self._why = _NONE_RUNS
        return self._deployment

    def _drop_deployment(self, why: str) -> None:
        """Close what runs; ``why`` is told when the next one starts."""
        self._why = why if self._deployment is not None else self._why
        self._deployment = None
        self._stack.close()
