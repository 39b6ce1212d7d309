"""The command: answer first, exit codes, JSON, page."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.pairs import LATER, QUIET, folder
from windtunnel.analysis.compare import REFUSAL_IDS
from windtunnel.cli import run

SEED = replace(QUIET, seed=2)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders ``before``, ``same``, ``slow`` and ``elsewhere`` (another testbed)."""
    folder(tmp_path / "before")
    folder(tmp_path / "same", SEED, later=LATER)
    folder(tmp_path / "slow", SEED, later=2 * LATER, levels=1.3)
    folder(tmp_path / "elsewhere", SEED, later=LATER, study={"testbed": "attached"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    return tmp_path


def test_the_answer_comes_first(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split("compare before same")) == 0
    text = capsys.readouterr().out
    assert text.strip().startswith("same against before, total elapsed time: not distinguishable")
    for part in ("Differences in configuration", "Total elapsed time", "by phase", "caveat:"):
        assert part in text


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("compare before slow", 0, ""),
        ("compare before slow --fail-if-worse", 11, "worse: total elapsed time is longer"),
        ("compare slow before --fail-if-worse", 0, ""),
        ("compare before elsewhere", 10, "--allow testbed"),
        ("compare before elsewhere --json", 10, "not comparable"),
        ("compare before elsewhere --allow testbed", 0, ""),
        ("compare before same elsewhere", 10, "elsewhere not compared"),
        ("compare before same slow --history", 0, ""),
        ("compare before same --history", 2, "two earlier runs"),
        ("compare before", 2, "two results folders"),
        ("compare before ./before", 2, "given twice"),
        ("compare before same --allow nonsense", 2, "workload-parameters"),
        ("compare before nowhere", 6, "nowhere"),
    ],
)
def test_exit_codes(
    command: str, code: int, says: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shlex.split(command)) == code
    said = capsys.readouterr()
    assert says in said.err
    assert "Traceback" not in said.err


def test_json_holds_everything(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split("compare before slow elsewhere --json")) == 10
    data = json.loads(capsys.readouterr().out)
    slow, elsewhere = data["pairs"]
    totals = [cell for cell in slow["cells"] if cell["primary"]]
    assert [cell["verdict"] for cell in totals] == ["worse", "worse"]
    assert elsewhere["refused"][0]["id"] == "testbed"
    assert elsewhere["cells"] == []
    assert data["family"] == 2


def test_every_reason_is_explained() -> None:
    text = (Path(__file__).parents[2] / "docs/comparing.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([a-z-]+)` \|", text, re.M)
    assert tuple(explained) == REFUSAL_IDS


def test_the_page_needs_no_network(made: Path) -> None:
    assert run(shlex.split("compare before slow --html page.html")) == 0
    text = (made / "page.html").read_text()
    assert text.count("<svg") == 2
    assert "src=" not in text
    assert "http" not in text.replace("http://www.w3.org", "")
    assert "worse" in text


def test_treatments_are_named_by_their_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    disks = replace(QUIET, factor="disks", levels=("24", "12"))
    folder(tmp_path / "before", disks)
    folder(tmp_path / "slow", replace(disks, seed=2), later=LATER, levels=1.3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")

    assert run(shlex.split("compare before slow --fail-if-worse --html page.html")) == 11
    said = capsys.readouterr()
    assert "terasort at 24 disks" in said.out
    assert "24 disks, terasort" in said.out
    assert "24 disks, terasort" in (tmp_path / "page.html").read_text()
    assert "terasort at 24 disks; terasort at 12 disks" in said.err

    assert run(shlex.split("compare before slow --json")) == 0
    totals = [c for c in json.loads(capsys.readouterr().out)["pairs"][0]["cells"] if c["primary"]]
    assert [(c["treatment"], c["name"]) for c in totals] == [("24", "24 disks"), ("12", "12 disks")]
