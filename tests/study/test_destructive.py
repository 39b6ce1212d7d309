"""Rule of trust 12: what is removed was made by the study itself, and nothing else is touched."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.mock import MockFiles, run_study, toy_plan
from windtunnel.cli import run
from windtunnel.hosts.leftovers import Registration, clean


def test_what_a_study_deletes_on_the_cluster_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted = []

    def note(self: MockFiles, path: str) -> None:
        deleted.append(path)
        real(self, path)

    real = MockFiles.delete
    monkeypatch.setattr(MockFiles, "delete", note)
    run_study(tmp_path, toy_plan())
    assert deleted
    for path in deleted:
        top, kind, own = path.strip("/").split("/")[:3]
        assert (top, kind) in {("windtunnel", "trials"), ("windtunnel", "shared")}
        assert own, "never the folder of all trials"


def test_a_run_into_somebodys_folder_says_so_and_leaves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work")

    assert run(["run", "demo", "--results", str(home)]) == 6
    said = capsys.readouterr().err
    assert "thesis.txt" in said
    assert "what to do" in said
    assert [path.name for path in home.iterdir()] == ["thesis.txt"]


def test_cleaning_follows_no_link_out_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a scratch folder was replaced by a link, the link goes and what it names stays."""
    monkeypatch.setenv("WINDTUNNEL_STATE", str(tmp_path / "state"))
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work")
    dead = Registration.create("local")
    dead.update(owner=[0, 0.0])
    dead.release()
    shutil.rmtree(dead.scratch)
    dead.scratch.symlink_to(home)

    assert clean() == [f"removed the folder of {dead.id}"]
    assert not dead.folder.exists()
    assert (home / "thesis.txt").read_text() == "years of work"
