"""Interactive clusters: what is true after 'down' and 'clean'. The keepers start no cluster."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from windtunnel.cluster import load_cluster
from windtunnel.errors import DeploymentError
from windtunnel.hosts.identity import identity
from windtunnel.hosts.leftovers import Registration
from windtunnel.testbeds import interactive, parse_options


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


def test_clean_keeps_the_folder_of_a_cluster_that_is_starting(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it runs: before every file, and before the keeper starts."""
    write, seen = Path.write_text, []

    def clean() -> None:
        seen.append(interactive.forget_ended())

    def watched_write(self: Path, text: str) -> int:
        clean()
        return write(self, text)

    def no_keeper(*_: object, **__: object) -> None:
        clean()
        raise InterruptedError("the test ends here")

    monkeypatch.setattr(Path, "write_text", watched_write)
    monkeypatch.setattr(subprocess, "Popen", no_keeper)
    with pytest.raises(InterruptedError):
        interactive.start(load_cluster("local-1"), parse_options("local", {}), lambda text: None)
    assert seen == [0, 0, 0]


def test_clean_removes_the_logs_of_clusters_that_are_down(state: Path) -> None:
    ended = subprocess.Popen(["sleep", "60"])
    dead = identity(ended.pid)
    ended.kill()
    ended.wait()
    for name, text in {"down": json.dumps(dead), "damaged": "", "new": "", "absent": None}.items():
        folder = interactive.folder_of_all() / name
        folder.mkdir(parents=True)
        if text is not None:
            (folder / interactive.KEEPER).write_text(text)
        if name != "new":
            os.utime(folder, (0, 0))
    assert interactive.forget_ended() == 3
    assert [folder.name for folder in interactive.folder_of_all().glob("*")] == ["new"]


def test_clean_keeps_the_logs_of_a_cluster_that_is_up_in_another_container(state: Path) -> None:
    folder = interactive.folder_of_all() / "20260101-000000-abcd"
    folder.mkdir(parents=True)
    (folder / interactive.KEEPER).write_text(json.dumps([2**22 + 1, 5, "boot"]))
    entry = Registration.create("local")
    (entry.folder / "logs").symlink_to(f"/elsewhere/interactive/{folder.name}/logs/now-1")
    assert interactive.forget_ended() == 0
    entry.forget()
    assert interactive.forget_ended() == 1
