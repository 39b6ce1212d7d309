"""Combine slots, disks and waves of a description into fewer, so that a model has fewer JVMs.

A model keeps the totals of a host (memory of containers, rates of disks, data of the slots) and
has fewer, larger parts. Start-up of a JVM does not shrink with the data: a model with all slots and
waves of the full size would mostly start JVMs. The similarity report compares the model with the
description before this change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from windtunnel.cluster import Cluster, Disk, Guest, HostClass
from windtunnel.cluster.description import Setting
from windtunnel.errors import NotRealisableError
from windtunnel.testbeds.scaled.scale import Combine
from windtunnel.testbeds.scaled.tasks import MIB, Tasks, number, reduce_heap_bytes, tasks_of

# Numbers of tasks, which become fewer with the slots.
_COUNTS = ("mapreduce.job.maps", "mapreduce.job.reduces")


def combined(cluster: Cluster, combine: Combine) -> Cluster:
    """The description with fewer, larger parts; the same description if nothing is combined.

    Blocks and sort buffers are larger by the factor of slots and waves. Therefore a map task spills
    as often as before, and the number of waves is divided only by the factor of waves. The number
    of reduce tasks is divided by the factor of slots, and each has more memory for the shuffle. The
    memory of the omitted containers does not become page cache.

    Raises
    ------
    NotRealisableError
        If one of the disks that would be combined is degraded.
    """
    if combine == Combine():
        return cluster
    _refuse_degraded(cluster, combine)
    tasks = tasks_of(cluster)
    slots = max(1, tasks.slots // combine.slots)
    vcores = tasks.nodemanager_vcores
    kept = replace(
        tasks,
        nodemanager_mib=tasks.nodemanager_mib * slots // tasks.slots,
        nodemanager_vcores=vcores and math.ceil(vcores * slots / tasks.slots),
    )
    block = tasks.block_bytes * combine.slots * combine.waves
    return cluster.model_copy(
        update={
            "hosts": {
                name: _host(cluster, name, combine, (tasks.nodemanager_mib, kept.nodemanager_mib))
                for name in cluster.hosts
            },
            "settings": {
                **{key: v for key, v in cluster.settings.items() if key != "dfs.blocksize"},
                **_settings(cluster, kept, combine),
            },
            "storage": cluster.storage.model_copy(update={"block_size": block}),
        }
    )


def _refuse_degraded(cluster: Cluster, combine: Combine) -> None:
    for name, host in cluster.hosts.items():
        if combine.disks > 1 and any(
            entry.part == "disk" and entry.index is not None for entry in host.degraded
        ):
            raise NotRealisableError(
                f"hosts.{name}.degraded slows down one disk, which 'combine: {combine}' would "
                "combine with others",
                remedy="remove 'disks' from 'combine'.",
            )


def _settings(cluster: Cluster, tasks: Tasks, combine: Combine) -> Mapping[str, Setting]:
    counts = {
        name: max(1, round(number(cluster, name, 1) / combine.slots))
        for name in _COUNTS
        if name in cluster.settings
    }
    if tasks.nodemanager_vcores is not None:
        counts["yarn.nodemanager.resource.cpu-vcores"] = tasks.nodemanager_vcores
    return {
        **counts,
        "yarn.nodemanager.resource.memory-mb": tasks.nodemanager_mib,
        "mapreduce.task.io.sort.mb": tasks.sort_mib * combine.slots * combine.waves,
        "mapreduce.reduce.memory.totalbytes": round(reduce_heap_bytes(cluster) * combine.slots),
    }


def _host(cluster: Cluster, name: str, combine: Combine, containers: tuple[int, int]) -> HostClass:
    host = cluster.hosts[name]
    freed = (containers[0] - containers[1]) * MIB
    running = [n for n in cluster.nodes_with("nodemanager") if n.class_name == name]
    guests = {node.guest.name for node in running if node.guest}
    update: dict[str, Any] = {}
    if host.disks:
        update["disks"] = tuple(_disks(disk, combine.disks) for disk in host.disks)
    if host.vms:
        update["vms"] = tuple(
            _guest(guest, combine, freed if guest.name in guests else 0) for guest in host.vms
        )
    elif running:
        update |= _without(host.memory, freed)
    return host.model_copy(update=update)


def _guest(guest: Guest, combine: Combine, freed: int) -> Guest:
    """Virtual machines with fewer disks; each has the memory without ``freed`` bytes."""
    update: dict[str, Any] = _without(guest.memory, freed)
    if guest.disks:
        update["disks"] = tuple(_disks(disk, combine.disks) for disk in guest.disks)
    return guest.model_copy(update=update)


def _without(memory: int | None, freed: int) -> dict[str, Any]:
    """The changed ``memory`` without ``freed`` bytes; no change if it has no more than them."""
    return {"memory": memory - freed} if memory and memory > freed > 0 else {}


def _disks(disk: Disk, factor: int) -> Disk:
    """Fewer disks with the same total size and rate; an array is one disk already."""
    if disk.use != "data" or disk.layout not in (None, "jbod"):
        return disk
    count = max(1, round(disk.count / factor))
    known = {key: getattr(disk, key) for key in ("read_rate", "write_rate", "iops", "size")}
    larger = {
        key: type(value)(value * disk.count / count)
        for key, value in known.items()
        if value is not None
    }
    return disk.model_copy(update={"count": count, **larger})
