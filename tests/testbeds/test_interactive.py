"""Interactive clusters: what is true after 'down' and 'clean'. The keepers start no cluster."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from windtunnel.errors import DeploymentError
from windtunnel.hosts.identity import identity
from windtunnel.hosts.leftovers import Registration
from windtunnel.testbeds import interactive


@pytest.fixture
def keeper(state: Path) -> Iterator[Callable[[str], tuple[Registration, psutil.Process]]]:
    """A function that starts a keeper, a shell that obeys SIGTERM by a command."""
    started: list[subprocess.Popen[str]] = []

    def start(command: str) -> tuple[Registration, psutil.Process]:
        entry = Registration.create("local")
        entry.update(interactive=True)
        obey = command.format(folder=entry.folder)
        text = f"trap '{obey}' TERM; echo ready; while :; do sleep 0.02; done"
        shell = subprocess.Popen(["sh", "-c", text], stdout=subprocess.PIPE, text=True)
        started.append(shell)
        assert shell.stdout is not None
        assert shell.stdout.readline() == "ready\n"
        entry.update(owner=identity(shell.pid))
        return entry, psutil.Process(shell.pid)

    yield start
    for shell in started:
        shell.kill()
        shell.communicate()


def test_a_keeper_that_removes_its_cluster_has_stopped(
    keeper: Callable[[str], tuple[Registration, psutil.Process]],
) -> None:
    entry, _ = keeper('rm -r "{folder}"; exit 0')
    interactive.stop(entry)
    assert not entry.folder.exists()
    interactive.stop(entry)  # it ended after the user chose it


def test_a_keeper_that_does_not_end_is_killed_and_its_remains_are_reported(
    keeper: Callable[[str], tuple[Registration, psutil.Process]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactive, "_END_LIMIT_S", 0.2)
    entry, process = keeper("")
    with pytest.raises(DeploymentError, match=f"remains of {entry.id} exist: .* killed") as caught:
        interactive.stop(entry)
    assert "windtunnel clean" in caught.value.remedy
    assert process.wait(10) == -signal.SIGKILL


def test_a_keeper_that_leaves_something_is_reported(
    keeper: Callable[[str], tuple[Registration, psutil.Process]],
) -> None:
    entry, _ = keeper("exit 1")
    for _ in range(2):  # the second time, it has ended before
        with pytest.raises(DeploymentError, match="could not remove everything"):
            interactive.stop(entry)


def test_a_keeper_that_ends_when_it_is_found_is_no_error(
    keeper: Callable[[str], tuple[Registration, psutil.Process]], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, _ = keeper("")

    def gone(pid: int) -> psutil.Process:
        shutil.rmtree(entry.folder)
        raise psutil.NoSuchProcess(pid)

    monkeypatch.setattr(psutil, "Process", gone)
    interactive.stop(entry)
