"""Signals to a command that runs a study."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType

from rich.console import Console

from windtunnel.cluster import format_duration
from windtunnel.hosts.removal import Removal, running_removal
from windtunnel.study.runner import Runner


@dataclass
class Signals:
    """The handler of signals while a study runs.

    The first Ctrl-C stops the study after the current trial; the second one, SIGTERM and the end of
    the terminal (SIGHUP) stop it immediately. While it ends and removes what it has started, they
    are ignored: only Ctrl-C after a warning leaves the rest to ``windtunnel clean``.
    """

    runner: Runner
    console: Console
    stopped: bool = False  # immediately
    warned: list[Removal | None] = field(default_factory=list)  # None: it has not begun

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        removal = running_removal()
        if not self.stopped and removal is None:
            self._stop(immediately=self.runner.stop_requested or number != signal.SIGINT)
            return
        self.runner.stop_requested = True
        if number != signal.SIGINT:
            return
        if removal in self.warned:
            raise KeyboardInterrupt
        self.warned.append(removal)
        what = "what the study has started"
        if removal is not None:
            what = f"{removal.what} (up to {format_duration(removal.limit_s)})"
        self._print(
            f"stopping after the removal of {what}; press Ctrl-C again to leave the rest to "
            "'windtunnel clean'"
        )

    def _stop(self, *, immediately: bool) -> None:
        self.runner.stop_requested = True
        if not immediately:
            self._print("stopping after the current trial; press Ctrl-C again to stop immediately")
            return
        self.stopped = True
        self._print("stopping immediately, and removing what the study has started")
        raise KeyboardInterrupt

    def _print(self, text: str) -> None:
        # a closed terminal, or a line of the interrupted code that is being written
        with suppress(OSError, RuntimeError):
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def gentle_interrupt(runner: Runner, console: Console) -> Iterator[None]:
    """Handle signals by :class:`Signals`; SIGHUP stays ignored, if it is, as by ``nohup``."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    handler = Signals(runner, console)
    old = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in old.items():
            signal.signal(number, before)
