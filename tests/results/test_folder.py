"""Reading a results folder: only the trials of its study, each once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.errors import ResultsError
from windtunnel.results.folder import read_results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return study_folder(tmp_path / "out", Plan(trials=2, write_samples=False))


def test_the_trials_of_the_study_are_read(folder: Path) -> None:
    assert [trial.id for trial in read_results(folder).trials] == ["t00001", "t00002"]


def test_a_trial_of_another_study_is_refused(folder: Path) -> None:
    trial = json.loads((folder / "trials" / "t00001.json").read_text())
    file = folder / "trials" / "zz.json"
    file.write_text(json.dumps({**trial, "id": "zz", "study_id": "other"}))

    with pytest.raises(ResultsError) as caught:
        read_results(folder)
    assert caught.value.message == f"{file} is a trial of the study 'other', not of 'synthetic'"
    assert caught.value.remedy == "move the file out of the folder."


def test_a_copy_of_a_trial_is_refused(folder: Path) -> None:
    """It would count twice."""
    file = folder / "trials" / "zz.json"
    shutil.copy(folder / "trials" / "t00001.json", file)

    with pytest.raises(ResultsError) as caught:
        read_results(folder)
    assert caught.value.message == f"{file} contains the trial 't00001', whose file is t00001.json"
    assert "move the file out of the folder" in caught.value.remedy


@pytest.mark.parametrize("is_file", [True, False])
def test_a_folder_without_trials_is_refused(folder: Path, is_file: bool) -> None:
    shutil.rmtree(folder / "trials")
    if is_file:
        (folder / "trials").write_text("")
    with pytest.raises(ResultsError, match="has no 'trials' folder"):
        read_results(folder)


@pytest.mark.parametrize("text", ["[]", "3", "{"])
def test_a_provenance_that_is_no_object_cannot_be_read(folder: Path, text: str) -> None:
    (folder / "provenance" / "cafe.json").write_text(text)
    results = read_results(folder)
    with pytest.raises(ResultsError, match=r"cafe\.json cannot be read: "):
        results.provenance(results.trials[0])
