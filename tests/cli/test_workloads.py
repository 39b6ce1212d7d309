"""``catalogue workloads``: complete for every workload, its example is one that ships."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from windtunnel.cli import app
from windtunnel.study.file import load_study
from windtunnel.workloads import WORKLOADS

RUN = CliRunner()


@pytest.mark.parametrize("name", WORKLOADS)
def test_each_is_described_with_an_example_that_runs_it(name: str) -> None:
    done = RUN.invoke(app, ["catalogue", "workloads", name, "--json"])
    assert done.exit_code == 0
    (found,) = json.loads(done.output)
    assert found["summary"]
    assert found["stresses"]
    assert found["metrics"]
    assert all(entry["meaning"] for entry in found["parameters"]), "each parameter is explained"
    study, _ = load_study(found["example"])
    assert name in study.workloads


def test_all_of_them_for_the_terminal() -> None:
    done = RUN.invoke(app, ["catalogue", "workloads"])
    assert done.exit_code == 0
    for name in WORKLOADS:
        assert f"{name}: " in done.output
    assert "samples_per_map" in done.output


def test_an_unknown_one_is_named() -> None:
    done = RUN.invoke(app, ["catalogue", "workloads", "terasrot"])
    assert done.exit_code != 0
