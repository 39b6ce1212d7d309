"""Environment variables of tasks that waiting JVMs cannot have."""

from __future__ import annotations

import pytest

from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.hadoop.hdfs import Hdfs
from windtunnel.engines.hadoop.task_environment import own_java


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("mapreduce.map.env", "A=1, JAVA_HOME=/opt/java", True),
        ("mapreduce.reduce.env.JAVA_HOME", "/opt/java", True),
        ("yarn.app.mapreduce.am.env", "MY_JAVA_HOME=/opt/java", False),
        ("mapreduce.map.env", "A=$JAVA_HOME", False),
        ("yarn.nodemanager.env-whitelist", "JAVA_HOME", False),
    ],
)
def test_another_java_of_tasks_is_found(name: str, value: str, found: bool) -> None:
    assert own_java({name: value}) == ([name] if found else [])


def test_tasks_with_another_java_cannot_start_warm() -> None:
    path = "settings.mapreduce.map.env"
    stock = apply_overrides(load_cluster("local-3"), {path: "JAVA_HOME=/opt/java"})
    assert Hdfs.problems(stock) == []
    (problem,) = Hdfs.problems(apply_overrides(stock, {"software.task_start": "warm"}))
    assert problem.startswith(f"{path}: waiting JVMs run the Java of the cluster")
