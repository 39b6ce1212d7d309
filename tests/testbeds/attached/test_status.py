"""What other tenants have, from the metrics of the cluster and the list of applications."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster_web import ClusterWeb, application
from windtunnel.testbeds.attached.access import open_access
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.status import Hidden, Status

OWN = "windtunnel,wt-1,toy"


@pytest.fixture
def status(conf: Path) -> Iterator[Status]:
    access = open_access(AttachedOptions(conf=str(conf)), conf, None)
    yield access.status
    access.close()


def allocated(web: ClusterWeb, containers: int, running: int, **more: Any) -> None:
    web.metrics |= {"containersAllocated": containers, "appsRunning": running, **more}


@pytest.mark.parametrize("reported", [0, -1])
def test_containers_that_the_user_may_not_view_are_those_of_the_cluster_without_the_own_ones(
    status: Status, web: ClusterWeb, reported: int
) -> None:
    web.applications = [
        application("1", OWN, runningContainers=4),
        application("2", runningContainers=reported),
        application("3", runningContainers=3),
    ]
    allocated(web, 30, 3)
    web.requests.clear()
    found = status.read("wt-1", 1.0)

    assert (found.own_containers, found.other_containers) == (4, 26)
    assert [app.containers for app in found.others] == [None, 3]
    assert found.hidden == Hidden(containers=23, applications=0)
    assert len(web.requests) == 5, "the footprint states this number"


def test_applications_that_are_not_in_the_list_count(status: Status, web: ClusterWeb) -> None:
    wanted = [{"resourceName": "*", "numContainers": 4}]
    web.applications = [application("1", OWN, resourceRequests=wanted)]
    allocated(web, 30, 2, appsPending=1, containersPending=10)
    found = status.read("wt-1", 1.0)

    assert found.others == []
    assert (found.other_containers, found.pending) == (28, 6)
    assert found.hidden.applications == 2


def test_a_complete_list_is_preferred_to_metrics_of_another_moment(
    status: Status, web: ClusterWeb
) -> None:
    web.applications = [application("1", OWN), application("2", runningContainers=5)]
    allocated(web, 20, 2)  # containers of the study that have ended meanwhile
    assert status.read("wt-1", 1.0).other_containers == 5
    web.applications.pop()
    allocated(web, 20, 1, containersPending=3)
    calm = status.read("wt-1", 2.0)
    assert (calm.other_containers, calm.pending) == (0, 0)


@pytest.mark.parametrize("running", [1, 5])
def test_containers_of_others_are_never_negative(
    status: Status, web: ClusterWeb, running: int
) -> None:
    web.applications = [
        application("1", OWN, runningContainers=9),
        application("2", runningContainers=0),
    ]
    allocated(web, 3, running, containersPending=-1)
    found = status.read("wt-1", 1.0)
    assert (found.other_containers, found.pending) == (0, 0)


def test_the_master_of_an_own_application_that_has_just_ended_is_not_one_of_others(
    status: Status, web: ClusterWeb
) -> None:
    web.applications = [application("1", OWN)]
    allocated(web, 2, 1)
    status.read("wt-1", 100.0)
    web.applications = []
    allocated(web, 1, 1)
    assert status.read("wt-1", 160.0).hidden == Hidden()
    assert status.read("wt-1", 165.0).hidden == Hidden()
    assert status.read("wt-1", 176.0).hidden == Hidden(containers=1, applications=1)


def test_containers_on_nodes_with_labels_count(status: Status, web: ClusterWeb) -> None:
    web.applications = [application("1", OWN, runningContainers=4)]
    across = {
        "crossPartitionMetricsAvailable": True,
        "totalAllocatedContainersAcrossPartition": 14,
        "containersReserved": 1,
    }
    allocated(web, 6, 2, **across)
    assert status.read("wt-1", 1.0).other_containers == 9


def test_an_own_application_that_ends_between_both_requests_is_none_of_others(
    status: Status, web: ClusterWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first metrics have it, the list and the later metrics do not."""
    answer = web.answer

    def answer_and_end(target: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = json.loads(json.dumps(answer(target)))
        if target.startswith("/ws/v1/cluster/metrics"):
            allocated(web, 0, 0)
        return found

    monkeypatch.setattr(web, "answer", answer_and_end)
    allocated(web, 5, 1, containersPending=3)
    found = status.read("wt-1", 1.0)
    assert (found.hidden, found.pending) == (Hidden(), 0)


def test_after_an_own_application_hidden_ones_still_wait(status: Status, web: ClusterWeb) -> None:
    """The own one has left the list and the metrics; a hidden one waits for containers."""
    web.applications = [application("1", OWN, runningContainers=1)]
    allocated(web, 1, 1)
    status.read("wt-1", 100.0)
    web.applications = []
    allocated(web, 0, 0, appsPending=1, containersPending=50)
    assert status.read("wt-1", 110.0).pending == 50
