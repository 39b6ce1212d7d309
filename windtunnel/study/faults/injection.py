"""Injection of faults: inject at the set time, watch the replicas, undo, restore the cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment
from windtunnel.engines.faults import Copies, Faulty, Undo
from windtunnel.errors import DeploymentError
from windtunnel.results.record import FaultRecord, Metric
from windtunnel.results.trial_metrics import DATA_MOVED_BACK, FAULT_NOTICED, REPLICATION_WHOLE
from windtunnel.study.faults.base import Options
from windtunnel.study.faults.replication import Recovery

_STEP_S = 0.5
_ANSWER_S = 10.0


class Injection(threading.Thread):
    """One fault of a running trial, in its own thread, because the job runs at the same time.

    ``problem`` is the reason why it could not be injected or undone; empty if there is none.
    """

    def __init__(self, fault: Options, cluster: Cluster, faulty: Faulty, phase: str) -> None:
        super().__init__(name=f"fault {fault.kind}", daemon=True)
        self.record = FaultRecord(
            kind=fault.kind,
            target=fault.target(cluster),
            text=fault.words(cluster, phase),
            phase=phase,
            after_s=fault.after,
            at_progress=fault.at,
            ordered=fault.moves_data,
        )
        self.problem = ""
        self.affects_replicas = fault.affects_replicas(cluster)
        self._fault, self._cluster, self._faulty = fault, cluster, faulty
        self._too_late = threading.Event()
        self._decided = threading.Event()
        self._wake = threading.Event()
        self._last_s: float | None = None  # monotonic time at which watching ends
        self._abandoned = False

    def run(self) -> None:
        """Wait for the time of the fault, inject it, and watch it until it is undone."""
        try:
            if self._moment_comes():
                self._inject()
        except Exception as error:  # the trial reports every error as a problem of the fault
            self.problem = f"{self.record.text}: {error}"
        finally:
            self._decided.set()

    def phase_over(self, finished_at: float) -> None:
        """Stop waiting, because the phase has ended: the fault was injected or will never be.

        ``finished_at`` is the end of the job in epoch seconds; the phase ends later. If the target
        runs only in that phase, the fault is undone before the next phase.
        """
        self._too_late.set()
        self._decided.wait()
        if self._fault.within_phase():
            self._last_s = time.monotonic()
            self._wake.set()
            self.join()
        late = self.record.at is None or self.record.at > finished_at
        if late and not self.problem:
            self.problem = (
                f"the fault was planned {self._fault.moment()} the job of {self.record.phase}, "
                "which ended earlier"
            )

    def phases_over(self, since_s: float) -> None:
        """End the fault after the last phase: watch the replicas for a while, then undo it.

        Parameters
        ----------
        since_s:
            Monotonic time at which the watching began, that of other faults included.
        """
        self._last_s = since_s + (self._fault.watch if self.affects_replicas else 0.0)
        self._wake.set()
        if self.ident is None:
            self.problem = f"the phase {self.record.phase} did not run"
        else:
            self.join()

    def abandon(self) -> None:
        """End without undoing the fault, because the deployment is abandoned."""
        self._abandoned = True
        self._last_s = time.monotonic()
        self._too_late.set()
        self._wake.set()
        if self.ident is not None:
            self.join()

    def _moment_comes(self) -> bool:
        """Wait from the start of the job; False if the phase ended before the time of the fault."""
        since, at = time.time(), self._fault.at or 0.0
        while (done := self._faulty.progress(since)) is None or done < at:
            if self._too_late.wait(_STEP_S / 2):
                return False
        return not self._too_late.wait(self._fault.after)

    def _inject(self) -> None:
        before = self._replicas_before() if self.affects_replicas else None
        if self._too_late.is_set():  # the phase ended while the NameNode answered
            return
        self.record.at = time.time()
        undo = self._injected()
        if self._fault.moves_data:  # it counts from the time at which the storage has accepted it
            self.record.at = time.time()
        self._decided.set()
        sure_s = self._fault.sure_s(self._faulty)
        recovery = Recovery(before, sure_s) if before is not None else None
        moved = self._fault.moves_data and self._faulty.moves_data_back()
        back = Recovery(before, sure_s) if before is not None and moved else None
        self._watch(undo, recovery, back)

    def _replicas_before(self) -> Copies:
        """The replicas just before the fault; a busy NameNode may answer late."""
        until = time.monotonic() + _ANSWER_S
        while (before := self._faulty.copies()) is None:
            if time.monotonic() > until or self._too_late.wait(_STEP_S):
                raise DeploymentError("the NameNode did not answer just before the fault")
        return before

    def _injected(self) -> Undo:
        try:
            return self._fault.inject(self._faulty, self._cluster)
        except BaseException:
            self.record.at = None
            raise

    def _watch(self, undo: Undo, recovery: Recovery | None, back: Recovery | None) -> None:
        """Watch the replicas until they are complete or the time is over; undo the fault.

        ``back`` evaluates the states after the fault was undone, if data moves back then.
        """
        began = time.monotonic()
        undone_s: float | None = None  # seconds since the fault
        while not self._abandoned:
            now_s = time.monotonic() - began
            over = self._last_s is not None and time.monotonic() >= self._last_s
            last = self._last_s is not None and (over or _known(recovery))
            if undone_s is None and (last or self._lasted(now_s)):
                self._undo(undo)
                undone_s = time.monotonic() - began
                if last and back is None:
                    return
                if last:
                    self._last_s, over = time.monotonic() + self._fault.watch, False
            if recovery is not None:
                self._look(recovery, back, round(time.monotonic() - began, 3), undone_s)
            settled = self._settled(recovery, back, undone=undone_s is not None)
            if undone_s is not None and self._last_s is not None and (settled or over):
                return
            if self._wake.wait(_STEP_S) and not settled:
                time.sleep(_STEP_S)

    def _settled(self, recovery: Recovery | None, back: Recovery | None, *, undone: bool) -> bool:
        """Whether nothing more is to be observed."""
        if undone and self._fault.moves_data:  # the host is back: nothing is copied away any more
            return _known(back)
        return _known(recovery)

    def _lasted(self, now_s: float) -> bool:
        return self._fault.lasts is not None and now_s >= self._fault.lasts

    def _undo(self, undo: Undo) -> None:
        undo()
        self.record.undone_at = time.time()

    def _look(
        self, recovery: Recovery, back: Recovery | None, now_s: float, undone_s: float | None
    ) -> None:
        """Evaluate the present state of replication and note the times that are known."""
        began = time.monotonic()
        copies = self._faulty.copies()
        took_s = round(time.monotonic() - began, 3)
        if undone_s is None or not self._fault.moves_data:
            recovery.look(now_s, copies, undone=undone_s is not None, took_s=took_s)
            if not self._fault.moves_data:  # the storage knows it from the order
                self.record.noticed_s = recovery.noticed_s
            self.record.whole_s = recovery.whole_s
            self.record.watched_s = round(now_s + took_s, 3)
        if back is not None and undone_s is not None:
            since_s = round(max(0.0, now_s - undone_s), 3)
            back.look(since_s, copies, undone=True, took_s=took_s)
            self.record.moved_back_s = back.whole_s
            self.record.watched_back_s = round(since_s + took_s, 3)


def _known(recovery: Recovery | None) -> bool:
    """Whether the time of full replication is known or not needed."""
    return recovery is None or recovery.whole_s is not None


class Injector:
    """All faults of a trial.

    Parameters
    ----------
    phases:
        Phases of the workload, in order; a fault without a phase is injected into the first.

    Raises
    ------
    DeploymentError
        If there are faults and the deployment does not support them.
    """

    def __init__(
        self,
        faults: Sequence[Options],
        cluster: Cluster,
        phases: Sequence[str],
        deployment: Deployment,
    ) -> None:
        self.injections: list[Injection] = []
        if not faults:
            return
        if deployment.faulty is None:
            raise DeploymentError("this deployment does not support faults")
        self._faulty = deployment.faulty
        self.injections = [
            Injection(fault, cluster, self._faulty, fault.phase or phases[0]) for fault in faults
        ]

    @property
    def records(self) -> list[FaultRecord]:
        """The records of all faults."""
        return [injection.record for injection in self.injections]

    @property
    def injected(self) -> bool:
        """Whether at least one fault was injected, and none had a problem."""
        made = any(injection.record.at is not None for injection in self.injections)
        return made and not any(injection.problem for injection in self.injections)

    @property
    def in_force(self) -> bool:
        """Whether a fault was injected and is not undone yet."""
        return any(one.at is not None and one.undone_at is None for one in self.records)

    def phase_begins(self, phase: str) -> None:
        """Start the injections of a phase."""
        for injection in self._of(phase):
            injection.start()

    def phase_ended(self, phase: str, finished_at: float) -> None:
        """Raise DeploymentError if a fault was not injected before the end of the job (epoch s)."""
        for injection in self._of(phase):
            injection.phase_over(finished_at)
        self._raise_problems()

    def put_back(self) -> str:
        """End all faults after the last phase and restore the cluster.

        Returns the reason if the cluster could not be restored, else an empty text. The deployment
        must then not be used again, but the output can still be verified. Raises DeploymentError if
        a fault could not be undone.
        """
        since_s = time.monotonic()
        # data moves to a host only if the daemons of the others serve again
        for injection in sorted(self.injections, key=lambda one: one.record.ordered):
            injection.phases_over(time.monotonic() if injection.record.ordered else since_s)
        self._raise_problems()
        try:
            if self.injections:
                self._faulty.restore(copies=any(i.affects_replicas for i in self.injections))
        except DeploymentError as error:
            return error.message
        return ""

    def abandon(self) -> None:
        """End all threads without undoing the faults, because the deployment is abandoned."""
        for injection in self.injections:
            injection.abandon()

    def metrics(self) -> dict[str, Metric]:
        """The times of the recovery in seconds; of several faults, the longest."""
        found = {}
        watching = [i for i in self.injections if i.affects_replicas]
        silent = [i for i in watching if not i.record.ordered]
        moving = [i for i in watching if i.record.ordered]
        for info, field, injections in (
            (FAULT_NOTICED, "noticed_s", silent),
            (REPLICATION_WHOLE, "whole_s", watching),
            (DATA_MOVED_BACK, "moved_back_s", moving),
        ):
            known = [v for i in injections if (v := getattr(i.record, field)) is not None]
            if known and len(known) == len(injections):
                found[info.name] = info.of(max(known))
        return found

    def _of(self, phase: str) -> list[Injection]:
        return [injection for injection in self.injections if injection.record.phase == phase]

    def _raise_problems(self) -> None:
        problems = [injection.problem for injection in self.injections if injection.problem]
        if problems:
            raise DeploymentError(
                f"the fault was not injected or undone as planned: {'; '.join(problems)}"
            )
