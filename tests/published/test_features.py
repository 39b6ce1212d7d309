"""The table of features of a published study: what is measured in each cell, or why nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.report.test_faults import analysed
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.subjects.features import Found, systems
from windtunnel.cluster import load_text
from windtunnel.errors import DescriptionError
from windtunnel.published.claims import Claims, claims_from, study_claims
from windtunnel.published.features import feature_rows
from windtunnel.report.reproduction import features_table
from windtunnel.results.folder import read_results

PLACE = "run: sort, workload: terasort, phase: terasort"
CHECKS: dict[str, Any] = {
    "columns": [
        {
            "level": "HDFS",
            "through": "Hadoop",
            "answers": {
                "one": {"answer": "yes", "note": ""},
                "two": {"answer": "differs", "note": "x"},
                "three": {"answer": "yes", "note": ""},
            },
        },
        {"level": "HDFS", "through": "mount", "answers": {}},
    ]
}


def claims(cell: str) -> Claims:
    """Claims with one feature, and one cell."""
    runs = "{sort: {minutes: 1, treatments: 2, needs: root}}"
    text = f"study: s\nruns: {runs}\nclaims: []\nstorage_checks: ab\nfeatures:\n"
    text += f"- {{name: speed, cells: [{{system: A, of: all, {cell}}}]}}\n"
    return claims_from(load_text(text, "claims.yaml"))


def found(cell: str, measured: dict[str, Analysis], checks: Any = None) -> Found:
    (row,) = feature_rows(claims(cell), measured, checks)
    (only,) = row.cells
    return only


@pytest.fixture
def sort(tmp_path: Path) -> dict[str, Analysis]:
    folder = study_folder(tmp_path / "sort", Plan(trials=6, write_samples=False))
    return {"sort": analyse(read_results(folder))}


def test_a_ratio_has_its_interval_and_its_trials(sort: dict[str, Analysis]) -> None:
    cell = found(f"ratio: {{{PLACE}, treatment: {{settings: tuned}}}}", sort)
    assert cell.words.startswith("x0.6") and cell.words.endswith(", n = 3 and 3")
    assert cell.measured


def test_an_amount_is_a_mean_with_its_trials(sort: dict[str, Analysis]) -> None:
    cell = found(f"amount: {{{PLACE}, treatment: {{settings: stock}}}}", sort)
    assert cell.words.endswith(" s (n = 3)")


def test_an_outcome_counts_the_jobs_that_finished(tmp_path: Path) -> None:
    measured = {"sort": analysed(tmp_path, 10)}
    cell = found("outcome: {run: sort, treatment: {fault: killed}}", measured)
    assert cell.words.startswith("3 of 4 jobs finished, 1 with wrong output; time x1.31 [")
    assert "fully replicated after 21.5 s" in cell.words
    assert cell.words.endswith("not fully replicated within 60.0 s in some trials")


def test_the_time_of_an_outcome_is_compared_with_its_own_baseline(tmp_path: Path) -> None:
    measured = {"sort": analysed(tmp_path, 10)}
    text = "outcome: {run: sort, treatment: {fault: killed}, baseline: {fault: %s}}"
    assert "time x1 [" in found(text % "killed", measured).words
    assert "; time " not in found(text % "unknown", measured).words


def test_behaviours_are_counted_by_their_answers() -> None:
    text = "behaviours: {level: HDFS, through: %s}"
    cell = found(text % "Hadoop", {}, CHECKS)
    assert cell.words == "2 yes, 1 differs, 0 no (of 3)"
    assert not found(text % "mount", {}, CHECKS).measured, "no answer is no measurement"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (f"ratio: {{{PLACE}, treatment: {{}}}}", "not measured yet (sort)"),
        ("outcome: {run: sort, treatment: {}}", "not measured yet (sort)"),
        ("behaviours: {level: HDFS, through: Hadoop}", "not measured yet (storage-checks)"),
        ("cannot: no such disk", "not measured: no such disk"),
    ],
)
def test_what_is_not_measured_has_its_reason(cell: str, words: str) -> None:
    assert found(cell, {}) == Found("A", "all", words, measured=False)


def test_an_unknown_level_is_not_measured(sort: dict[str, Analysis]) -> None:
    for kind in ("ratio", "amount"):
        cell = found(f"{kind}: {{{PLACE}, treatment: {{settings: other}}}}", sort)
        assert not cell.measured


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("of: x", "exactly one of"),
        ("cannot: a, behaviours: {level: a, through: b}", "exactly one of"),
        ("outcome: {run: other, treatment: {}}", "there is no run 'other'"),
    ],
)
def test_mistakes_are_named(cell: str, message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        claims(cell.replace("of: x", "cannot: ''"))


def test_behaviours_need_a_study() -> None:
    text = "study: s\nclaims: []\nfeatures:\n- name: a\n  cells:\n"
    text += "  - {system: A, behaviours: {level: a, through: b}}\n"
    with pytest.raises(DescriptionError, match="'behaviours' requires 'storage_checks'"):
        claims_from(load_text(text, "claims.yaml"))


def test_the_table_has_a_row_for_each_thing_that_is_measured() -> None:
    rows = feature_rows(study_claims("mellanox-2014"), {}, None)
    assert systems(rows) == ["HDFS", "CephFS"]
    table = features_table(rows)
    assert [column.name for column in table.columns] == ["feature", "measured", "HDFS", "CephFS"]
    killed = next(row for row in table.rows if row[1] == "NameNode killed")
    assert killed == [
        "single point of failure",
        "NameNode killed",
        "not measured yet (storage-kills)",
        "",
    ]
