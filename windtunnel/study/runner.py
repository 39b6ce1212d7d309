"""The runner: it runs the rounds of a plan until the plan is done or has to stop."""

from __future__ import annotations

import statistics
import time
from collections.abc import Hashable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from typing import Protocol as Contract

from windtunnel import plugins
from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment
from windtunnel.errors import DeploymentError, InterruptedStudyError, InvalidTrialsError
from windtunnel.probes.machine import machine_facts
from windtunnel.results.decision import DecisionRecord
from windtunnel.results.record import Trial
from windtunnel.study.journal import Journal
from windtunnel.study.plan import Plan, Slot
from windtunnel.study.retest import extra_passes
from windtunnel.study.sample_size import decide
from windtunnel.study.trial import Conditions, PhaseHook, failed_trial, run_trial
from windtunnel.testbeds.base import ClusterTestbed

_INVALID_IN_A_ROW = 3
_NONE_RUNS = "none is running"
_PAUSE_STEP_S = 0.2
_OTHER_CLOCKS = "time.time() of the measuring program; the daemons have the clocks of their hosts"


class Listener(Contract):
    """Receives the events of a running study."""

    def started(self, done: int, total: int) -> None:
        """The study starts or resumes with ``done`` of ``total`` trials in the journal."""
        ...

    def deploying(self, cluster: Cluster, why: str) -> None:
        """A cluster is being started."""
        ...

    def trial_started(self, slot: Slot, attempt: int) -> None:
        """A trial starts."""
        ...

    def phase(self, name: str) -> None:
        """A phase of the running trial starts."""
        ...

    def trial_ended(self, trial: Trial, done: int, total: int, left_s: float | None) -> None:
        """A trial was recorded; ``left_s`` is the expected time to the end of the study."""
        ...

    def note(self, text: str) -> None:
        """A remark for the user."""
        ...


@dataclass
class Runner:
    """Runs a plan on a testbed and records its trials in a journal.

    If ``last_round`` is set, the runner stops after this round, and another runner can resume the
    study. ``stop_requested`` can be set at any time (by a signal handler): the runner finishes the
    running trial, then raises :class:`InterruptedStudyError`.
    """

    plan: Plan
    journal: Journal
    testbed: ClusterTestbed
    listener: Listener
    retry_invalid: bool = False
    last_round: int | None = None
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
    _study: dict[Hashable, Any] = field(default_factory=dict)  # what workloads note for later
    _done: int = 0
    _total: int = 0

    def run(self) -> None:
        """Run the trials that the journal does not contain yet.

        Raises
        ------
        InvalidTrialsError
            After three invalid trials in a row, or if no trial is valid at the end.
        InterruptedStudyError
            If a stop was requested.
        """
        self.testbed.begin_study(self.journal.study.id, self.listener.note)
        self._deployments = max((t.deployment or 0 for t in self.journal.trials()), default=0)
        known = self._rounds_known()
        rounds = min(known, self.last_round or known)
        measured = [self.plan.round_slots(i + 1) for i in range(rounds)]
        passes = [*self._warmups(measured), *measured]
        self._total = sum(len(slots) for slots in passes)
        self._done = sum(not self._open(slot) for slots in passes for slot in slots)
        self.listener.started(self._done, self._total)
        with self._stack:
            for slots in passes:
                self._run_pass(slots)
            self._refuse_nothing()
            if rounds < known:
                return
            decided = rounds if self.plan.protocol.detect is None else self._decide().rounds
            if self.last_round is not None:
                return
            for number in range(rounds + 1, decided + 1):
                self._add_pass(self.plan.round_slots(number))
            self._run_extra_rounds(decided)

    def _refuse_nothing(self) -> None:
        """Raise InvalidTrialsError if every trial so far is invalid: there is nothing to report."""
        trials = [trial for trial in self.journal.trials() if not trial.warmup]
        if trials and not any(trial.answers for trial in trials):
            raise InvalidTrialsError(
                f"no trial of the study is valid; the last one: {trials[-1].verdict.reason}"
            )

    def _warmups(self, measured: list[list[Slot]]) -> list[list[Slot]]:
        """The warm-up passes; a resumed study repeats them, because its daemons are new."""
        passes = [self.plan.warmup_slots(i + 1) for i in range(self.plan.protocol.warmup)]
        if any(self._open(slot) for slots in measured for slot in slots):
            self._cold = {slot.id for slots in passes for slot in slots}
            self._warm = True
        return passes

    def _rounds_known(self) -> int:
        """The number of known rounds: those of the pilot until the decision."""
        decision = self.journal.decision
        return decision.rounds if decision else self.plan.protocol.rounds

    def _decide(self) -> DecisionRecord:
        """The decision on the number of rounds, from the journal or made now, once."""
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
        """Run the open slots, and repeat those with an invalid trial at the end of the pass."""
        pending = [slot for slot in slots if self._open(slot)]
        if pending and self.plan.protocol.restart == "round":
            self._drop_deployment("the protocol restarts it before each round")
        for _ in range(1 + max(self.plan.protocol.retry_invalid, int(self.retry_invalid))):
            again = [slot for slot in pending if not self._run_slot(slot)]
            pending = [slot for slot in again if self._may_repeat(slot)]

    def _may_repeat(self, slot: Slot) -> bool:
        return len(self.journal.attempts(slot)) <= self.plan.protocol.retry_invalid

    def _add_pass(self, slots: list[Slot]) -> None:
        """Run an additional pass, after warm-ups if the resumed study had none yet."""
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
                names = "; ".join(self.plan.name_of(slot) for slot in slots)
                self.listener.note(f"variation above the limit: one more round of {names}")
            self._add_pass(slots)

    def _run_slot(self, slot: Slot) -> bool:
        """Run one trial of a slot; returns whether the slot is done."""
        self._stop_if_requested()
        began = time.monotonic()
        attempt = max((trial.attempt for trial in self.journal.attempts(slot)), default=0) + 1
        trial = self._attempt(slot, attempt)
        self._durations.append(time.monotonic() - began)
        self._count(trial, slot)
        return trial.answers

    def _request_stop(self) -> None:
        self.stop_requested = True

    def _stop_if_requested(self) -> None:
        if self.stop_requested:
            raise InterruptedStudyError(
                f"stopped on request after {self._done} of {self._total} trials",
                remedy="run the same command again to resume the study.",
            )

    def _pause(self) -> None:
        """Wait for the pause of the protocol, except before the first trial of this run."""
        until = time.monotonic() + (self.plan.protocol.pause if self._durations else 0.0)
        while (left_s := until - time.monotonic()) > 0:
            self._stop_if_requested()
            time.sleep(min(left_s, _PAUSE_STEP_S))

    def _attempt(self, slot: Slot, attempt: int) -> Trial:
        started_at = time.time()
        if self.plan.protocol.restart == "trial":
            self._drop_deployment("the protocol restarts it before each trial")
        self._make_ready()
        try:
            deployment = self._deployment_for(self.plan.cluster_of(slot.treatment))
        except DeploymentError as error:
            self._drop_deployment(_NONE_RUNS)
            log = f"; log: {error.log}" if error.log else ""
            what = "did not start" if self.testbed.starts_clusters else "cannot be used"
            reason = f"the cluster {what}: {error.message}{log}"
            return failed_trial(
                self.plan, slot, attempt, self.journal, reason, started_at, self._deployments
            )
        self._pause()
        deployment.settle(self.listener.note, self._stop_if_requested)
        self.listener.trial_started(slot, attempt)
        provenance = {**_machine(deployment), "software": deployment.provenance()}
        if versions := plugins.versions():
            provenance["plugins"] = versions
        conditions = Conditions(
            number=self._deployments,
            provenance=self.journal.store_provenance(provenance),
            on_phase=self.listener.phase,
            after_phase=self.after_phase,
            judge=self.testbed.judge,
            study=self._study,
            judge_surroundings=self.testbed.judge_surroundings,
            interrupted=self._request_stop,
        )
        trial, broken = run_trial(self.plan, slot, attempt, deployment, self.journal, conditions)
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
            raise InvalidTrialsError(
                f"{_INVALID_IN_A_ROW} consecutive trials were invalid; the last one: "
                f"{trial.verdict.reason}"
            )

    def _make_ready(self) -> None:
        """Calibrate the testbed before the first trial of this run, if the testbed needs it."""
        if self._ready:
            return
        clusters = self.plan.clusters(self.plan.treatments)
        found = self.testbed.ready(clusters, self.listener.note)
        if found is not None:
            self.journal.store_calibration(found)
        self._ready = True
        self._stop_if_requested()

    def _deployment_for(self, cluster: Cluster) -> Deployment:
        """The running deployment, reconfigured to ``cluster`` if possible, or a new one."""
        if self._deployment is not None:
            try:
                self._deployment.check_alive()
                for line in self._deployment.reconfigure(cluster):
                    self.listener.note(line)
                return self._deployment
            except DeploymentError as error:
                self._drop_deployment(error.message)
        self._stop_if_requested()  # while the last one was removed
        if self.testbed.starts_clusters:
            self.listener.deploying(cluster, self._why)
        self._deployments += 1
        self._deployment = self._stack.enter_context(self.testbed.deploy(cluster))
        self._why = _NONE_RUNS
        return self._deployment

    def _drop_deployment(self, why: str) -> None:
        """Close the deployment; ``why`` is reported when the next one starts."""
        self._why = why if self._deployment is not None else self._why
        self._deployment = None
        self._stack.close()


def _machine(deployment: Deployment) -> dict[str, Any]:
    """The facts about this machine in the provenance of a trial."""
    facts = machine_facts()
    if deployment.here:
        return {"machine": facts}
    return {"client_machine": {**facts, "clock": _OTHER_CLOCKS}}
