"""``clean``: the runs that it removes, forgets and keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from windtunnel.cli import run
from windtunnel.hosts.fabric.ledger import Ledger
from windtunnel.hosts.leftovers import Registration, registered
from windtunnel.testbeds.attached import remains

ATTACHED = {"attached": {"cluster_id": "CID-1"}, "cluster": "attached CID-1"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the id of this machine."""
    file = tmp_path / "machine-id"
    file.write_text("a" * 32)
    monkeypatch.setattr("windtunnel.hosts.identity._MACHINE_ID", file)
    return file


@pytest.fixture
def other(state: Path, machine: Path) -> Registration:
    """An entry of the machine edge-2, whose owner is dead."""
    entry = Registration.create("local")
    entry.update(machine="edge-2")
    entry.release()
    machine.write_text("b" * 32)
    return entry


def test_a_run_of_a_machine_that_no_longer_exists_can_be_forgotten(
    other: Registration, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = tmp_path / "limit"
    limit.write_text("of this machine")
    Ledger(other.folder).note({"kind": "value", "path": str(limit), "text": "of the other one"})

    assert run(["status"]) == 0
    assert f"{other.id}: of another machine or container, edge-2" in capsys.readouterr().out
    assert run(["clean"]) == 0
    assert f"kept {other.id}" in capsys.readouterr().out
    assert run(["clean", "--forget", other.id]) == 0
    said = capsys.readouterr().out
    assert f"forgot {other.id}; not removed: its processes, mounts and limits on edge-2" in said
    assert registered() == []
    assert limit.read_text() == "of this machine", "the changes were made on the other machine"


def test_what_is_left_on_a_cluster_is_named_when_a_run_is_forgotten(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = Registration.create("attached")
    entry.update(owner=None, **ATTACHED)
    entry.release()

    assert run(["clean", "--forget", entry.id]) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        f"forgot {entry.id}; not removed: its applications and files on the cluster CID-1"
    )


def test_a_named_run_of_another_machine_is_removed_from_its_cluster(
    other: Registration, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["clean", "--id", other.id]) == 2
    assert "used no attached cluster" in capsys.readouterr().err

    other.update(**ATTACHED)
    left = ["no answer"]
    monkeypatch.setattr(remains, "clean_entry", lambda entry: left)
    assert run(["clean", "--id", other.id]) == 12
    assert f"NOT removed, of {other.id}: no answer" in capsys.readouterr().out
    left.clear()
    assert run(["clean", "--id", other.id]) == 0
    assert f"removed the jobs and files of {other.id} from the cluster CID-1" in (
        capsys.readouterr().out
    )
    assert registered() == []


def test_a_named_run_of_this_machine_is_removed_alone(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = Registration.create("local"), Registration.create("local")
    for entry in (one, two):
        entry.update(owner=None)
        entry.release()

    assert run(["clean", "--id", one.id]) == 0
    assert capsys.readouterr().out == f"removed the folder of {one.id}\nclean\n"
    assert [entry.id for entry in registered()] == [two.id]


@pytest.mark.parametrize("option", ["--id", "--forget"])
def test_a_run_that_is_running_or_unknown_is_refused(
    option: str, state: Path, machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = Registration.create("local")
    for _ in range(2):
        assert run(["clean", option, entry.id]) == 2
        assert f"{entry.id} is running" in capsys.readouterr().err
        machine.write_text("c" * 32)  # its lock shows that it runs, on whatever machine
    assert run(["clean", option, "wt-00000000"]) == 2
    assert "there is no run wt-00000000" in capsys.readouterr().err
    assert [one.id for one in registered()] == [entry.id]


def test_the_jars_of_a_running_study_are_kept(
    state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))
    jar = tmp_path / "cache" / "artifacts" / "hadoop-3.5" / "one.jar"
    jar.parent.mkdir(parents=True)
    jar.write_text("classes")
    entry = Registration.create("local")

    assert run(["clean", "--cache"]) == 2
    assert f"the jars are in use by {entry.id}" in capsys.readouterr().err
    assert jar.is_file()
    entry.forget()
    assert run(["clean", "--cache"]) == 0
    assert not jar.exists()
