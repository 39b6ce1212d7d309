"""How a running study is shown: a live line on a terminal, plain lines otherwise."""

from __future__ import annotations

import time

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


def duration(seconds: float) -> str:
    """Seconds as people say them: ``45 s``, ``3 min 20 s``, ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class PlainListener:
    """One line for each thing that happens: for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._began = time.monotonic()

    def started(self, done: int, total: int) -> None:
        """The study begins, or goes on."""
        how = f"going on: {done} of {total} trials are done" if done else f"{total} trials to run"
        self._say(how)

    def deploying(self, cluster: Cluster, why: str) -> None:
        """A cluster is being started."""
        count = sum(host.count for host in cluster.hosts.values())
        again = "" if why == "none is running" else f" ({why})"
        self._say(f"starting the cluster {cluster.name}, {count} hosts{again}")

    def trial_started(self, slot: Slot, attempt: int) -> None:
        """A trial begins."""
        self._say(describe(slot, attempt))

    def phase(self, name: str) -> None:
        """A phase begins: too fine for plain lines."""

    def trial_ended(self, trial: Trial, done: int, total: int, left_s: float | None) -> None:
        """A trial is in the journal."""
        left = f", about {duration(left_s)} left" if left_s else ""
        self._say(f"  {result(trial)}; {done} of {total} done{left}")

    def note(self, text: str) -> None:
        """Something that the user should know."""
        self._say(f"  {text}")

    def close(self) -> None:
        """Nothing to put away."""

    def _say(self, text: str) -> None:
        at = duration(time.monotonic() - self._began)
        self.console.print(f"[{at:>12}] {text}", markup=False, highlight=False, soft_wrap=True)


class LiveListener(PlainListener):
    """A bar with what runs now and the time left, over the lines of the trials so far."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("trials ·"),
            TimeElapsedColumn(),
            TextColumn("· {task.fields[left]}{task.description}"),
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
        """Show what runs."""
        self._now = describe(slot, attempt)
        self._bar.update(self._task, description=self._now)

    def phase(self, name: str) -> None:
        """Show the phase."""
        self._bar.update(self._task, description=f"{self._now}: {name}")

    def trial_ended(self, trial: Trial, done: int, total: int, left_s: float | None) -> None:
        """Move the bar on and leave a line above it."""
        self._say(f"{self._now}: {result(trial)}")
        left = f"about {duration(left_s)} left · " if left_s else ""
        self._bar.update(self._task, completed=done, total=total, left=left)

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()


def describe(slot: Slot, attempt: int) -> str:
    """Round, workload, treatment of a trial, and its attempt if it is not the first."""
    where = f"round {slot.round}" if slot.round else "warm-up"
    again = f" (attempt {attempt})" if attempt > 1 else ""
    extra = " (extra)" if slot.extra else ""
    return f"{where}{extra}: {slot.workload}, {slot.treatment.id}{again}"


def result(trial: Trial) -> str:
    """The phases' times of a valid trial, or why it is invalid."""
    if not trial.verdict.valid:
        return f"INVALID: {trial.verdict.reason}"
    times = ", ".join(f"{phase.name} {phase.elapsed_s:.1f} s" for phase in trial.phases)
    return f"verified; {times}"


def listener_for(console: Console) -> PlainListener:
    """Live where the console is a terminal, plain otherwise."""
    return LiveListener(console) if console.is_terminal else PlainListener(console)
