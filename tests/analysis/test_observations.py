"""Totals of trials: which metrics are added over the phases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import windtunnel.workloads  # noqa: F401  (completes the catalogue of metrics)
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.observations import TOTAL, observe
from windtunnel.results.folder import read_results
from windtunnel.results.record import Metric, Trial

PHASES = 3


def with_metrics(trial: Trial) -> Trial:
    added = {
        "task_start": Metric(value=2.0, unit="s"),
        "pool_memory": Metric(value=1e9, unit="bytes"),
        "start_to_first_result": Metric(value=9.0, unit="s"),
        "pool_fill": Metric(value=4.0, unit="s"),
        "of_a_plugin": Metric(value=5.0, unit="J"),
        "rate_of_a_plugin": Metric(value=6.0, unit="J/s"),
    }
    phases = [p.model_copy(update={"metrics": {**p.metrics, **added}}) for p in trial.phases]
    return trial.model_copy(update={"phases": phases})


@pytest.fixture(scope="module")
def total(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """The numbers of the total of one trial."""
    plan = Plan(trials=1, write_samples=False, edit=with_metrics)
    trials = read_results(study_folder(tmp_path_factory.mktemp("study"), plan)).trials
    return {row.metric: row.value for row in observe(trials) if row.phase == TOTAL}


@pytest.mark.parametrize("name", ["task_start", "pool_memory", "start_to_first_result"])
def test_medians_and_levels_have_no_total(total: dict[str, float], name: str) -> None:
    assert name not in total


def test_amounts_are_added(total: dict[str, float]) -> None:
    assert total["pool_fill"] == PHASES * 4
    assert total["cpu_time"] > 0
    assert total["elapsed"] > 0


def test_without_a_description_the_unit_decides(total: dict[str, float]) -> None:
    assert total["of_a_plugin"] == PHASES * 5
    assert "rate_of_a_plugin" not in total


def test_reports_of_stored_trials_know_the_metrics_of_warm_starts(tmp_path: Path) -> None:
    """A process that starts no testbed has their descriptions."""
    code = (
        "import windtunnel.report\n"
        "from windtunnel.results.metrics import describe\n"
        "assert describe('pool_memory', 'bytes').additive is False\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
