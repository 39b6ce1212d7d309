"""What ``predict``, ``size`` and ``whatif`` refuse, and changes that the model does not see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from windtunnel.cli import run

SIZE = ("size", "--workload", "terasort")
PARTS = """
cluster: local-3
host: worker
counts: [2, 3, 4]
workloads:
  terasort: {size: 1 GB, input_replication: 3, output_replication: 1}
parts:
  rest:
    part: {price: 100 USD, disks: [{kind: hdd, size: 1 TB}]}
"""
FAULTS = """
study: broken
cluster: local-3
testbed: local
workloads:
  terasort: {size: 1 GB, input_replication: 2, output_replication: 1}
factors:
  fault:
    none: {}
    killed: {fault: {kind: kill-daemon, role: datanode, at: 50 %, phase: terasort}}
  factor:
    ten: {}
    one: {settings.mapreduce.task.io.sort.factor: 1}
baseline: {fault: none, factor: ten}
"""


def refused(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> str:
    assert run(list(words)) == code
    return capsys.readouterr().err


def found(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run([*words, "--json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("mapreduce.task.io.sort.factor=1", "must be a number of at least 2, not 1"),
        ("mapreduce.map.output.compress=snappy", "must be true or false, not 'snappy'"),
        ("yarn.nodemanager.resource.cpu-vcores=abc", "or -1, not 'abc'"),
    ],
)
def test_settings_that_the_model_cannot_use(
    setting: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change = ("--set", f"settings.{setting}")
    for words in (("predict", "local-3", "pi"), (*SIZE, "--within", "30 min")):
        said = refused(capsys, *words, *change, code=3)
        assert says in said
        assert setting.partition("=")[0] in said


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("size --within 0s", 2, "--within '0s': must be more than 0"),
        ("size --within 1h --power 0W", 2, "--power '0W': must be more than 0"),
        ("size --within 1h --probability 90", 2, "for 90 %: --probability 0.9"),
        ("size --within 1h --chart front.png", 2, "the chart is an SVG file"),
        ("size nosuch.yaml --within 1h", 3, "nosuch.yaml"),
        (
            "size --within 1h --set hosts.worker.count=3",
            2,
            "the parts file sets hosts.worker.count",
        ),
        (
            "size --within 1h --set hosts.worker.disks.0.count=3",
            2,
            "the parts file sets hosts.worker.disks.0.count",
        ),
        (
            "predict local-3 terasort --set workloads.terasort.output_replication=4",
            4,
            "output_replication is 4, but the cluster has 3 datanodes",
        ),
        (
            "predict local-3 transfer --set workloads.transfer.streams=50",
            3,
            "streams cannot be more than files",
        ),
        (
            "predict cisco-2014 pi --set hosts.worker.nics.0.measured_rate=100Gb/s",
            3,
            "must be at most the rate of the port, 10 Gb/s, not 100 Gb/s",
        ),
        ("predict local-3 teravalidate", 2, "teravalidate is a phase of terasort"),
        ("predict local-3 put", 2, "put is a phase of transfer"),
        ("predict local-3 Terasort", 2, "did you mean terasort?"),
        ("predict local-3 pi --fit nosuch.json", 6, "fit file: nosuch.json cannot be read"),
        ("predict --for published:intel-2012", 6, "has no times that the model can predict"),
        (
            "whatif published:cisco-2014 --set workloads.terasort.size=1TB",
            2,
            "whatif changes the cluster only",
        ),
        (
            "predict local-3 terasort --set workloads.terasort.reduces=0",
            3,
            "must be at least 1, not 0",
        ),
    ],
)
def test_refusals(words: str, code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert says in refused(capsys, *words.split(), code=code)


def test_data_that_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    change = ("--set", "workloads.terasort.size=10TB")
    data = found(capsys, *SIZE, "--within", "24 h", *change)
    rows = {row["name"]: row for row in data["candidates"]}
    small = rows["3 hosts, E5-2660 v2, 128 GiB, 12 disks"]
    assert small["misses"] == ["capacity: needs 44.6 TB, has 21.6 TB"]
    assert small["dominated"]
    assert not small["meets"]
    assert data["candidates"][0]["capacity"]["fits"]
    data = found(
        capsys, "predict", "cisco-2014/test12", "terasort", *change, "--set", "hosts.worker.count=3"
    )
    assert data["capacity"]["fits"] is False
    assert data["warnings"] == [line for line in data["warnings"] if line.startswith("capacity: ")]


def test_candidates_with_too_few_hosts_are_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "parts.yaml"
    file.write_text(PARTS)
    data = found(capsys, "size", "--parts", str(file), "--within", "1 h")
    few = data["candidates"][-1]
    assert few["name"].startswith("2 hosts")
    assert "cannot run: workloads.terasort.input_replication is 3" in few["misses"][0]
    assert few["elapsed_s"] is None
    assert run(["size", "--parts", str(file), "--within", "1 h"]) == 0
    assert "price unknown; cannot run: workloads.terasort" in capsys.readouterr().out


def test_treatments_that_the_model_cannot_predict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(FAULTS)
    rows = found(capsys, "size", str(file), "--within", "10 h")["candidates"]
    assert [row["possible"] for row in rows] == [True, False, False, False]
    reasons = " ".join(miss for row in rows for miss in row["misses"])
    assert "the testbed 'modelled' cannot inject faults" in reasons
    assert "settings.mapreduce.task.io.sort.factor must be a number of at least 2" in reasons


def test_a_change_without_effect_has_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    changes = ("--set", "storage.replication=1", "--set", "settings.mapreduce.task.io.sort.mb=1")
    assert run(["whatif", "published:cisco-2014", *changes]) == 0
    said = capsys.readouterr().out
    assert "storage.replication: the workloads set input_replication, output_replication" in said
    assert "io.sort.mb: the model has no term for this setting" in said
    assert "[" not in said
    data = found(capsys, "predict", "cisco-2014/test9", "terasort", *changes)
    assert set(data["no_effect"]) == {changes[1].split("=")[0], changes[3].split("=")[0]}


def test_hosts_that_are_not_used_cost_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    data = found(capsys, "predict", "cisco-2014", "pi", "--this-machine")
    assert all(row["cost"] is None for row in data["predictions"])
    assert data["capacity"] is None


def test_changes_that_are_possible_only_together_are_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = "settings.yarn.nodemanager.resource.memory-mb"
    task = "settings.mapreduce.map.memory.mb"
    words = ["predict", "model-3", "teragen", "--set", f"{task}=8192", "--set"]
    assert run([*words, f"{memory}=16384"]) == 0, capsys.readouterr().err
    assert run([*words, f"{memory}=4096"]) == 3
    assert "but a NodeManager has 4,096 MB" in capsys.readouterr().err


def test_teragen_needs_no_container_of_a_reduce_task() -> None:
    memory = "settings.yarn.nodemanager.resource.memory-mb=4096"
    task = "settings.mapreduce.reduce.memory.mb=8192"
    assert run(["predict", "model-3", "teragen", "--set", memory, "--set", task]) == 0
    assert run(["predict", "model-3", "terasort", "--set", memory, "--set", task]) == 3


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("predict", "local-3", "terasort"), "workloads.terasort.size"),
        (("predict", "local-3", "terasort"), "hosts.worker.count"),
        ((*SIZE, "--within", "1 h"), "workloads.terasort.size"),
        (("plan", "demo"), "hosts.worker.count"),
    ],
)
def test_a_change_without_a_value_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], path: str
) -> None:
    """The shell removes the value of ``--set PATH=$UNSET``."""
    text = refused(capsys, *words, "--set", f"{path}=", code=2)
    assert f"--set {path}=: the value is missing" in text
