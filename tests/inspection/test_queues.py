"""The queues of each scheduler, in the forms of several versions of Hadoop."""

from __future__ import annotations

from typing import Any

import pytest

from windtunnel.inspection.queues import LeafQueues, leaf_paths, leaf_queues
from windtunnel.inspection.services import _queues

DEFAULT = {"queueName": "root.default", "schedulingPolicy": "fair", "childQueues": ""}
ANN = {"queueName": "root.users.ann", "schedulingPolicy": "fifo"}


def fair(queues: Any, users: Any) -> dict[str, Any]:
    inner = {"queueName": "root.users", "schedulingPolicy": "fair", "childQueues": users}
    children = queues([DEFAULT, inner])
    root = {"queueName": "root", "schedulingPolicy": "fair", "childQueues": children}
    return {"type": "fairScheduler", "rootQueue": root}


@pytest.mark.parametrize(
    "scheduler",
    [
        fair(lambda many: {"queue": many}, {"queue": [ANN]}),
        fair(lambda many: {"queue": many}, {"queue": ANN}),
        fair(lambda many: many, [ANN]),
        fair(lambda many: many, ANN),
    ],
    ids=["list in a dict", "one in a dict", "list", "one"],
)
def test_a_fair_scheduler(scheduler: dict[str, Any]) -> None:
    assert leaf_queues(scheduler) == ["root.default", "root.users.ann"]
    found = {queue["name"]: queue["schedulingPolicy"] for queue in _queues(scheduler)}
    assert found == {
        "root": "fair",
        "root.default": "fair",
        "root.users": "fair",
        "root.users.ann": "fifo",
    }


def test_a_capacity_scheduler() -> None:
    leaf = {"queueName": "b", "queuePath": "root.a.b", "capacity": 100.0}
    inner = {"queueName": "a", "queuePath": "root.a", "queues": {"queue": [leaf]}}
    scheduler = {"queueName": "root", "capacity": 100.0, "queues": {"queue": [inner]}}
    assert leaf_queues(scheduler) == ["b", "root.a.b"]
    assert [queue["name"] for queue in _queues(scheduler)] == ["root", "root.a.b"]


def test_a_scheduler_without_queues() -> None:
    assert leaf_queues({"type": "fifoScheduler"}) == leaf_paths({"type": "fifoScheduler"}) == []


def test_paths_are_built_where_a_scheduler_reports_only_names() -> None:
    inner = {"queueName": "a", "queues": {"queue": [{"queueName": "b"}]}}
    children = {"queue": [inner, {"queueName": "default"}]}
    for top in ({"queueName": "root"}, {}):
        assert leaf_paths({**top, "queues": children}) == ["root.a.b", "root.default"]
    scheduler = fair(lambda many: {"queue": many}, {"queue": [ANN]})
    assert leaf_paths(scheduler) == ["root.default", "root.users.ann"]


@pytest.mark.parametrize(
    ("used", "permitted", "within"),
    [
        ("default", "root.default", True),
        ("a.b", "root.a.b", True),
        ("b", "root.a.b", True),
        ("default", "root.a.default", False),
        ("root.b", "root.a.b", False),
        ("twice", "root.c.twice", False),
        ("new", "root.new", True),
        ("default", "b", False),
        ("root.default.ann", "default", True),
        ("root.default", "root.default.ann", False),
        ("root.default2", "default", False),
        ("root.a.b", "b", True),
    ],
)
def test_a_queue_is_the_permitted_one_or_below_it(used: str, permitted: str, within: bool) -> None:
    paths = ["root.default", "root.a.default", "root.a.b", "root.c.twice", "root.d.twice"]
    queues = LeafQueues(paths=paths)
    assert queues.within(used, permitted) is within
