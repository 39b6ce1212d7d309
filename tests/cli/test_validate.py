"""The command ``validate`` on present results: text, JSON, what is missing, refusals."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.mock import run_study, toy_plan
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.subjects.work import Work
from windtunnel.cli import run
from windtunnel.cli.validate import _complete, _run_rounds
from windtunnel.report.validation import Validation, print_validation, to_json
from windtunnel.report.validation_page import render

STUDY_FILE = "study.json"
START_UP = "start-up, fraction of task time"
COMMAND = ["validate", "scaled", "--report", "--results", "out"]


def made(folder: Path, seed: int, **more: float) -> None:
    """A results folder of a model whose only group is equal in all models."""
    study_folder(folder, Plan(write_samples=False, seed=seed, **more))  # type: ignore[arg-type]
    file = folder / STUDY_FILE
    study = json.loads(file.read_text())
    group = {"name": START_UP, "workload": "terasort", "full": 0.0, "model": 0.1, "state": "near"}
    study["scale"] = {"rate": 0.5, "data": 0.5, "groups": [{**group, "unit": "ratio", "says": ""}]}
    file.write_text(json.dumps(study))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    made(tmp_path / "out" / "reference", 1)
    made(tmp_path / "out" / "model-1-2", 2, effect=0.0)


def test_findings_and_what_is_missing_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND) == 0
    lines = capsys.readouterr().out.splitlines()

    assert "predictions" in lines[0]
    finding = lines[lines.index("Errors that the similarity groups do not explain") + 1]
    assert finding.startswith("- model-1-2, terasort at ") and START_UP in finding
    assert "not complete: model-2-3" in lines
    assert len(lines) <= 40
    assert all(
        len(line) <= 80
        for line in lines
        if "-" not in line[:1] and "The permitted error" not in line
    )


def test_json_has_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert found["schema"] == "windtunnel.validation/1"
    assert {row["model"] for row in found["predictions"]} == {"model-1-2"}
    assert any(row["finding"] for row in found["predictions"])
    assert "model-2-3" in found["missing"]
    assert {row["phase"] for row in found["ratios"]} == {"teragen", "terasort", "teravalidate"}
    assert all(row["measured"]["low"] < row["measured"]["ratio"] for row in found["ratios"])
    assert all(row["published"] is None for row in found["ratios"])


def test_the_page_has_each_model_with_its_errors() -> None:
    assert run([*COMMAND, "--html", "page.html"]) == 0
    page = Path("page.html").read_text()

    assert "Models of model-of-a-model" in page
    assert page.count("<svg") == 2, "wide and narrow"
    assert "unexplained error" in page and START_UP in page
    assert "model-2-3 lacks trials" in page
    assert "Published, measured and predicted" in page and "measured on scaled" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_without_a_reference_there_is_nothing_to_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out/reference" / STUDY_FILE).unlink()

    assert run(COMMAND) == 6
    message = capsys.readouterr().err
    assert "no results of the reference" in message
    assert "run: windtunnel validate scaled model-of-a-model --results out" in message


@pytest.mark.parametrize("absolute", [True, False])
def test_the_results_of_a_file_are_in_the_folder_with_the_name_of_the_study(
    absolute: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = resources.files("windtunnel.catalogue").joinpath("studies", "model-of-a-model.yaml")
    (tmp_path / "own").mkdir()
    file = tmp_path / "own" / "some.yaml"
    file.write_text(text.read_text().replace("study: model-of-a-model", "study: mine"))
    name = str(file if absolute else file.relative_to(tmp_path))
    assert run(["validate", "scaled", name, "--report"]) == 6
    assert "windtunnel-results/mine has no results" in capsys.readouterr().err


def test_the_rounds_of_the_studies_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    conducted: list[tuple[str, int | None]] = []

    def conduct(plan: object, folder: Path, again: list[str], **options: Any) -> None:
        conducted.append((folder.name, options["last_round"]))

    monkeypatch.setattr("windtunnel.cli.validate.conduct", conduct)
    assert run([word for word in COMMAND if word != "--report"] + ["--rounds", "2"]) == 0

    studies = ["reference", "model-2-3", "model-1-2"]
    assert conducted == [(name, last) for last in (1, None) for name in studies]


def test_a_testbed_without_models_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "local"]) == 2
    assert "cannot validate models of the testbed 'local'" in capsys.readouterr().err


def test_the_work_of_the_models_is_compared_with_that_of_the_reference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [Work("terasort", "terasort", 90.0, {"model-1-2": 126.0}, 6)]
    made = Validation("scaled", [], rows, {"model-1-2": 0.714}, [], [])
    print_validation(made, Console(width=100), full=False)
    printed = capsys.readouterr().out
    assert "90.0 s" in printed and "126.0 s (+40 %)" in printed
    assert "same work" in printed and "--core-speed model-1-2=0.71" in printed
    page = render(made, "Models")
    assert "Work of the CPUs" in page and "126.0" in page
    assert to_json(made)["cpu_s_per_gb"][0]["models"] == {"model-1-2": 126.0}


def test_the_last_round_is_resumed_if_more_can_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conducted: list[int | None] = []
    monkeypatch.setattr(
        "windtunnel.cli.validate.conduct",
        lambda *_, last_round, **__: conducted.append(last_round),
    )
    for extra_rounds, wanted in ((0, []), (2, [None])):
        plan = toy_plan(rounds=2, extra_rounds=extra_rounds)
        folder = tmp_path / f"extra-{extra_rounds}"
        run_study(folder / "reference", plan)
        conducted.clear()
        _run_rounds({"reference": plan}, folder, [])
        assert conducted == wanted
        assert _complete(plan, folder / "reference", 2)


def test_one_model_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND, "--model", "model-1-2"]) == 0
    assert "model-2-3" not in capsys.readouterr().out
    assert run([*COMMAND, "--model", "model-3-4"]) == 2
    assert "there is no model 'model-3-4'" in capsys.readouterr().err
