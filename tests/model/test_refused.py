"""Descriptions that the model refuses, and sizes as Hadoop parses them."""

from __future__ import annotations

import pytest

from windtunnel.cluster import Cluster, QuantityError, apply_overrides, load_cluster
from windtunnel.cluster.settings import hadoop_bytes
from windtunnel.errors import DescriptionError
from windtunnel.model.hardware import hardware
from windtunnel.model.jobs import Job, assumptions, job
from windtunnel.model.refused import refusals

CISCO = apply_overrides(load_cluster("cisco-2014"), {"storage.block_size": None})
BLOCK = "settings.dfs.blocksize"
NODE = "settings.yarn.nodemanager.resource.memory-mb"
MOST = "settings.yarn.scheduler.maximum-allocation-mb"
MAP = "settings.mapreduce.map.memory.mb"


def sort(cluster: Cluster, kind: str = "sort") -> Job:
    return job(kind, {"size": "1 GiB"}, cluster, hardware(cluster))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("128m", 2.0**27),
        ("128M", 2.0**27),
        (" 64k ", 2.0**16),
        ("1e", 2.0**60),
        (134217728, 2.0**27),
        ("-5", -5.0),
        ("1.5g", None),
        ("128mb", None),
        ("abc", None),
        ("8e", None),
        ("", None),
        (True, None),
    ],
)
def test_sizes_are_those_of_hadoop(text: object, found: float | None) -> None:
    assert hadoop_bytes(text) == found


@pytest.mark.parametrize(("size", "tasks"), [("128m", 8), ("64m", 16), (2**28, 4), ("1g", 1)])
def test_a_block_size_can_have_a_suffix(size: object, tasks: int) -> None:
    assert sort(apply_overrides(CISCO, {BLOCK: size})).tasks == tasks


@pytest.mark.parametrize("size", ["abc", "-5", 0, "0", "1.5m", True])
def test_what_is_no_block_size_is_an_error_of_the_description(size: object) -> None:
    with pytest.raises(DescriptionError, match="is not a block size") as caught:
        sort(apply_overrides(CISCO, {BLOCK: size}))
    assert caught.value.key == BLOCK
    assert "128m" in caught.value.remedy
    assert isinstance(caught.value, QuantityError)  # readers of results skip its times


def test_blocks_that_hdfs_refuses_are_refused() -> None:
    least = "settings.dfs.namenode.fs-limits.min-block-size"
    with pytest.raises(DescriptionError, match=r"HDFS refuses blocks of 524288 bytes.* 1048576"):
        sort(apply_overrides(CISCO, {BLOCK: "512k"}))
    with pytest.raises(DescriptionError) as caught:
        sort(apply_overrides(CISCO, {"storage.block_size": "512 KiB"}))
    assert caught.value.key == "storage.block_size"
    assert sort(apply_overrides(CISCO, {BLOCK: "1m"})).tasks == 1024
    # as scale models set it
    assert sort(apply_overrides(CISCO, {BLOCK: "512k", least: 2**19})).tasks == 2048


def test_storage_without_equations_is_refused() -> None:
    for name, kind in (("local-3-s3a", "s3a"), ("local-3-ozone", "ozone")):
        with pytest.raises(
            DescriptionError, match=f"no equations for the storage {kind}"
        ) as caught:
            sort(load_cluster(name), "pi")
        assert (caught.value.key, caught.value.remedy) == (
            "storage.kind",
            "it predicts: hdfs, cephfs.",
        )
    for kind in ("nfs", "local"):
        cluster = apply_overrides(load_cluster("local-3"), {"storage.kind": kind})
        assert "no equations" in refusals("sort", {}, cluster)[0].message


def test_cephfs_and_codes_are_assumptions() -> None:
    ceph = load_cluster("local-3-cephfs")
    assert sort(ceph).tasks == 8
    assert any("CephFS is treated as HDFS" in line for line in hardware(ceph).assumed)
    assert not any("CephFS" in line for line in hardware(CISCO).assumed)
    coded = apply_overrides(CISCO, {"storage.erasure_code": "RS-3-2"})
    assert any("erasure code" in line for line in assumptions("write", {}, coded))
    assert not any("erasure code" in line for line in assumptions("write", {}, CISCO))


def test_a_container_that_no_host_can_start_is_refused() -> None:
    small = apply_overrides(CISCO, {MAP: 400_000, NODE: 1024})
    with pytest.raises(DescriptionError) as caught:
        sort(small)
    assert caught.value.key == MAP
    assert "a map task needs 400,000 MB, but a NodeManager has 1,024 MB" in caught.value.message
    assert caught.value.message.endswith(": YARN never starts it")
    assert sort(small, "put").data_bytes == 2**30  # a copy has no containers
    # the memory of a NodeManager is not described, nor that of the hosts
    unknown = apply_overrides(
        CISCO, {MAP: 400_000, NODE: None, MOST: None, "hosts.worker.memory": None}
    )
    assert sort(unknown).at_once > 0
    assert any("one container per host" in line for line in hardware(unknown).assumed)
    assert not refusals("sort", {}, CISCO)


def test_a_container_that_is_larger_than_every_host_is_refused() -> None:
    large = apply_overrides(CISCO, {MAP: 400_000, NODE: None, MOST: None})
    with pytest.raises(DescriptionError) as caught:
        sort(large)
    assert caught.value.message == (
        "a map task needs 400,000 MB, but a host has 262,144 MB: YARN never starts it"
    )
    assert caught.value.key == MAP
    tiny = apply_overrides(CISCO, {MAP: None, NODE: None, "hosts.worker.memory": "1 B"})
    with pytest.raises(DescriptionError, match="a map task needs 1,024 MB, but a host has 0 MB"):
        sort(tiny)
    assert sort(tiny, "put").data_bytes == 2**30


def test_terasort_without_reduce_tasks_is_refused() -> None:
    none = apply_overrides(CISCO, {"settings.mapreduce.job.reduces": 0})
    for kind in ("sort", "validate"):
        with pytest.raises(DescriptionError, match="does not sort without reduce tasks") as caught:
            sort(none, kind)
        assert caught.value.key == "settings.mapreduce.job.reduces"
    given = job("sort", {"size": "1 GiB", "reduces": 7}, none, hardware(none))
    assert given.reduces == 7  # the workload sets its own number
    assert sort(none, "generate") == sort(CISCO, "generate")  # it has no reduce tasks
