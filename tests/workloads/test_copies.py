"""Replicas that workloads request: too many, or replaced by an erasure code."""

from __future__ import annotations

from typing import Any

import pytest

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.engines.deployment import FileStatus, found_copies
from windtunnel.study.plan import make_workload


def cluster(**changes: Any) -> Cluster:
    return apply_overrides(load_cluster("local-3"), changes)


CODED = {"hosts.worker.count": 5, "storage.erasure_code": "RS-3-2"}
SORT = {"rows": 100, "input_replication": 1, "output_replication": 1}
COPY = {"size": "1 MB", "replication": 1}
IO = {"files": 1, "file_size": "1 MB", "replication": 1}


@pytest.mark.parametrize(
    ("name", "wanted"), [("terasort", SORT), ("transfer", COPY), ("dfsio", IO)]
)
def test_one_replica_fits_with_and_without_an_erasure_code(
    name: str, wanted: dict[str, Any]
) -> None:
    workload = make_workload(name, wanted)
    assert workload.check(cluster()) == []
    assert workload.check(cluster(**CODED)) == []


@pytest.mark.parametrize(
    ("name", "wanted", "key"),
    [
        ("terasort", SORT | {"output_replication": 2}, "output_replication"),
        ("transfer", COPY | {"replication": 2}, "replication"),
        ("dfsio", IO | {"replication": 2}, "replication"),
    ],
)
def test_replicas_are_refused_where_an_erasure_code_replaces_them(
    name: str, wanted: dict[str, Any], key: str
) -> None:
    (said,) = make_workload(name, wanted).check(cluster(**CODED))
    assert said == (
        f"workloads.{name}.{key} is 2, but files with the erasure code RS-3-2 have no replicas: "
        "set it to 1"
    )


def test_more_replicas_than_datanodes_are_refused() -> None:
    (said,) = make_workload("transfer", COPY | {"replication": 4}).check(cluster())
    assert said == "workloads.transfer.replication is 4, but the cluster has 3 datanodes"


def test_files_with_erasure_codes_are_not_appended_to() -> None:
    found = make_workload("dfsio", IO | {"append": True, "truncate": True}).check(cluster(**CODED))
    assert found == [
        "workloads.dfsio.append: HDFS cannot append files with erasure codes",
        "workloads.dfsio.truncate: HDFS cannot truncate files with erasure codes",
    ]


def test_files_are_named_by_how_they_are_kept() -> None:
    files = [FileStatus("/a", 1, 2), FileStatus("/b", 1, 1, "RS-3-2-1024k"), FileStatus("/c", 1, 2)]
    assert found_copies(files) == "erasure code RS-3-2-1024k/replication 2"
    assert found_copies([]) == "replication none"
