"""The bytes of the busiest hosts: what tasks and clients read, write and send.

A job uses the disks and NICs of all hosts only if it has at least as many tasks as there are hosts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.model.columns import Columns
from windtunnel.model.constants import Vector


def working(c: Columns, tasks: Vector) -> Vector:
    """Compute hosts that run one of the tasks; processes of one machine have its disks together."""
    found: Vector = np.where(c.pooled > 0, c.hosts, np.minimum(c.hosts, np.maximum(tasks, 1.0)))
    return found


def beside_data(c: Columns) -> NDArray[np.bool_]:
    """Whether a task and its data can be on the same host; the cells of a code are on many."""
    found: NDArray[np.bool_] = (c.external <= 0) & (c.coded <= 0)
    return found


def elsewhere(c: Columns) -> Vector:
    """The part of its data that a task reads from other hosts."""
    cells = np.maximum(c.stores - 1.0, 0.0) / c.stores
    found: Vector = np.where(c.external > 0, 1.0, np.where(c.coded > 0, cells, 0.0))
    return found


def busiest(c: Columns, bytes_: Vector, holders: Vector, hosts: Vector) -> Vector:
    """Bytes (or streams) of the busiest of the ``holders``, if only ``hosts`` run tasks.

    Many tasks use all holders equally. The data of few tasks is on their own hosts.
    """
    few = (hosts < c.hosts) & beside_data(c)
    found: Vector = np.where(few, bytes_ / hosts, bytes_ / holders)
    return found


def written(c: Columns, output: Vector, holders: Vector, hosts: Vector) -> Vector:
    """All replicas of output (or of its streams) on the busiest of the ``holders``.

    The first replica is local, so that those of few tasks are on their own ``hosts``.
    """
    few = (hosts < c.hosts) & beside_data(c)
    own = output / hosts + output * np.maximum(c.replicas - 1.0, 0.0) / c.stores
    found: Vector = np.where(few, own, output * c.replicas / holders)
    return found


def keepers(c: Columns, hosts: Vector) -> Vector:
    """Hosts that hold the output of ``hosts``: a single replica stays on the host of its task."""
    single = (c.replicas <= 1.0) & beside_data(c)
    found: Vector = np.where(single, np.minimum(hosts, c.stores), c.stores)
    return found


def pipeline(
    c: Columns,
    data: Vector,
    replicas: Vector,
    hosts: Vector | None = None,
    outside: Vector | None = None,
) -> tuple[Vector, Vector, Vector]:
    """Bytes that a compute host sends, that a storage host moves, and that cross the switch.

    The first replica of a write stays on the host of the task, unless the writer is ``outside``
    (default: if the storage is elsewhere). The busiest direction of a storage host is what it
    receives; it forwards one replica less. The writer sends all cells of an erasure code itself,
    and one in ``stores`` of them stays. ``hosts`` write (default: all).
    """
    hosts = c.hosts if hosts is None else hosts
    first = np.where(c.external > 0, 1.0, 0.0) if outside is None else outside
    remote = data * np.maximum(replicas - 1.0 + first, 0.0)
    cells = data * replicas * np.where(first > 0, 1.0, elsewhere(c))
    remote = np.where(c.coded > 0, cells, remote)
    # With one host there is no other, unless the writer is elsewhere.
    remote = np.where((c.stores <= 1) & (c.external <= 0) & (first <= 0), 0.0, remote)
    sends = np.where(c.external > 0, data, np.minimum(remote, data)) / hosts
    forwards = np.maximum(remote - data, 0.0) / c.stores
    sends = np.where(c.external > 0, sends, sends + forwards)
    sends = np.where(c.coded > 0, remote / hosts, sends)
    forwards = np.where(c.coded > 0, 0.0, forwards)
    return (
        sends,
        np.maximum(remote / c.stores, forwards),
        _between(c, data, replicas, first, remote),
    )


def _between(c: Columns, data: Vector, replicas: Vector, first: Vector, remote: Vector) -> Vector:
    """Bytes that cross the switch, as if the hosts were chosen at random.

    The capacity between racks counts the part 1 - 1/racks of these bytes. A rack-aware placement
    (BlockPlacementPolicyDefault) sends exactly one replica to another rack, where the third one
    is too. Further replicas are at random.
    """
    racks = np.maximum(c.racks, 2.0)
    further = np.minimum(np.maximum(replicas - 1.0, 0.0), 1.0) * racks / (racks - 1.0)
    placed = data * (first + further + np.maximum(replicas - 3.0, 0.0))
    aware = (c.racks > 1) & (c.coded <= 0) & (remote > 0)
    found: Vector = np.where(aware, placed, remote)
    return found
