"""Whether the data of a workload fits on the described disks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.cluster import ROLES, Cluster
from windtunnel.cluster.host_counts import with_role
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import job

TERABYTE = 1e12
# Kinds of phases whose output a workload stores at the same time. Counted words are few.
_STORED: Mapping[str, tuple[str, ...]] = {
    "terasort": ("generate", "sort"),
    "teragen": ("generate",),
    "wordcount": ("count",),
    "dfsio": ("write",),
    "transfer": ("put",),
}


def disk_bytes(cluster: Cluster) -> float | None:
    """Bytes of all data disks of the hosts that hold data; None if a size is unknown."""
    holder = ROLES.holder(cluster.storage.kind)
    total = 0.0
    for _, one, count in with_role(cluster, holder) if holder else ():
        disks = [disk for disk in one.disks or () if disk.use == "data"]
        if not disks or any(disk.size is None for disk in disks):
            return None
        total += count * sum(float(disk.size or 0) * disk.count for disk in disks)
    return total or None


def stored_bytes(
    workload: str, parameters: Mapping[str, Any], cluster: Cluster, capacity: Hardware
) -> float:
    """The most bytes that a workload stores at a time, with all replicas.

    The map output of a sort is on the same disks, once, unless the data is on other hosts.
    """
    total = 0.0
    for kind in _STORED.get(workload, ()):
        one = job(kind, parameters, cluster, capacity)
        total += one.data_bytes * one.replicas
        if kind == "sort" and not capacity.external:
            total += one.data_bytes * one.spilled
    return total


def room_of(
    workloads: Mapping[str, Mapping[str, Any]], cluster: Cluster, capacity: Hardware
) -> dict[str, Any]:
    """``needs_bytes`` of the largest workload, ``has_bytes`` of the disks, and ``fits``.

    Workloads run one after the other, and each removes its data. The size of the disks and
    ``fits`` are None if a size is unknown.
    """
    needs = max(
        (stored_bytes(name, given, cluster, capacity) for name, given in workloads.items()),
        default=0.0,
    )
    has = disk_bytes(cluster)
    return {
        "needs_bytes": needs,
        "has_bytes": has,
        "fits": None if has is None else needs <= has,
    }


def capacity_text(found: Mapping[str, Any]) -> str:
    """The sentence for data that does not fit; empty if it fits or if this is unknown."""
    if found.get("fits") is not False:
        return ""
    needs, has = (found[key] / TERABYTE for key in ("needs_bytes", "has_bytes"))
    return f"capacity: needs {_terabytes(needs)} TB, has {_terabytes(has)} TB"


def _terabytes(value: float) -> str:
    return f"{value:,.1f}" if value >= 1.0 else f"{value:.3g}"
