"""Which hosts a study can take out of service, and what it is refused for."""

from __future__ import annotations

import pytest

from tests.support.breaking import BreakingTestbed
from tests.support.mock import plan_from
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.errors import NotRealisableError
from windtunnel.study.check import check_plan
from windtunnel.study.faults.decommission import Decommission


def problems(cluster: str, host: str | None = None, *, replication: int) -> list[str]:
    fault = Decommission(kind="decommission", host=host)
    changes = {"storage.replication": replication}
    described = apply_overrides(load_cluster(cluster), changes)
    return list(fault.problems(described))


def test_the_last_host_with_storage_is_the_default() -> None:
    fault = Decommission(kind="decommission")
    for name in ("local-3", "local-3-cephfs"):
        cluster = load_cluster(name)
        assert fault.target(cluster) == "the storage on worker-3"
    assert problems("local-3", replication=2) == []
    assert problems("local-3-cephfs", replication=2) == []


@pytest.mark.parametrize(
    ("cluster", "host", "replication", "reason"),
    [
        ("local-3", "worker-9", 2, "there is no host 'worker-9'"),
        ("local-3", "master", 2, "no datanode runs on master; it runs on worker-1"),
        ("local-3", None, 3, "3 hosts must store each block, and only 2 remain in service"),
        ("local-3-cephfs", None, 3, "3 hosts must store each block, and only 2 remain in service"),
        ("local-3-ozone", None, 3, "storage of kind ozone cannot be decommissioned"),
    ],
)
def test_what_cannot_be_taken_out_of_service(
    cluster: str, host: str | None, replication: int, reason: str
) -> None:
    (found,) = problems(cluster, host, replication=replication)
    assert reason in found


def test_a_trial_has_one_host_out_of_service() -> None:
    plan = plan_from(
        "study: toy\ncluster: local-3\nset: {storage.replication: 1}\n"
        "workloads: {terasort: {rows: 1000, input_replication: 1, output_replication: 1}}\n"
        "fault:\n"
        "  - {kind: decommission, host: worker-1}\n"
        "  - {kind: decommission, host: worker-2}\n"
    )
    with pytest.raises(NotRealisableError, match="only one is possible in a trial, not 2"):
        check_plan(plan, BreakingTestbed())  # type: ignore[arg-type]
