"""Storage systems by their kind, and a local folder as one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.hosts import host
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.hadoop.layout import Placement
from windtunnel.engines.hadoop.local_files import LocalFiles
from windtunnel.engines.storage_system import Ground
from windtunnel.engines.storage_systems import (
    STORAGE_SYSTEMS,
    needs_new_storage,
    storage_of,
    storage_system,
    unsupported_engines,
)
from windtunnel.errors import NotRealisableError
from windtunnel.testbeds.hadoop_testbed import client_only

LOCAL = apply_overrides(
    load_cluster("local-3"),
    {
        "storage.kind": "local",
        "hosts.master.roles": ["resourcemanager", "historyserver"],
        "hosts.worker.roles": ["nodemanager"],
    },
)


def local_files(folder: Path) -> LocalFiles:
    placed = [Placement(host("master", "127.0.0.1", folder), (), folder)]
    return LocalFiles(Ground(LOCAL, placed, folder, own_networks=False))


@pytest.mark.parametrize("kind", list(STORAGE_SYSTEMS))
def test_each_kind_has_a_system_of_that_name(kind: str) -> None:
    found = storage_system(kind)
    assert found is not None
    assert found.name == kind


def test_an_unknown_kind_names_the_known_ones() -> None:
    cluster = LOCAL.model_copy(update={"storage": LOCAL.storage.model_copy(update={"kind": "nfs"})})
    assert storage_system("nfs") is None
    with pytest.raises(NotRealisableError, match="kind 'nfs'") as caught:
        storage_of(cluster)
    assert "hdfs, local, cephfs" in caught.value.remedy


def test_engines_that_do_not_run_on_a_storage_are_named() -> None:
    assert unsupported_engines(load_cluster("local-3"), "w", ["spark", "hbase"]) == []
    assert unsupported_engines(LOCAL, "w", ["spark", "hbase"]) == [
        "workloads.w runs on hbase, which is not supported on storage of kind local",
        "workloads.w runs on spark, which is not supported on storage of kind local",
    ]
    cephfs, s3a = load_cluster("local-3-cephfs"), load_cluster("local-3-s3a")
    (sentence,) = unsupported_engines(cephfs, "w", ["spark", "hive", "pig", "hbase"])
    assert sentence == "workloads.w runs on hbase, which is not supported on storage of kind cephfs"
    (sentence,) = unsupported_engines(s3a, "w", ["spark", "hive", "pig"])
    assert sentence == "workloads.w runs on hive, which is not supported on storage of kind s3a"


def test_a_local_folder_has_one_copy_and_no_code() -> None:
    assert LOCAL.replication == 1
    assert LocalFiles.problems(LOCAL) == []
    two = apply_overrides(LOCAL, {"storage.replication": 2})
    code = apply_overrides(LOCAL, {"storage.erasure_code": "RS-2-1"})
    assert ["no replicas" in line for line in LocalFiles.problems(two)] == [True]
    assert ["no erasure codes" in line for line in LocalFiles.problems(code)] == [True]


def test_a_local_folder_is_linked_into_the_file_system(tmp_path: Path) -> None:
    storage = local_files(tmp_path)
    jvms: Any = SimpleNamespace(spawn_own=lambda *_, **__: SimpleNamespace(name="server"))
    storage.begin(jvms)
    settings = storage.settings()

    assert settings["fs.defaultFS"] == "viewfs://windtunnel/"
    assert settings["fs.local.block.size"] == "134217728", "as many splits as on HDFS"
    link = settings["fs.viewfs.mounttable.windtunnel.link./windtunnel"]
    assert Path(link.removeprefix("file://")).is_dir()
    assert list(storage.running) == ["fileserver@master"]
    assert storage.state().missing == ["the file server"], "it does not listen yet"
    assert storage.state().serving
    assert storage.plays("fileserver@master")
    storage.restart("fileserver@master")
    assert list(storage.running) == ["fileserver@master"]


@pytest.mark.parametrize(
    ("name", "changes", "wanted"),
    [
        ("local-3", {"storage.replication": 2}, False),
        ("local-3", {"settings.mapreduce.task.io.sort.mb": 7}, False),
        ("local-3-cephfs", {"settings.mapreduce.task.io.sort.mb": 7}, False),
        ("local-3-cephfs", {"settings.ceph.osd_op_num_shards": 2}, True),
        ("local-3-cephfs", {"storage.replication": 2}, True),
    ],
)
def test_other_settings_of_a_storage_need_a_new_deployment(
    name: str, changes: dict[str, Any], wanted: bool
) -> None:
    old = load_cluster(name)
    new = apply_overrides(old, changes)
    assert needs_new_storage(old, new) is wanted
    if wanted:
        assert not client_only(old, new)
