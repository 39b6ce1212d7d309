"""The testbed ``local``: what it can realise, and what needs new daemons."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tests.support.mock import plan_from
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.hadoop import releases
from windtunnel.errors import DescriptionError, NotRealisableError
from windtunnel.hosts.leftovers import Registration
from windtunnel.study.check import check_plan
from windtunnel.testbeds import TESTBEDS, find_testbed, hadoop_testbed
from windtunnel.testbeds.local import LocalTestbed, client_only

GIB = 1 << 30
STUDY = """\
study: toy
cluster: local-3
workloads: {pi: {maps: 4, samples_per_map: 1000}}
"""
JAVA = SimpleNamespace(version="17.0.1")


@pytest.fixture
def testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalTestbed:
    memory = SimpleNamespace(available=8 * GIB, total=16 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    return LocalTestbed(tmp_path / "logs", lambda text: None)


def test_a_small_cluster_is_realised_without_caveat(testbed: LocalTestbed) -> None:
    found = testbed.check(load_cluster("local-3"))

    assert found.impossible == []
    assert found.unrealised == []


def test_more_workers_than_memory_are_refused_with_numbers(testbed: LocalTestbed) -> None:
    found = testbed.check(apply_overrides(load_cluster("local-3"), {"hosts.worker.count": 40}))

    assert found.impossible == [
        "40 workers need about 18.4 GiB only for their daemons; 8.0 GiB are free"
    ]


def test_storage_hosts_need_memory_as_well(testbed: LocalTestbed) -> None:
    changes = {
        "storage.external": ["store"],
        "hosts.worker.roles": ["nodemanager"],
        "hosts.store.roles": ["datanode"],
        "hosts.store.count": 20,
    }
    (problem,) = testbed.check(apply_overrides(load_cluster("model-external"), changes)).impossible
    assert problem.startswith("23 workers need about 10.9 GiB")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("storage.short_circuit", True),
        ("settings.dfs.client.read.shortcircuit", True),
        ("settings.dfs.client.read.shortcircuit", " TRUE"),
    ],
)
def test_short_circuit_reads_are_refused(testbed: LocalTestbed, key: str, value: object) -> None:
    (problem,) = testbed.check(apply_overrides(load_cluster("local-3"), {key: value})).impossible
    assert problem.startswith(f"{key} needs Hadoop's native library")
    assert problem.endswith(": set it to false, or remove it")


def test_a_setting_of_short_circuit_reads_without_effect_is_permitted(
    testbed: LocalTestbed,
) -> None:
    name = "settings.dfs.client.read.shortcircuit"
    assert not testbed.check(apply_overrides(load_cluster("local-3"), {name: False})).impossible
    ceph = apply_overrides(load_cluster("local-3-cephfs"), {name: True})
    assert not any(name in line for line in testbed.check(ceph).impossible)


def test_a_network_of_storage_hosts_is_stated(testbed: LocalTestbed) -> None:
    roles = {"hosts.worker.roles": ["nodemanager"], "hosts.store.roles": ["datanode"]}
    apart = apply_overrides(
        load_cluster("model-external"), {"storage.external": ["store"], **roles}
    )
    found = testbed.check(apart)
    assert found.impossible == []
    assert any(line.startswith("storage.external: the network") for line in found.unrealised)


def test_the_daemons_of_engines_are_counted_before_anything_starts(
    testbed: LocalTestbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "load", lambda *_: (None, None, JAVA))
    monkeypatch.setattr(hadoop_testbed, "load_engine", lambda *_: None)
    cluster = apply_overrides(load_cluster("local-3"), {"hosts.worker.count": 12})
    testbed.prepare(cluster)

    with pytest.raises(
        NotRealisableError, match=r"6\.1 GiB, and in addition hbase 6\.\d GiB; 8\.0"
    ):
        testbed.prepare(cluster, ["hbase", "pig"])


def test_an_existing_storage_needs_the_network_of_the_machine(
    testbed: LocalTestbed, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")
    changes = {
        "hosts.master.roles": ["resourcemanager", "historyserver"],
        "hosts.worker.roles": ["nodemanager"],
        "storage.kind": "existing-s3",
        "storage.s3": {"endpoint": "http://h", "bucket": "bench", "keys_file": str(keys)},
    }
    cluster = apply_overrides(load_cluster("local-1"), changes)
    found = testbed.check(cluster)
    assert found.impossible == []
    assert any("must reach the bucket bench of http://h" in line for line in found.unrealised)

    with_storage = apply_overrides(cluster, {"hosts.worker.roles": ["nodemanager", "osd"]})
    assert testbed.check(with_storage).impossible == ["no engine supports the roles osd"]


def test_a_file_system_of_the_description_is_a_caveat(testbed: LocalTestbed) -> None:
    cluster = apply_overrides(load_cluster("local-3"), {"storage.file_system": "xfs"})
    (line,) = testbed.check(cluster).unrealised
    assert line.startswith("storage.file_system")


def test_hardware_of_the_description_is_a_caveat(testbed: LocalTestbed) -> None:
    found = testbed.check(apply_overrides(load_cluster("cisco-2014"), {"hosts.worker.count": 3}))

    assert any(
        "all hosts share the CPU, memory, disks and NICs" in line for line in found.unrealised
    )


def test_the_memory_of_the_description_is_a_caveat(testbed: LocalTestbed) -> None:
    cluster = apply_overrides(load_cluster("local-3"), {"hosts.worker.memory": "640 GiB"})
    (line,) = testbed.check(cluster).unrealised

    assert line == "hosts.worker: all hosts share the CPU, memory, disks and NICs of this machine"


@pytest.mark.parametrize(
    ("factors", "says"),
    [
        ("{hosts.worker.memory: [64 GiB, 640 GiB]}", "hosts.worker.memory has no effect"),
        ("{hosts.worker.nics: [[{rate: 1 Gb/s}], [{rate: 10 Gb/s}]]}", "hosts.worker.nics has"),
        (
            "{size: {s: {hosts.worker.memory: 64 GiB}, l: {hosts.worker.cpu: {sockets: 2}}}}",
            "hosts.worker.memory, hosts.worker.cpu have no effect",
        ),
    ],
)
def test_a_factor_that_varies_only_shared_hardware_is_refused(
    testbed: LocalTestbed, factors: str, says: str
) -> None:
    with pytest.raises(NotRealisableError) as caught:
        check_plan(plan_from(f"{STUDY}factors: {factors}\n"), testbed)
    assert f"{says}" in caught.value.message
    assert "on the testbed 'local', whose hosts share this machine" in caught.value.message


@pytest.mark.parametrize(
    "factors",
    [
        "{size: {s: {}, l: {hosts.worker.memory: 64 GiB, hosts.worker.count: 4}}}",
        "{hosts.worker.disks: [[{kind: ssd, count: 1}], [{kind: ssd, count: 2}]]}",
    ],
)
def test_a_factor_with_an_effect_is_possible(testbed: LocalTestbed, factors: str) -> None:
    assert check_plan(plan_from(f"{STUDY}factors: {factors}\n"), testbed)


TASK = {"settings.mapreduce.map.memory.mb": 999_999}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (TASK, "a map task needs 999,999 MB, but a NodeManager has "),
        ({"settings.yarn.nodemanager.resource.memory-mb": 100}, "a NodeManager has 100 MB, and "),
        (
            {"settings.yarn.nodemanager.resource.memory-mb": 1024},
            "an application master needs 1,536 MB, but a NodeManager has 1,024 MB",
        ),
        (
            {"settings.yarn.nodemanager.resource.memory-mb": 1 << 20, **TASK},
            "a map task needs 999,999 MB, but yarn.scheduler.maximum-allocation-mb is ",
        ),
    ],
)
def test_a_container_that_yarn_never_starts_is_refused(
    testbed: LocalTestbed, changes: dict[str, int], says: str
) -> None:
    with pytest.raises(NotRealisableError) as caught:
        check_plan(plan_from(f"{STUDY}set: {json.dumps(changes)}\n"), testbed)
    assert says in caught.value.message


def test_a_copy_needs_no_container(testbed: LocalTestbed) -> None:
    pi, copies = (
        "pi: {maps: 4, samples_per_map: 1000}",
        "transfer: {files: 1, size: 1 MB, replication: 1}",
    )
    copies = STUDY.replace(pi, copies)
    check_plan(plan_from(f"{copies}set: {json.dumps(TASK)}\n"), testbed)


@pytest.mark.parametrize(
    ("name", "says"),
    [("vmware-2011-4vm", "no virtual machines"), ("mellanox-2014-cephfs", "role mgr")],
)
def test_what_it_cannot_do_is_impossible(testbed: LocalTestbed, name: str, says: str) -> None:
    assert any(says in line for line in testbed.check(load_cluster(name)).impossible)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"settings.mapreduce.task.io.sort.mb": 256}, True),
        ({"settings.dfs.replication": 2, "storage.replication": None}, True),
        ({"settings.dfs.blocksize": 1 << 20}, True),
        ({"settings.yarn.nodemanager.resource.memory-mb": 4096}, False),
        ({"settings.dfs.namenode.handler.count": 20}, False),
        ({"settings.io.file.buffer.size": 65536}, False),
        ({"hosts.worker.count": 4}, False),
        ({"software.hadoop": "3.4"}, False),
    ],
)
def test_only_settings_of_clients_leave_the_daemons_as_they_are(
    changes: dict[str, object], expected: bool
) -> None:
    cluster = load_cluster("local-3")
    other = apply_overrides(cluster, changes)

    assert client_only(cluster, other) is expected
    assert client_only(other, cluster) is expected


def test_the_registry_says_what_there_is() -> None:
    assert all(kind.name == name for name, kind in TESTBEDS.items())
    with pytest.raises(DescriptionError, match="no testbed 'cloud'") as caught:
        find_testbed("cloud")
    assert "local" in caught.value.remedy


def test_a_study_begins_with_the_removal_of_what_killed_commands_left(
    testbed: LocalTestbed, state: Path
) -> None:
    entry = Registration.create("local")
    entry.update(owner=None)
    entry.release()
    notes: list[str] = []
    testbed.begin_study("toy", notes.append)
    assert notes == [f"left by a command that was killed: removed the folder of {entry.id}"]
    assert not entry.folder.exists()
