"""Faults at their moments: strike, watch the copies, undo, put everything back."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment
from windtunnel.engines.faulty import Breakable, Faulty, Undo
from windtunnel.errors import DeploymentError
from windtunnel.results.record import FaultRecord, Metric
from windtunnel.study.faults.base import Options
from windtunnel.study.faults.wholeness import Wholeness

_STEP_S = 0.5


class Strike(threading.Thread):
    """One fault of a running trial, in a thread of its own: the job runs on meanwhile.

    ``problem`` says why it could not be made or undone; empty if it could.
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
        )
        self.problem = ""
        self.takes_copies = fault.touches_copies(cluster)
        self._fault, self._cluster, self._faulty = fault, cluster, faulty
        self._too_late = threading.Event()
        self._decided = threading.Event()
        self._wake = threading.Event()
        self._last_s: float | None = None  # monotonic: watch no longer than this
        self._abandoned = False

    def run(self) -> None:
        """Wait for the moment, strike, and stay until all is done."""
        try:
            if self._moment_comes():
                self._strike()
        except Exception as error:  # whatever it was, the trial must hear of it
            self.problem = f"{self.record.text}: {error}"
        finally:
            self._decided.set()

    def phase_over(self) -> None:
        """Its phase has ended: it struck by now, or never will."""
        self._too_late.set()
        self._decided.wait()
        if self.record.at is None and not self.problem:
            self.problem = (
                f"{self.record.phase} ended before the fault's moment: "
                f"{self._fault.moment()} its job"
            )

    def phases_over(self) -> None:
        """All phases have ended: watch the copies for a while, undo what is left, end."""
        self._last_s = time.monotonic() + (self._fault.watch if self.takes_copies else 0.0)
        self._wake.set()
        if self.ident is None:
            self.problem = f"the phase {self.record.phase} did not run"
        else:
            self.join()

    def abandon(self) -> None:
        """End without undoing: the whole deployment is given up."""
        self._abandoned = True
        self._last_s = time.monotonic()
        self._too_late.set()
        self._wake.set()
        if self.ident is not None:
            self.join()

    def _moment_comes(self) -> bool:
        """Wait for it, from the job's start, when the phase's time begins; False: it is over."""
        since, at = time.time(), self._fault.at or 0.0
        while (done := self._faulty.progress(since)) is None or done < at:
            if self._too_late.wait(_STEP_S / 2):
                return False
        return not self._too_late.wait(self._fault.after)

    def _strike(self) -> None:
        before = self._faulty.copies() if self.takes_copies else None
        if self.takes_copies and before is None:
            raise DeploymentError("the NameNode did not answer just before the fault")
        self.record.at = time.time()
        undo = self._faulty_made()
        self._decided.set()
        wholeness = Wholeness(before, self._faulty.sure_s()) if before is not None else None
        self._stay(undo, wholeness)

    def _faulty_made(self) -> Undo:
        try:
            return self._fault.strike(self._faulty, self._cluster)
        except BaseException:
            self.record.at = None
            raise

    def _stay(self, undo: Undo, wholeness: Wholeness | None) -> None:
        """Until the copies are whole or nobody waits any more, and the fault is undone."""
        began = time.monotonic()
        lasts = self._fault.lasts
        while True:
            now = time.monotonic()
            undone = self.record.undone_at is not None
            if not undone and lasts is not None and now - began >= lasts:
                self._undo(undo)
                undone = True
            if wholeness is not None:
                wholeness.look(round(now - began, 3), self._faulty.copies(), undone=undone)
                self._note(wholeness, round(time.monotonic() - began, 3))
            settled = wholeness is None or wholeness.whole_s is not None
            if self._last_s is not None and (settled or now >= self._last_s):
                break
            if self._wake.wait(_STEP_S) and not settled:
                time.sleep(_STEP_S)
        if self.record.undone_at is None and not self._abandoned:
            self._undo(undo)

    def _undo(self, undo: Undo) -> None:
        undo()
        self.record.undone_at = time.time()

    def _note(self, wholeness: Wholeness, now_s: float) -> None:
        self.record.noticed_s = wholeness.noticed_s
        self.record.whole_s = wholeness.whole_s
        self.record.watched_s = now_s


class Injector:
    """All faults of a trial.

    Parameters
    ----------
    phases:
        Of the workload, in order: a fault that names none strikes in the first.

    Raises
    ------
    DeploymentError
        If there are faults, and the deployment is of a kind that none can be made in.
    """

    def __init__(
        self,
        faults: Sequence[Options],
        cluster: Cluster,
        phases: Sequence[str],
        deployment: Deployment,
    ) -> None:
        self.strikes: list[Strike] = []
        if not faults:
            return
        if not isinstance(deployment, Breakable):
            raise DeploymentError("no faults can be made in this deployment")
        self._faulty = deployment.faulty
        self.strikes = [
            Strike(fault, cluster, self._faulty, fault.phase or phases[0]) for fault in faults
        ]

    @property
    def records(self) -> list[FaultRecord]:
        """What became of each."""
        return [strike.record for strike in self.strikes]

    @property
    def struck(self) -> bool:
        """Whether at least one has struck, and none had a problem."""
        made = any(strike.record.at is not None for strike in self.strikes)
        return made and not any(strike.problem for strike in self.strikes)

    def phase_begins(self, phase: str) -> None:
        """Count from now to the faults of a phase."""
        for strike in self._of(phase):
            strike.start()

    def phase_ended(self, phase: str) -> None:
        """Raise DeploymentError if a fault of the phase did not strike."""
        for strike in self._of(phase):
            strike.phase_over()
        self._raise_problems()

    def put_back(self) -> str:
        """After the last phase: end all faults, and have the cluster as it was.

        Returns why it is not, empty if it is: the deployment must then not be used again,
        though the output can still be looked at. Raises DeploymentError if a fault could not
        be undone.
        """
        for strike in self.strikes:
            strike.phases_over()
        self._raise_problems()
        try:
            if self.strikes:
                self._faulty.restore(copies=any(strike.takes_copies for strike in self.strikes))
        except DeploymentError as error:
            return error.message
        return ""

    def abandon(self) -> None:
        """End all threads; the deployment is given up with whatever is broken in it."""
        for strike in self.strikes:
            strike.abandon()

    def metrics(self) -> dict[str, Metric]:
        """Seconds until a loss was noticed and until all was whole; the longest of several."""
        found = {}
        for name, field in (("fault_noticed", "noticed_s"), ("replication_whole", "whole_s")):
            watching = [s.record for s in self.strikes if s.takes_copies]
            known = [v for record in watching if (v := getattr(record, field)) is not None]
            if known and len(known) == len(watching):
                found[name] = Metric(value=max(known), unit="s")
        return found

    def _of(self, phase: str) -> list[Strike]:
        return [strike for strike in self.strikes if strike.record.phase == phase]

    def _raise_problems(self) -> None:
        problems = [strike.problem for strike in self.strikes if strike.problem]
        if problems:
            raise DeploymentError(f"a fault was not as planned: {'; '.join(problems)}")
