"""The abort rule: it checks the state of a cluster, and states when a study must stop its job.

A thread reads the state of the cluster at an interval. A limit that is exceeded ends the running
job; between trials the study waits until no limit is exceeded.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from windtunnel.cluster import format_duration, format_fraction
from windtunnel.errors import ClusterAccessError, StudyStoppedError
from windtunnel.results.metrics import numbers
from windtunnel.results.record import Metric
from windtunnel.results.trial_metrics import (
    FREE_SPACE,
    OTHER_APPLICATIONS,
    OTHER_CONTAINERS,
    OTHER_PENDING,
)
from windtunnel.testbeds.attached.options import Limits
from windtunnel.testbeds.attached.status import Hidden, Reading

ElsewhereRule = Callable[[str], str]
"""The queue of an own application -> the permitted queue if it is another one; else empty."""
_UNANSWERED_S = 30.0
"""Time without any answer after which the cluster counts as not watched."""
_WAIT_STEP_S = 0.2


@dataclass
class Rule:
    """The abort rule, applied to one reading after the other.

    ``start`` is the state at the start of the study: the limits of blocks and nodes are relative
    to it.
    """

    limits: Limits
    containers: int
    start: Reading
    elsewhere: ElsewhereRule = lambda _: ""
    _waiting_since: float | None = None

    def exceeded(self, now: Reading, *, before_trial: bool = False) -> list[str]:
        """The limits that a reading exceeds, in words.

        Before a trial, pending containers of other tenants are not tolerated for any time.
        """
        return list(self._exceeded(now, 0.0 if before_trial else self.limits.pending_for))

    def _exceeded(self, now: Reading, pending_for_s: float) -> Iterator[str]:
        limits, start = self.limits, self.start
        yield from self._pending(now, pending_for_s)
        if now.free_fraction < limits.free_space:
            yield (
                f"{format_fraction(now.free_fraction, 3)} of HDFS is free "
                f"(limit: {format_fraction(limits.free_space)})"
            )
        grown = {
            "missing blocks": (now.missing_blocks - start.missing_blocks, limits.missing_blocks),
            "under-replicated blocks": (
                now.under_replicated - start.under_replicated,
                limits.under_replicated,
            ),
            "lost DataNodes": (start.datanodes - now.datanodes, limits.lost_nodes),
            "lost NodeManagers": (start.nodemanagers - now.nodemanagers, limits.lost_nodes),
        }
        for what, (number, limit) in grown.items():
            if number > limit:
                yield f"{what} since the start: {number} (limit: {limit})"
        if now.own_containers > self.containers:
            yield (
                f"the study has {now.own_containers} containers (allowed by its option "
                f"'containers': {self.containers})"
            )
        for app in now.own:
            if app.queue and (permitted := self.elsewhere(app.queue)):
                yield (
                    f"the scheduler put the study's {app.id} into the queue {app.queue}; the study "
                    f"may use only {permitted}"
                )

    def _pending(self, now: Reading, pending_for_s: float) -> Iterator[str]:
        limits = self.limits
        if now.pending <= limits.pending_containers:
            self._waiting_since = None
            return
        if self._waiting_since is None:
            self._waiting_since = now.t
        waited_s = now.t - self._waiting_since
        if not pending_for_s:
            yield (
                f"other tenants wait for {now.pending} containers "
                f"(limit: {limits.pending_containers})"
            )
        elif waited_s >= pending_for_s:
            yield (
                f"other tenants have waited for {now.pending} containers for "
                f"{format_duration(round(waited_s))} (limit: {limits.pending_containers} for "
                f"{format_duration(pending_for_s)})"
            )


@dataclass
class Guard:
    """Applies the rule in a thread.

    Parameters
    ----------
    read:
        Returns the present state of the cluster; raises ClusterAccessError.
    elsewhere:
        Returns the permitted queue if the queue of an own application is another one.

    Attributes
    ----------
    reason:
        What exceeds the limits now, in words; empty if nothing does.
    in_trial:
        Whether the reason ends the job; between trials, it only delays the next trial.
    """

    limits: Limits
    containers: int
    read: Callable[[], Reading]
    baseline: Reading
    elsewhere: ElsewhereRule = lambda _: ""
    readings: list[Reading] = field(default_factory=list)
    reason: str = ""
    in_trial: bool = True
    on_reading: Callable[[Reading, Sequence[str]], None] = lambda *_: None
    _rule: Rule | None = None
    _failure: str = ""  # why the thread ended early
    _answered: float = field(default_factory=time.monotonic)
    _ending: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Read the state for the first time, and start the thread; raises ClusterAccessError."""
        first = self.read()
        self._rule = Rule(self.limits, self.containers, self.baseline, self.elsewhere)
        self.reason = "; ".join(self._rule.exceeded(first))
        self.readings.append(first)
        self._answered = time.monotonic()
        self._thread = threading.Thread(target=self._loop, name="abort rule", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=15)

    def look(self, *, before_trial: bool = False) -> str:
        """Read the state now; returns what exceeds the limits, empty if nothing does."""
        assert self._rule is not None
        with self._lock:
            try:
                found = self.read()
            except ClusterAccessError as error:
                silent_s = time.monotonic() - self._answered
                if silent_s > _UNANSWERED_S:
                    self.reason = f"the cluster cannot be watched: {error.message}"
                return self.reason
            self._answered = time.monotonic()
            beyond = self._rule.exceeded(found, before_trial=before_trial)
            self.readings.append(found)
            self.on_reading(found, beyond)
            self.reason = "; ".join([*filter(None, [self._failure]), *beyond])
            return self.reason

    def pause(self, note: Callable[[str], None], stop_if_requested: Callable[[], None]) -> None:
        """Wait until no limit is exceeded; raises StudyStoppedError after ``patience``."""
        reason = self.look(before_trial=True)
        since = time.monotonic()
        if reason:
            note(f"paused: {reason}")
        while reason:
            stop_if_requested()
            if time.monotonic() - since > self.limits.patience:
                raise StudyStoppedError(
                    f"the abort rule paused the study too long: {reason}",
                    remedy="wait until the cluster is less busy, or change 'limits' of the "
                    "testbed.",
                )
            until = time.monotonic() + self.limits.interval
            while time.monotonic() < until:
                stop_if_requested()
                time.sleep(_WAIT_STEP_S)
            reason = self.look(before_trial=True)
            if not reason:
                note(f"resumed after a pause of {time.monotonic() - since:.0f} s")

    def begin(self) -> None:
        """A trial begins: forget the readings before it, except the last one."""
        self.in_trial = True
        with self._lock:
            del self.readings[:-1]

    def end(self) -> Mapping[str, Metric]:
        """The trial has ended; returns :meth:`metrics`."""
        self.in_trial = False
        return self.metrics()

    def live(self) -> Mapping[str, int]:
        """The number of live DataNodes and NodeManagers in the last reading."""
        with self._lock:
            last = self.readings[-1]
        return {"datanodes": last.datanodes, "nodemanagers": last.nodemanagers}

    def metrics(self) -> Mapping[str, Metric]:
        """Metrics of the activity of other tenants since :meth:`begin`."""
        with self._lock:
            seen = list(self.readings)
        if not seen:
            return {}
        return numbers(
            {
                OTHER_CONTAINERS: statistics.fmean(one.other_containers for one in seen),
                OTHER_PENDING: max(one.pending for one in seen),
                OTHER_APPLICATIONS: _applications(seen),
                FREE_SPACE: min(one.free_fraction for one in seen),
            }
        )

    def _loop(self) -> None:
        """Look until the end. If it fails in another way, the study ends: nobody would watch it."""
        try:
            while not self._ending.wait(self.limits.interval):
                self.look()
        except Exception as error:  # of any kind: a job must not run on unwatched
            self._failure = f"the cluster cannot be watched: {type(error).__name__}: {error}"
            self.reason = self._failure


def _applications(seen: Sequence[Reading]) -> int:
    """The number of applications of other tenants; at least, if some are not in the list."""
    listed = {app.id for one in seen for app in one.others}
    return max(len(listed), *(len(one.others) + one.hidden.applications for one in seen))


def others_log(logs: Path) -> Callable[[Reading, Sequence[str]], None]:
    """A function that adds the applications of other tenants, without names and users, to a log."""

    def record(found: Reading, beyond: Sequence[str]) -> None:
        if not (found.others or found.hidden != Hidden() or beyond):
            return
        row = {
            "t": found.t,
            "others": [asdict(app) for app in found.others],
            "containers": found.other_containers,
            "pending": found.pending,
            "beyond": list(beyond),
        }
        with (logs / "others.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    return record
