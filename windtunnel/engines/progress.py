"""How a download is shown: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as RichProgress


class Progress(Protocol):
    """Receives the progress of a download. Methods may be called from several threads."""

    def start(self, title: str, jars: int, size: int) -> None:
        """Begin a download of this many jars and bytes (0 bytes: not known)."""

    def advance(self, size: int) -> None:
        """Add received bytes; the number is negative if a failed transfer restarts."""

    def jar(self, name: str) -> None:
        """Count a jar that was fetched and verified."""

    def note(self, text: str) -> None:
        """Show one line of text, such as the wait for another process."""

    def stop(self) -> None:
        """End, after success and after a failure."""


class Silent:
    """A progress that shows nothing."""

    def start(self, title: str, jars: int, size: int) -> None:
        """Show nothing."""

    def advance(self, size: int) -> None:
        """Show nothing."""

    def jar(self, name: str) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""

    def stop(self) -> None:
        """Show nothing."""


class Bar:
    """A progress bar with bytes, speed and time left, for terminals."""

    def __init__(self, console: Console) -> None:
        self._rich = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = TaskID(0)

    def start(self, title: str, jars: int, size: int) -> None:
        """Show the bar."""
        text = f"fetching {title}: {jars} jars"
        self._task = self._rich.add_task(text, total=size or None)
        self._rich.start()

    def advance(self, size: int) -> None:
        """Move the bar by ``size`` bytes."""
        self._rich.advance(self._task, size)

    def jar(self, name: str) -> None:
        """Show nothing: the bar counts bytes."""

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._rich.console.print(text, markup=False)

    def stop(self) -> None:
        """Leave the bar as it is."""
        self._rich.stop()


class Lines:
    """Prints a line at the start, at most one every five seconds, and one at the end."""

    PAUSE_S = 5.0

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._title = ""
        self._jars = self._done = self._size = self._bytes = 0
        self._started = self._last = 0.0

    def start(self, title: str, jars: int, size: int) -> None:
        """Print what is fetched."""
        self._title, self._jars, self._size = title, jars, size
        self._done = self._bytes = 0
        self._started = self._last = time.monotonic()
        megabytes = f", {size / 1e6:.0f} MB" if size else ""
        self.note(f"fetching {title}: {jars} jars{megabytes}")

    def advance(self, size: int) -> None:
        """Count the bytes; print a line if the last one is older than ``PAUSE_S``."""
        with self._lock:
            self._bytes += size
            if time.monotonic() - self._last >= self.PAUSE_S:
                self._last = time.monotonic()
                self._report()

    def jar(self, name: str) -> None:
        """Count the jar."""
        with self._lock:
            self._done += 1

    def note(self, text: str) -> None:
        """Print the line."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """Print how much was fetched and how long it took."""
        with self._lock:
            self._report(f" in {time.monotonic() - self._started:.0f} s")

    def _report(self, end: str = "") -> None:
        total = f" of {self._size / 1e6:.0f}" if self._size else ""
        self.note(
            f"  {self._title}: {self._done} of {self._jars} jars, "
            f"{self._bytes / 1e6:.0f}{total} MB{end}"
        )


def progress_for(console: Console) -> Progress:
    """A bar if ``console`` is a terminal, else lines."""
    return Bar(console) if console.is_terminal else Lines(console)
