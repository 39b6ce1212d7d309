"""The section on the idle CPU and busy disk of a scale model's host machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.built import Built, built
from windtunnel.analysis.analyse import Analysis
from windtunnel.report.sections.host_machine import section
from windtunnel.results.record import Check, Metric


def model(folder: Path, trials: list[Built], idle_at_least: float | None = 0.25) -> Analysis:
    """Trials that a testbed judged by a threshold; None: it judged none."""
    analysis = built(folder, trials)
    if idle_at_least is not None:
        limits = {"cpu_idle_at_least": idle_at_least, "disk_busy_at_most": 0.8}
        for trial in analysis.results.trials:
            trial.thresholds = {k: Metric(value=v, unit="ratio") for k, v in limits.items()}
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
    assert "The lowest idle fraction was 24 %" in said
    assert "at least 25 % idle" in made.lead
    (table,) = made.tables
    assert [list(row[2:]) for row in table.rows] == [
        ["62 %", "50 %", "50 %", "2"],
        ["24 %", "24 %", "unknown", "1"],
    ], "waiting counts as idle; what was not sampled is unknown; the model's hosts do not count"
    assert table.strong == {1}
    assert [entry["idle"] for entry in made.data] == pytest.approx([0.625, 0.24])


def test_a_machine_that_is_the_cluster_is_not_judged(tmp_path: Path) -> None:
    assert section(model(tmp_path, [sampled("easy", 0.5)], None)) is None


def test_trials_of_two_versions_are_described_by_the_limits_of_both(tmp_path: Path) -> None:
    analysis = model(tmp_path, [sampled("easy", 0.5), sampled("easy", 0.5)])
    earlier = analysis.results.trials[0]
    earlier.thresholds = {}
    earlier.verdict.checks.append(Check(name="the machine below the model", passed=True))

    made = section(analysis)
    assert made is not None
    assert "at least 20 % or 25 % idle" in made.lead


def test_trials_without_thresholds_are_described_by_the_rules_of_their_time(
    tmp_path: Path,
) -> None:
    analysis = model(tmp_path, [sampled("easy", 0.5)], None)
    check = Check(name="the machine below the model", passed=True)
    analysis.results.trials[0].verdict.checks.append(check)

    made = section(analysis)
    assert made is not None
    assert "at least 20 % idle" in made.lead


def test_without_samples_there_is_no_section(tmp_path: Path) -> None:
    assert section(model(tmp_path, [Built()])) is None
