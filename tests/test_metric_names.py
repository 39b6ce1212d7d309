"""Every metric that the code can write is in the catalogue, and what is not is still shown."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import windtunnel
from tests.support.mock import run_study, toy_plan
from tests.support.pairs import LATER, QUIET, folder
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.compare.directions import direction_of
from windtunnel.probes.sampler import Sampler
from windtunnel.report.export import long_table, to_json
from windtunnel.results.folder import read_results
from windtunnel.results.metrics import CATALOGUE, MetricInfo
from windtunnel.results.record import Metric, Trial
from windtunnel.workloads import WORKLOADS

PACKAGE = Path(windtunnel.__file__).parent

PASSED_ON = {
    "windtunnel.engines.hadoop.program": "sums of the metrics of several jobs, under their names",
    "windtunnel.published.units": "numbers of published studies, under the names of their tables",
    "windtunnel.results.metrics": "MetricInfo.of, which everything else writes with",
    "windtunnel.testbeds.scaled.saturation": "limits that the testbed judges by",
    "windtunnel.workloads.mix.runs": "the parts' own metrics, as '{part}: {metric}'",
}
"""Modules that make a Metric of a name or unit that they were given, and which."""


@cache
def sources() -> list[tuple[str, ast.Module]]:
    """Every module of the package with its syntax tree."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        found.append((name, ast.parse(file.read_text(encoding="utf-8"))))
    return found


def test_numbers_are_written_through_their_description_alone() -> None:
    """A Metric that is made by hand could have any name and any unit."""
    found = {
        name
        for name, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Metric"
    }
    assert found == set(PASSED_ON)


def test_every_description_in_the_code_is_registered() -> None:
    infos = {
        (module.name, info.name): info
        for module in pkgutil.walk_packages([str(PACKAGE)], "windtunnel.")
        if not module.name.endswith(("__main__", ".client.duckdb_queries", ".ceph.admin_program"))
        for value in vars(importlib.import_module(module.name)).values()
        for info in (value if isinstance(value, tuple | dict) else (value,))
        if isinstance(info, MetricInfo)
    }
    assert len(infos) > 100
    registered = set(CATALOGUE)
    assert {key for key, info in infos.items() if info not in registered} == set()


def test_every_name_that_the_code_reads_is_in_the_catalogue() -> None:
    """``metrics["cpu_time"]`` and ``metrics.get("cpu_time")`` anywhere in the package."""
    read = {
        (module, name)
        for module, tree in sources()
        for node in ast.walk(tree)
        for name in _read(node)
    }
    assert len(read) > 5
    assert {entry for entry in read if CATALOGUE.find(entry[1]) is None} == set()


def _read(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Subscript(value=ast.Attribute(attr="metrics"), slice=ast.Constant(value=key)):
            yield str(key)
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(attr="metrics"), attr="get"),
            args=[ast.Constant(value=key), *_],
        ):
            yield str(key)


def test_all_numbers_of_a_run_are_described(tmp_path: Path) -> None:
    trials = run_study(tmp_path, toy_plan())
    written = {
        (name, metric.unit)
        for trial in trials
        for metrics in (trial.metrics, *(phase.metrics for phase in trial.phases))
        for name, metric in metrics.items()
    }
    assert {"cpu_time", "data_rate", "trial_wall", "data_bytes"} <= {name for name, _ in written}
    assert {name for name, unit in written if not CATALOGUE.describe(name, unit).meaning} == set()


def test_all_samples_are_described() -> None:
    sampler = Sampler(lambda: {"datanode@worker-1": 1})
    for now in (1.0, 2.0):
        time.sleep(0.05)  # the kernel counts CPU time in steps of 10 ms
        sampler.rows += sampler._sample(now)
    written = {(row.metric, row.unit) for row in sampler.rows}

    assert ("cpu_idle", "ratio") in written
    found = {name: CATALOGUE.describe(name, unit) for name, unit in written}
    assert {name for name, info in found.items() if info.level != "sample"} == set()


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_describes_metrics_of_its_own(name: str) -> None:
    own = WORKLOADS[name].about.metrics

    assert own
    assert all(info in set(CATALOGUE) for info in own)
    assert not [info.name for info in own if "," in info.name or "..." in info.name]


def test_directions_are_those_of_the_metric_and_not_of_its_unit() -> None:
    assert direction_of("transfer_rate", "bytes/s") == "more"
    assert direction_of("task_rate_deviation", "bytes/s") == "less"
    assert direction_of("edp_metered", "J s") == "less"
    assert direction_of("cache_hits", "ratio") == "more"
    assert direction_of("sort: failed_attempts", "count") == "less"
    assert direction_of("hdfs_bytes_read", "bytes") is None
    assert direction_of("of_a_plugin", "records/s") == "more"


def test_the_comparison_knows_the_workloads_metrics(tmp_path: Path) -> None:
    """In a program of its own, where no test has imported anything before."""
    first = folder(tmp_path / "a", edit=rated)
    other = folder(tmp_path / "b", replace(QUIET, seed=2), later=LATER, edit=rated)
    code = "import sys; from windtunnel.cli import run; sys.exit(run(['compare', *sys.argv[1:]]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(first), str(other), "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert '"metric": "task_rate_deviation"' in done.stdout, done.stderr
    after = done.stdout.split('"metric": "task_rate_deviation"', 1)[1]
    assert after.split('"direction": ', 1)[1].startswith('"less"')


def rated(trial: Trial) -> Trial:
    """With a rate of which less is better, and a number that nobody described."""
    own = {
        "task_rate_deviation": Metric(value=1e6, unit="bytes/s"),
        "of_a_plugin": Metric(value=7.0, unit="furlongs"),
    }
    phases = [p.model_copy(update={"metrics": p.metrics | own}) for p in trial.phases]
    return trial.model_copy(update={"phases": phases})


def test_numbers_that_nobody_described_are_exported_with_their_unit(tmp_path: Path) -> None:
    made = study_folder(tmp_path, Plan(trials=4, write_samples=False, edit=rated))
    analysis = analyse(read_results(made))

    data = to_json(analysis)

    assert data["metrics"]["of_a_plugin"] == {
        "unit": "furlongs",
        "better": None,
        "label": "of a plugin",
        "meaning": "",
        "source": "",
    }
    assert data["metrics"]["cpu_time"]["label"] == "CPU time"
    assert {cell["metric"] for cell in data["cells"]} <= set(data["metrics"])
    rows = long_table(analysis).to_pylist()
    assert {row["unit"] for row in rows if row["metric"] == "of_a_plugin"} == {"furlongs"}
