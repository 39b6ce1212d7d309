"""High availability of the NameNode: the active one is killed during WordCount and PUT."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import LIGHT_DAEMONS, by_hand, wait_for
from tests.real.storage_trials import count_of, fault_study, killed_trial, survived
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

CHANGES = {
    "hosts.worker.count": 2,
    "hosts.worker.roles": ["datanode"],
    "hosts.worker.extra_roles": {0: ["nodemanager"]},
    "storage.replication": 2,
    **LIGHT_DAEMONS,
}
STUDY = fault_study(
    "local-3-ha",
    CHANGES,
    workload=count_of("10 MB", 2),
    fault={"role": "namenode", "host": "active"},
)


@pytest.fixture(scope="module")
def available(testbed: LocalTestbed) -> Iterator[LocalDeployment]:
    """Two NameNodes, three JournalNodes and ZooKeeper servers, two DataNodes."""
    cluster = apply_overrides(load_cluster("local-3-ha"), CHANGES)
    with testbed.deploy(cluster) as running:
        yield running


def test_wordcount_is_verified_although_the_active_namenode_dies(
    available: LocalDeployment, tmp_path: Path
) -> None:
    first = wait_for(available.storage.active_host, "an active NameNode", 60)
    (other,) = {"master", "standby"} - {first}
    trial = killed_trial(STUDY, available, tmp_path / "results")
    fault = survived(trial)
    assert fault.target == "the active namenode"
    wait_for(lambda: available.storage.active_host() == other, "the other one to take over", 60)
    assert {"namenode@master", "namenode@standby", "journalnode@witness"} <= set(
        available.processes()
    )
    states = available.daemons.masters.namenode_states
    wait_for(lambda: states() == {first: "standby", other: "active"}, "both NameNodes", 60)


def test_a_put_survives_the_failover(available: LocalDeployment, tmp_path: Path) -> None:
    content = bytes(range(256)) * 40_000
    (tmp_path / "file").write_bytes(content)
    by_hand(available, "hdfs", "dfs", "-put", str(tmp_path / "file"), "/tmp/acknowledged")
    active = wait_for(available.storage.active_host, "an active NameNode", 60)

    undo = available.faulty.kill_daemon("namenode", "active")
    began = time.monotonic()
    by_hand(available, "hdfs", "dfs", "-put", str(tmp_path / "file"), "/tmp/during")
    assert time.monotonic() - began < 90
    wait_for(
        lambda: available.storage.active_host() not in (None, active), "the other NameNode", 60
    )
    undo()
    available.faulty.restore(copies=True)

    for name in ("acknowledged", "during"):
        assert available.files.read(f"/tmp/{name}", 1 << 30) == content
    wait_for(lambda: len(available.daemons.masters.namenode_states()) == 2, "both NameNodes", 60)
