"""Who reads a property, and thus must be restarted."""

from __future__ import annotations

import pytest

from windtunnel.engines.hadoop.readers import ALL, HDFS, YARN, changed, readers, roles_to_restart


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("mapreduce.task.io.sort.mb", set()),
        ("dfs.replication", set()),
        ("dfs.datanode.data.dir", {"datanode"}),
        ("dfs.namenode.handler.count", {"namenode"}),
        ("dfs.namenode.rpc-address", HDFS),
        ("dfs.heartbeat.interval", HDFS),
        ("yarn.nodemanager.local-dirs", {"nodemanager"}),
        ("yarn.scheduler.maximum-allocation-mb", {"resourcemanager"}),
        ("yarn.resourcemanager.resource-tracker.address", YARN),
        ("mapreduce.jobhistory.done-dir", {"historyserver"}),
        ("mapreduce.shuffle.port", {"nodemanager"}),
        ("io.file.buffer.size", ALL),
        ("net.topology.script.file.name", ALL),
    ],
)
def test_readers(name: str, roles: set[str]) -> None:
    assert readers(name) == roles


def test_what_differs_is_found_in_both_directions() -> None:
    names = changed({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})
    assert names == ["b", "c", "d"]


def test_roles_of_several_properties_add_up() -> None:
    names = ["dfs.datanode.data.dir", "yarn.nodemanager.local-dirs", "dfs.replication"]
    assert roles_to_restart(names) == {"datanode", "nodemanager"}
