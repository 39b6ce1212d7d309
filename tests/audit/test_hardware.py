"""The hardware of a described cluster, with which settings are compared."""

from __future__ import annotations

from tests.support.models import known
from windtunnel.audit.hardware import of_cluster
from windtunnel.cluster import Cluster


def test_the_hosts_that_run_tasks_count_if_single_hosts_have_the_role() -> None:
    given = known().model_dump(mode="json")
    small = {
        "count": 2,
        "roles": ["client"],
        "extra_roles": {"0": ["nodemanager"]},
        "cpu": {"sockets": 1, "cores_per_socket": 2, "threads_per_core": 1},
    }
    given["hosts"]["small"] = small
    found = of_cluster(Cluster.model_validate(given))
    assert (found.workers, found.threads, found.mixed) == (5, 2, True)
