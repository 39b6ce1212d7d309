"""Containers of YARN that never start, because they are larger than what YARN offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from windtunnel.cluster.setting_values import LEAST_MB, whole
from windtunnel.cluster.settings import Value, text_of

NODE_MB: Final = "yarn.nodemanager.resource.memory-mb"
MOST_MB: Final = "yarn.scheduler.maximum-allocation-mb"
MASTER_MB: Final = "yarn.app.mapreduce.am.resource.mb"
CONTAINERS: Final[Mapping[str, str]] = {
    "mapreduce.map.memory.mb": "a map task",
    "mapreduce.reduce.memory.mb": "a reduce task",
    MASTER_MB: "an application master",
}
"""The setting of the memory of each kind of container of MapReduce, in MiB."""


class NeverStarted(NamedTuple):
    """A setting with which containers or NodeManagers do not start: why, and the remedy."""

    setting: str
    message: str
    remedy: str


def never_started(settings: Mapping[str, Value]) -> Iterator[NeverStarted]:
    """The settings with which YARN starts no container of a kind, if the settings state both sizes.

    YARN rounds a request up (:func:`~windtunnel.cluster.setting_values.granted_mib`), but at most
    to the largest container that it offers: only the request itself can be too large
    (RMContainerAllocator, SchedulerUtils and ClusterNodeTracker of Hadoop 3). It shuts a
    NodeManager down that offers less than the least container (ResourceTrackerService).
    """
    node, most, least = (_mib(settings, name) for name in (NODE_MB, MOST_MB, LEAST_MB))
    if node is not None and least is not None and node < least:
        yield NeverStarted(
            NODE_MB,
            f"a NodeManager has {node:,} MB, and {LEAST_MB} is {least:,} MB: YARN shuts it down",
            f"raise it to at least {least}.",
        )
    for name in CONTAINERS:
        wanted = _mib(settings, name)
        if wanted is None:
            continue
        if node is not None and wanted > node:
            yield too_large(name, wanted, node, f"a NodeManager has {node:,} MB", f" ({NODE_MB})")
        elif most is not None and wanted > most:
            yield too_large(name, wanted, most, f"{MOST_MB} is {most:,} MB")


def too_large(name: str, wanted: int, room: int, offer: str, source: str = "") -> NeverStarted:
    """A container of ``wanted`` MiB for which there is never more than ``room`` MiB."""
    return NeverStarted(
        name,
        f"{CONTAINERS[name]} needs {wanted:,} MB, but {offer}{source}: YARN never starts it",
        f"lower it to at most {room}, or raise what YARN offers.",
    )


def _mib(settings: Mapping[str, Value], name: str) -> int | None:
    """A setting that is a positive number; -1 states that YARN derives the memory."""
    found = whole(text_of(settings[name])) if name in settings else None
    return found if found is not None and found > 0 else None
