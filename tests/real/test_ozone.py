"""Hadoop on Apache Ozone: a WordCount during which the ozone manager is killed and restarted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import LIGHT_YARN, wait_for
from tests.real.storage_trials import (
    count_of,
    fault_study,
    file_is_read_as_written,
    fully_replicated,
    killed_trial,
    survived,
)
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

CHANGES = {
    "hosts.worker.roles": ["ozone-datanode"],
    "hosts.worker.extra_roles": {0: ["nodemanager"]},
    **LIGHT_YARN,
    # ten threads of the storage container manager look for reports every millisecond
    "settings.ozone.scm.event.ContainerReportOrIncrementalContainerReport.thread.pool.size": "1",
}
STUDY = fault_study(
    "local-3-ozone",
    CHANGES,
    workload=count_of("10 MB", 3),
    fault={"role": "om", "after": "500 ms", "lasts": "3 s"},
)


@pytest.fixture(scope="module")
def store(testbed: LocalTestbed) -> Iterator[LocalDeployment]:
    """Three datanodes, which hold a replica each, and one NodeManager."""
    with testbed.deploy(apply_overrides(load_cluster("local-3-ozone"), CHANGES)) as running:
        yield running


def test_wordcount_is_verified_although_the_ozone_manager_dies(
    store: LocalDeployment, tmp_path: Path
) -> None:
    trial = killed_trial(STUDY, store, tmp_path / "results")
    fault = survived(trial)
    assert fault.target == "the om on master"
    wait_for(lambda: fully_replicated(store, 3), "all replicas", 60)


def test_a_client_reads_what_it_wrote(store: LocalDeployment, tmp_path: Path) -> None:
    file_is_read_as_written(store, tmp_path)
    (status,) = [f for f in store.files.list_files("/tmp") if f.path == "/tmp/file"]
    assert (status.length_bytes, status.replication) == (25_600_000, 3)
