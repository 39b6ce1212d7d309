"""High availability of the NameNode: its settings, and descriptions that cannot have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.test_hadoop_layout import layout_for
from tests.support.hosts import host
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.hadoop import ha
from windtunnel.engines.hadoop.hdfs import Hdfs
from windtunnel.engines.storage_systems import needs_new_storage
from windtunnel.errors import DescriptionError
from windtunnel.study.faults.kill import KillDaemon

CLUSTER = load_cluster("local-3-ha")


def test_clients_know_both_namenodes_and_each_namenode_knows_itself(tmp_path: Path) -> None:
    layout = layout_for(CLUSTER, tmp_path)
    shared = layout.properties()
    assert shared["fs.defaultFS"] == "hdfs://windtunnel"
    assert shared["dfs.ha.namenodes.windtunnel"] == "nn1,nn2"
    assert "dfs.namenode.rpc-address" not in shared
    for name, id_ in (("master", "nn1"), ("standby", "nn2")):
        own = layout.properties(next(h for h in layout.hosts if h.name == name))
        assert own["dfs.ha.namenode.id"] == id_
        for prop in ("dfs.namenode.rpc-address", "dfs.namenode.http-address"):
            assert shared[f"{prop}.windtunnel.{id_}"] == own[prop]
            assert own[prop].startswith(f"{name}:")
    edits = shared["dfs.namenode.shared.edits.dir"]
    assert [part.partition(":")[0] for part in edits.split("//")[1].split(";")] == [
        "master",
        "standby",
        "witness",
    ]
    assert len(shared["ha.zookeeper.quorum"].split(",")) == 3


def test_all_ports_of_a_host_differ(tmp_path: Path) -> None:
    layout = layout_for(CLUSTER, tmp_path)
    ports = list(layout.ha_ports.values())
    for own in layout.per_host.values():
        ports += [int(v.rpartition(":")[2]) for k, v in own.items() if k.endswith("address")]
    assert len(ports) == len({*ports})


def test_what_differs_between_starts_is_not_in_the_provenance(tmp_path: Path) -> None:
    one, two = layout_for(CLUSTER, tmp_path), layout_for(CLUSTER, tmp_path)
    assert one.properties() != two.properties()
    assert one.lasting() == two.lasting()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hosts.standby.roles": ["journalnode"]}, "two hosts must have the role namenode"),
        ({"hosts.witness.roles": ["client"]}, "three hosts, or a greater odd number"),
        ({"software.task_start": "warm"}, "warm starts"),
        ({"storage.ha": False}, "JournalNodes need storage.ha"),
    ],
)
def test_what_cannot_be_started_is_refused(changes: dict[str, object], words: str) -> None:
    (problem,) = Hdfs.problems(apply_overrides(CLUSTER, changes))
    assert words in problem


def test_only_hdfs_has_it() -> None:
    with pytest.raises(DescriptionError, match="'ha' requires storage of kind hdfs"):
        apply_overrides(load_cluster("local-3-cephfs"), {"storage.ha": True})


def test_one_namenode_does_not_become_two_while_it_runs() -> None:
    without = apply_overrides(CLUSTER, {"storage.ha": False})
    assert needs_new_storage(CLUSTER, without)
    assert not needs_new_storage(CLUSTER, CLUSTER)


def test_the_active_namenode_is_found_by_its_state(tmp_path: Path) -> None:
    hosts = [host(name, "127.0.0.1", tmp_path) for name in ("master", "standby")]
    assert ha.active({"master": "standby", "standby": "active"}, hosts) is hosts[1]
    assert ha.active({"master": "standby"}, hosts) is None


def test_the_active_namenode_can_be_killed_only_where_there_is_one() -> None:
    fault = KillDaemon(kind="kill-daemon", role="namenode", host="active")
    assert list(fault.problems(CLUSTER)) == []
    assert fault.target(CLUSTER) == "the active namenode"
    assert "storage.ha" in next(fault.problems(load_cluster("local-3")))
    other = KillDaemon(kind="kill-daemon", role="datanode", host="active")
    assert list(other.problems(CLUSTER)) != []


def test_the_daemons_of_ceph_can_be_killed() -> None:
    cluster = load_cluster("local-3-cephfs")
    for role, on in (("mon", "master"), ("osd", "worker-3"), ("mds", "master")):
        fault = KillDaemon(kind="kill-daemon", role=role)
        assert list(fault.problems(cluster)) == []
        assert fault.target(cluster) == f"the {role} on {on}"
