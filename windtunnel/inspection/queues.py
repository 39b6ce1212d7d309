"""The tree of queues in the answer of a ResourceManager about its scheduler.

Source: ResourceManager REST API's (Apache Hadoop documentation). The CapacityScheduler has
``queues``, the FairScheduler ``rootQueue`` and ``childQueues``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def leaf_paths(queue: Mapping[str, Any], above: str = "root") -> list[str]:
    """The full paths of the queues of :func:`leaf_queues`, such as ``root.a.b``.

    Not every version of the CapacityScheduler reports them, so they are built from the names.
    """
    name = str(queue.get("queueName", "root"))
    path = f"{above}.{name}"
    if name == "root" or name.startswith(_ROOT):  # the FairScheduler has paths as names
        path = name
    below = child_queues(queue)
    if not below:
        return [path] if path != "root" else []
    return [leaf for one in below for leaf in leaf_paths(one, path)]


@dataclass(frozen=True)
class LeafQueues:
    """The queues to which applications can be submitted: names for users, and full paths."""

    names: Sequence[str] = ()
    paths: Sequence[str] = ()

    @classmethod
    def of(cls, scheduler: Mapping[str, Any]) -> LeafQueues:
        """The queues of a scheduler (its ``schedulerInfo``)."""
        return cls(sorted(leaf_queues(scheduler)), leaf_paths(scheduler))

    def within(self, used: str, permitted: str) -> bool:
        """Whether a queue is the permitted one, or below it.

        Schedulers can create queues of users below a queue. A name can be a path with or without
        ``root``, or the last part of a path if no other queue has this last part.
        """
        path = self._path(permitted)
        return f"{self._path(used)}.".startswith(f"{path}.")

    def _path(self, name: str) -> str:
        path = _ROOT + without_root(name)
        if path in self.paths:
            return path
        short = [one for one in self.paths if one.rpartition(".")[2] == name]
        return short[0] if len(short) == 1 else path


def without_root(name: str) -> str:
    """The name of a queue without the root queue: ``root.a`` and ``a`` are the same queue."""
    return name.removeprefix(_ROOT)
