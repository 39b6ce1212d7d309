"""The section on what the machine below a scale model had left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.built import Built, built
from windtunnel.analysis import Analysis
from windtunnel.report.sections.walls import section


def model(folder: Path, trials: list[Built], testbed: str = "scaled") -> Analysis:
    analysis = built(folder, trials)
    analysis.study.testbed = testbed
    return analysis


def sampled(level: str, idle: float, waiting: float = 0.0, **disks: float) -> Built:
    values = {"cpu_idle": idle, "cpu_iowait": waiting}
    values |= {f"disk_busy:{name}": value for name, value in disks.items()}
    return Built(level=level, samples={"this-machine": values, "worker-1": {"cpu_idle": 0.01}})


def test_idle_shares_and_the_busiest_disk_by_treatment(tmp_path: Path) -> None:
    trials = [
        sampled("easy", 0.5, 0.25, sda=0.125, sdb=0.5),
        sampled("easy", 0.5, sda=0.5, sdb=0.25),
        sampled("tight", 0.24),
    ]
    made = section(model(tmp_path, trials))

    assert made is not None
    (said,) = made.said
    assert "The least was 24 % idle" in said
    (table,) = made.tables
    assert [list(row[2:]) for row in table.rows] == [
        ["62 %", "50 %", "50 %", "2"],
        ["24 %", "24 %", "unknown", "1"],
    ], "waiting counts as idle; what was not sampled is unknown; the model's hosts do not count"
    assert table.strong == {1}
    assert [entry["idle"] for entry in made.data] == pytest.approx([0.625, 0.24])


@pytest.mark.parametrize("testbed", ["local", "attached"])
def test_a_machine_that_is_the_cluster_has_no_walls(tmp_path: Path, testbed: str) -> None:
    assert section(model(tmp_path, [sampled("easy", 0.5)], testbed)) is None


def test_without_samples_there_is_no_section(tmp_path: Path) -> None:
    assert section(model(tmp_path, [Built()])) is None
