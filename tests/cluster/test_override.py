"""Overrides by path: what they reach, what they refuse, and that nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.cluster import apply_overrides, get_path, load_cluster, parse_assignment
from windtunnel.errors import DescriptionError

LOCAL = load_cluster("local-3")
VMWARE = load_cluster("vmware-2011")


@pytest.mark.parametrize(
    ("cluster", "path", "value"),
    [
        (LOCAL, "hosts.worker.count", 5),
        (LOCAL, "hosts.worker.power.idle", "240 W"),
        (LOCAL, "settings.mapreduce.task.io.sort.mb", 512),
        (LOCAL, "settings.mapreduce.map.speculative", False),
        (LOCAL, "software.engines.ceph", "16.2"),
        (LOCAL, "network.latency", "5 ms"),
        (VMWARE, "hosts.worker.disks.0.count", 4),
        (VMWARE, "hosts.worker.nics.0.rate", "1 Gb/s"),
        (VMWARE, "hosts.worker.cpu.threads_per_core", 1),
        (VMWARE, "hosts.worker.extra_roles.0", ["namenode", "resourcemanager"]),
        (VMWARE, "storage.replication", None),
    ],
)
def test_a_value_that_is_set_is_found_again_and_the_original_stays(cluster, path, value):
    before = cluster.plain()
    assert get_path(apply_overrides(cluster, {path: value}), path) == value
    assert cluster.plain() == before


def test_a_part_of_an_override_changes_only_the_cluster_that_it_is_for():
    cpu = {"model": "E5", "sockets": 2, "cores_per_socket": 10, "threads_per_core": 2}
    part = {"hosts.worker.cpu.threads_per_core": 1}
    off = apply_overrides(VMWARE, {"hosts.worker.cpu": cpu, **part})
    assert get_path(off, "hosts.worker.cpu.threads_per_core") == 1
    assert cpu["threads_per_core"] == 2


@pytest.mark.parametrize(
    ("path", "message", "remedy"),
    [
        (
            "hosts.worker.cuont",
            "'cuont' is not a known key of 'hosts.worker'",
            "'hosts.worker.count'",
        ),
        ("hosts.wroker.count", "'wroker' is not a known key of 'hosts'", "'hosts.worker'"),
        ("host.worker.count", "'host' is not a known key", "'hosts'"),
        (
            "hosts.worker.count.x",
            "'hosts.worker.count' is a number and has no keys",
            "hosts.worker.count=VALUE",
        ),
        ("hosts.worker.memory.x", "'hosts.worker.memory' is a value", "without '.x'"),
        ("hosts.worker.disks.0.count", "'0' is not a known key", "set all of it"),
        ("settings.", "does not end with a name", ""),
        ("", "'' is not a known key", "hosts"),
        ("...", "'' is not a known key", "hosts"),
    ],
)
def test_an_unknown_path_is_answered_with_the_nearest_known(path, message, remedy):
    with pytest.raises(DescriptionError) as caught:
        apply_overrides(LOCAL, {path: 5})
    assert caught.value.key == path
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"hosts.worker.count": 0}, "hosts.worker.count", "at least 1, not 0"),
        ({"hosts.worker.count": "many"}, "hosts.worker.count", "whole number"),
        ({"hosts.worker.count": 2}, "storage.replication", "(after hosts.worker.count=2)"),
        ({"storage.replication": 4}, "storage.replication", "there are 3"),
        ({"settings.dfs.replication": 2}, "settings.dfs.replication", "storage.replication"),
        ({"hosts.worker.memory": "64 G"}, "hosts.worker.memory", "'64 GiB'"),
        ({"settings": 5}, "settings", "a mapping"),
        ({"software.hadoop": 3.5}, "software.hadoop", "quotes"),
        ({"hosts": {}}, "hosts", "at least 1"),
        ({"name": None}, "name", "missing"),
    ],
)
def test_the_result_is_checked_as_a_whole(changes, key, message):
    copied = apply_overrides(LOCAL, {"storage.replication": 3})
    with pytest.raises(DescriptionError) as caught:
        apply_overrides(copied, changes)
    assert caught.value.key == key
    assert message in caught.value.message


_NAME = st.from_regex(r"[a-z]{1,8}(\.[a-z0-9-]{1,8}){0,4}", fullmatch=True)
_VALUE = st.one_of(st.integers(), st.booleans(), st.text(max_size=20))


@given(_NAME, _VALUE)
def test_any_setting_can_be_set_and_nothing_else_changes(name, value):
    changed = apply_overrides(LOCAL, {f"settings.x.{name}": value})
    assert changed.settings == {f"x.{name}": value}
    assert changed.model_copy(update={"settings": {}}) == LOCAL


@given(st.integers(3, 5000), st.integers(1, 3))
def test_overrides_commute_and_are_idempotent(count, replication):
    changes = {"hosts.worker.count": count, "storage.replication": replication}
    once = apply_overrides(LOCAL, changes)
    assert once == apply_overrides(LOCAL, dict(reversed(changes.items())))
    assert once == apply_overrides(once, changes)


@given(st.text(max_size=30), _VALUE)
def test_any_path_is_a_cluster_or_a_description_error(path, value):
    try:
        apply_overrides(LOCAL, {path: value})
    except DescriptionError as error:
        assert error.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hosts.worker.count=5", ("hosts.worker.count", 5)),
        ("hosts.worker.memory=8 GiB", ("hosts.worker.memory", "8 GiB")),
        ("settings.mapreduce.map.speculative=false", ("settings.mapreduce.map.speculative", False)),
        ("software.hadoop=3.10", ("software.hadoop", "3.10")),
        ("storage.replication=", ("storage.replication", None)),
        ("settings.a=b=c", ("settings.a", "b=c")),
        ("hosts.worker.roles=[datanode]", ("hosts.worker.roles", ["datanode"])),
        ("workloads.terasort.size=1 GB", ("workloads.terasort.size", "1 GB")),
    ],
)
def test_an_assignment_is_a_path_and_a_yaml_value(text, expected):
    assert parse_assignment(text) == expected


@pytest.mark.parametrize("text", ["hosts.worker.count", "=5", "", "a=[1", "a=b: c", "a='x"])
def test_what_is_no_assignment_is_refused(text):
    with pytest.raises(DescriptionError) as caught:
        parse_assignment(text)
    assert caught.value.remedy
