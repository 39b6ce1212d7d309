"""The tree of queues in the answer of a ResourceManager about its scheduler.

Source: ResourceManager REST API's (Apache Hadoop documentation). The CapacityScheduler has
``queues``, the FairScheduler ``rootQueue`` and ``childQueues``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ROOT = "root."


def child_queues(queue: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The queues directly in a queue, or in a scheduler (its ``schedulerInfo``)."""
    inside = queue.get("queues") or queue.get("childQueues") or queue.get("rootQueue")
    if isinstance(inside, dict) and "queue" in inside:  # Hadoop 2 has the list itself
        inside = inside["queue"]
    many = inside if isinstance(inside, list) else [inside]
    return [one for one in many if isinstance(one, dict) and one]


def leaf_queues(queue: Mapping[str, Any]) -> list[str]:
    """The names and the paths of the queues to which applications can be submitted."""
    below = child_queues(queue)
    if not below:
        return [str(queue[key]) for key in ("queueName", "queuePath") if key in queue]
    return [name for one in below for name in leaf_queues(one)]


def without_root(name: str) -> str:
    """The name of a queue without the root queue: ``root.a`` and ``a`` are the same queue."""
    return name.removeprefix(_ROOT)
