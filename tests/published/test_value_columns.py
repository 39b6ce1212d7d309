"""Import: cells that are values of the description, such as a number of nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import cloud
from windtunnel.cli import run
from windtunnel.results.folder import read_results

CSV = """instance type,nodes,data GB,seconds
m4.large,4,100,900
m4.large,8,100,480
m4.xlarge,4,30.5,240
"""
MAP = """
cluster: base.yaml
workload: {text: terasort}
factors:
  instance:
    column: instance type
    levels: {m4.large: {hosts.worker.memory: 8 GiB}, m4.xlarge: {hosts.worker.memory: 16 GiB}}
  nodes: {column: nodes, path: hosts.worker.count}
  data: {column: data GB, path: workloads.terasort.size, unit: GB}
metrics:
  elapsed: {column: seconds, unit: s}
"""


def imported(folder: Path, table: str = CSV, text: str = MAP) -> int:
    (folder / "base.yaml").write_text(json.dumps(cloud.BASE.plain()))
    (folder / "map.yaml").write_text(text)
    (folder / "runs.csv").write_text(table)
    files = [str(folder / name) for name in ("runs.csv", "map.yaml", "out")]
    return run(["import", files[0], "--map", files[1], "--results", files[2]])


def test_a_cell_is_the_value_of_a_path(tmp_path: Path) -> None:
    assert imported(tmp_path) == 0
    found = read_results(tmp_path / "out").study.treatments
    assert [one.overrides for one in found] == [
        {
            "hosts.worker.memory": memory,
            "hosts.worker.count": count,
            "workloads.terasort.size": size,
        }
        for memory, count, size in (
            ("8 GiB", 4, "100 GB"),
            ("8 GiB", 8, "100 GB"),
            ("16 GiB", 4, "30.5 GB"),
        )
    ]


def test_one_cell_can_set_several_paths(tmp_path: Path) -> None:
    both = "path: [workloads.terasort.size, workloads.terasort.rows]"
    assert imported(tmp_path, text=MAP.replace("path: workloads.terasort.size", both)) == 0
    first = read_results(tmp_path / "out").study.treatments[0]
    assert first.overrides["workloads.terasort.rows"] == "100 GB"


@pytest.mark.parametrize(
    ("table", "text", "says"),
    [
        (CSV.replace(",4,100,", ",four,100,"), MAP, "hosts.worker.count"),
        (CSV, MAP.replace("hosts.worker.count", "hosts.workers.count"), "hosts.worker"),
        (CSV, MAP.replace("path: hosts.worker.count", "unit: GB"), "a unit requires the path"),
        (
            CSV,
            MAP.replace("column: instance type", "column: instance type\n    path: cluster"),
            "exclude each other",
        ),
    ],
)
def test_mistakes(
    table: str, text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(tmp_path, table, text) == 3
    assert says in capsys.readouterr().err
