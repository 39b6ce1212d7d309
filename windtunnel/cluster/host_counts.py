"""The number of hosts of each class that have a role."""

from __future__ import annotations

from windtunnel.cluster.description import Cluster
from windtunnel.cluster.hosts import HostClass
from windtunnel.cluster.roles import ROLES

Classes = list[tuple[str, HostClass, int]]
"""Name and class of hosts, and how many hosts of the class count."""


def with_role(cluster: Cluster, role: str) -> Classes:
    """Host classes with a role, and how many hosts of the class have it, itself or in a VM."""
    found = []
    for name, one in cluster.hosts.items():
        own = role in one.common_roles
        count = one.count if own else sum(role in roles for roles in one.extra_roles.values())
        if count:
            found.append((name, one, count))
    return found


def compute_classes(cluster: Cluster) -> Classes:
    """Host classes that run tasks, and how many hosts of each class do.

    Engines without NodeManagers have their workers in the largest host class.
    """
    found = with_role(cluster, "nodemanager")
    if found:
        return found
    name = max(cluster.hosts, key=lambda one: cluster.hosts[one].count)
    return [(name, cluster.hosts[name], cluster.hosts[name].count)]


def store_classes(cluster: Cluster) -> Classes:
    """Host classes that hold the data, and how many hosts of each class do.

    They are those that run tasks if the storage has no hosts of its own in the description.
    """
    holder = ROLES.holder(cluster.storage.kind)
    return (with_role(cluster, holder) if holder else []) or compute_classes(cluster)
