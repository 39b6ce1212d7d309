"""The stored results of reproductions in ``docs/studies`` are readable and small."""

from __future__ import annotations

from pathlib import Path

import pytest

from windtunnel.analysis.analyse import analyse
from windtunnel.published import published_names
from windtunnel.published.claims import study_claims
from windtunnel.published.reproduce import reproduce
from windtunnel.results.folder import read_results

STUDIES = Path(__file__).resolve().parents[2] / "docs" / "studies"
FOLDERS = sorted(file.parent for file in STUDIES.glob("*/*/study.json"))
MOST_BYTES = 5_000_000


def test_every_study_has_its_page() -> None:
    for name in published_names():
        assert (STUDIES / name / "reproduction.html").is_file()
    assert (STUDIES / "all.html").is_file()


def test_the_folder_is_small() -> None:
    assert sum(f.stat().st_size for f in STUDIES.rglob("*") if f.is_file()) < MOST_BYTES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_folder_has_trials_of_a_run_of_its_study(folder: Path) -> None:
    assert folder.name in study_claims(folder.parent.name).runs
    found = analyse(read_results(folder))
    valid = [trial for trial in found.trials if trial.verdict == "valid"]
    assert valid and all(trial.load_before is not None for trial in valid)


@pytest.mark.parametrize(("study", "expected"), [("vmware-2011", True), ("intel-2012", False)])
def test_virtual_machines_of_a_model_are_a_deviation(study: str, expected: bool) -> None:
    rows = [row for row in reproduce(study, STUDIES / study).rows if row.measured is not None]
    assert rows
    for row in rows:
        assert any("without a hypervisor" in one for one in row.deviations) == expected
