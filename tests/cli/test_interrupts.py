"""Signals to a command that runs a study: while it runs, and while it removes what it started."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from windtunnel.cli.interrupts import gentle_interrupt
from windtunnel.cli.studies import _resumable
from windtunnel.errors import InterruptedStudyError
from windtunnel.hosts.removal import removing

JOBS = "jobs and files of wt-12345678 on the cluster"


@contextmanager
def handled() -> Iterator[tuple[Any, io.StringIO]]:
    """A study whose signals are handled, and what is printed."""
    runner: Any = SimpleNamespace(stop_requested=False)
    printed = io.StringIO()
    with gentle_interrupt(runner, Console(file=printed, width=200)):
        yield runner, printed


def test_the_first_interrupt_waits_for_the_trial_and_the_second_does_not() -> None:
    with handled() as (runner, printed):
        signal.raise_signal(signal.SIGINT)
        assert runner.stop_requested
        assert "stopping after the current trial" in printed.getvalue()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert "stopping immediately" in printed.getvalue()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_removal_is_not_interrupted_by_further_signals(number: signal.Signals) -> None:
    """A terminal that is closed sends SIGHUP twice."""
    with handled() as (_, printed):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        signal.raise_signal(number)  # the removal has not begun
        with removing(JOBS, 120.0):
            for again in (number, signal.SIGTERM, signal.SIGHUP):
                signal.raise_signal(again)
            signal.raise_signal(signal.SIGINT)
        assert printed.getvalue().splitlines()[-1] == (
            f"stopping after the removal of {JOBS} (up to 2 min); press Ctrl-C again to leave the "
            "rest to 'windtunnel clean'"
        )


def test_a_removal_can_be_abandoned_and_the_message_names_what_is_left() -> None:
    with handled(), pytest.raises(InterruptedStudyError) as caught, _resumable("again", ""):
        try:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        finally:
            with removing(JOBS, 120.0):
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
    assert caught.value.message == f"stopped before everything was removed: {JOBS} can be left"
    assert caught.value.remedy == (
        "to remove them, run: windtunnel clean\n    to resume the study, run: again"
    )


def test_an_interrupt_during_a_removal_between_trials_stops_the_study_afterwards() -> None:
    with handled() as (runner, printed):
        with removing(JOBS, 120.0):
            signal.raise_signal(signal.SIGINT)
        assert runner.stop_requested
        assert printed.getvalue().startswith(f"stopping after the removal of {JOBS}")
        with removing("another deployment", 120.0):
            signal.raise_signal(signal.SIGINT)  # each removal has a warning


def test_a_terminal_that_cannot_be_written_does_not_change_what_a_signal_does() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    runner: Any = SimpleNamespace(stop_requested=False)
    with gentle_interrupt(runner, Console(file=Closed())):
        signal.raise_signal(signal.SIGINT)
        assert runner.stop_requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGHUP)
