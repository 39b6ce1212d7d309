"""The progress of a running study: a live status line on a terminal, plain lines otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from windtunnel.cluster import Cluster
from windtunnel.results.record import Trial
from windtunnel.study.plan import Slot

NameOf = Callable[[Slot], str]
"""The workload and the treatment of a slot as the user knows them."""


def duration(seconds: float) -> str:
    """A duration in readable units: ``45 s``, ``3 min 20 s``, ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class PlainListener:
    """Prints one line for each event, for logs and pipes; ``name_of`` a slot is printed."""

    def __init__(self, console: Console, name_of: NameOf) -> None:
        self.console = console
        self.name_of = name_of
        self._began = time.monotonic()

    def started(self, done: int, total: int) -> None:
        """The study starts or resumes."""
        how = f"resuming: {done} of {total} trials are done" if done else f"{total} trials to run"
        self._say(how)

    def deploying(self, cluster: Cluster, why: str) -> None:
        """A cluster is being started."""
        count = sum(host.count for host in cluster.hosts.values())
        again = "" if why == "none is running" else f" ({why})"
        self._say(f"starting the cluster {cluster.name}, {count} hosts{again}")

    def trial_started(self, slot: Slot, attempt: int) -> None:
        """A trial starts."""
        self._say(describe(slot, attempt, self.name_of))

    def phase(self, name: str) -> None:
        """A phase starts: plain lines do not show phases."""

    def trial_ended(self, trial: Trial, done: int, total: int, left_s: float | None) -> None:
        """A trial was written to the journal."""
        left = f", about {duration(left_s)} left" if left_s else ""
        self._say(f"  {result(trial)}; {done} of {total} done{left}")

    def note(self, text: str) -> None:
        """Print a remark for the user."""
        self._say(f"  {text}")

    def close(self) -> None:
        """Do nothing: plain lines need no end."""

    def _say(self, text: str) -> None:
        at = duration(time.monotonic() - self._began)
        self.console.print(f"[{at:>12}] {text}", markup=False, highlight=False, soft_wrap=True)


class LiveListener(PlainListener):
    """Shows a bar with the current trial and the time left, below a line per finished trial."""

    def __init__(self, console: Console, name_of: NameOf) -> None:
        super().__init__(console, name_of)
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("trials ·"),
            TimeElapsedColumn(),
            TextColumn("· {task.fields[left]}{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None, left="")
        self._now = ""
        self._bar.start()

    def started(self, done: int, total: int) -> None:
        """Set the bar."""
        super().started(done, total)
        self._bar.update(self._task, completed=done, total=total)

    def deploying(self, cluster: Cluster, why: str) -> None:
        """Show that a cluster is being started."""
        super().deploying(cluster, why)
        self._bar.update(self._task, description="starting the cluster")

    def trial_started(self, slot: Slot, attempt: int) -> None:
        """Show the trial that runs."""
        self._now = describe(slot, attempt, self.name_of)
        self._bar.update(self._task, description=self._now)

    def phase(self, name: str) -> None:
        """Show the phase that runs."""
        self._bar.update(self._task, description=f"{self._now}: {name}")

    def trial_ended(self, trial: Trial, done: int, total: int, left_s: float | None) -> None:
        """Advance the bar and print a line above it."""
        self._say(f"{self._now}: {result(trial)}")
        left = f"about {duration(left_s)} left · " if left_s else ""
        self._bar.update(self._task, completed=done, total=total, left=left)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()


def describe(slot: Slot, attempt: int, name_of: NameOf) -> str:
    """Round, workload and treatment of a trial, and its attempt if it is not the first."""
    where = f"round {slot.round}" if slot.round else "warm-up"
    again = f" (attempt {attempt})" if attempt > 1 else ""
    extra = " (extra)" if slot.extra else ""
    return f"{where}{extra}: {name_of(slot)}{again}"


def result(trial: Trial) -> str:
    """The phase times of a valid trial, its outcome under a fault, or why it is invalid."""
    if not trial.verdict.valid and trial.answers:
        return f"{trial.outcome} after the fault (outcome, not averaged): {trial.verdict.reason}"
    if not trial.verdict.valid:
        return f"INVALID: {trial.verdict.reason}"
    times = ", ".join(f"{phase.name} {phase.elapsed_s:.1f} s" for phase in trial.phases)
    return f"verified; {times}"


def listener_for(console: Console, name_of: NameOf) -> PlainListener:
    """A live status line if the console is a terminal, plain lines otherwise."""
    kind = LiveListener if console.is_terminal else PlainListener
    return kind(console, name_of)
