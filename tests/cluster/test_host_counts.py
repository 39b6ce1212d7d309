"""The hosts of each class with a role, in a VM or as an additional role of single hosts."""

from __future__ import annotations

from typing import Any

from tests.support.models import known
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.cluster.host_counts import compute_classes, store_classes, with_role


def changed(**values: Any) -> Cluster:
    given = {f"hosts.worker.{key}": value for key, value in values.items()}
    return apply_overrides(known(), {"storage.replication": 1, **given})


def counts(cluster: Cluster, role: str) -> dict[str, int]:
    return {name: count for name, _, count in with_role(cluster, role)}


def test_additional_roles_count_the_hosts_that_have_them() -> None:
    extra = {0: ["nodemanager"], 2: ["nodemanager"]}
    cluster = changed(roles=["datanode"], extra_roles=extra)
    assert counts(cluster, "datanode") == {"worker": 4}
    assert counts(cluster, "nodemanager") == {"worker": 2}
    assert [count for _, _, count in compute_classes(cluster)] == [2]
    assert [count for _, _, count in store_classes(cluster)] == [4]


def test_roles_of_virtual_machines_replace_those_of_the_host() -> None:
    guests = [
        {"name": "data", "roles": ["datanode"]},
        {"name": "tasks", "count": 2, "roles": ["nodemanager"]},
    ]
    cluster = changed(roles=["client"], vms=guests)
    assert counts(cluster, "nodemanager") == {"worker": 4}
    assert counts(cluster, "datanode") == {"worker": 4}
    assert counts(cluster, "client") == {}
    assert counts(changed(vms=[{"count": 2}]), "nodemanager") == {"worker": 4}


def test_without_hosts_of_its_own_the_data_is_where_the_tasks_run() -> None:
    cluster = apply_overrides(known(), {"storage.kind": "local"})
    assert store_classes(cluster) == compute_classes(cluster)
