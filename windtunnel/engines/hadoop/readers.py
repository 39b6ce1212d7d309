"""Which daemons read a property, and so must be restarted when it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windtunnel.cluster.roles import HADOOP, ROLES
from windtunnel.cluster.settings import affects

_DAEMONS = ROLES.started(HADOOP)
HDFS = frozenset(role.name for role in _DAEMONS if role.family == "hdfs")
YARN = frozenset(role.name for role in _DAEMONS if role.family == "yarn")
ALL = frozenset(role.name for role in _DAEMONS)


def readers(name: str) -> frozenset[str]:
    """Roles of the daemons that read a property when they start; none if only clients read it."""
    who = affects(name)
    if who == "client":
        return frozenset()
    if "address" in name:  # other daemons must know it, too
        return {"hdfs": HDFS, "yarn": YARN}.get(who, ALL)
    for role in _DAEMONS:  # without a role's prefix, all daemons of that part of Hadoop read it
        if name.startswith(role.settings):
            return frozenset({role.name})
    return {"hdfs": HDFS, "yarn": YARN}.get(who, ALL)


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Names of the properties that differ, sorted."""
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def roles_to_restart(names: Iterable[str]) -> frozenset[str]:
    """Roles that read any of the properties."""
    return frozenset(role for name in names for role in readers(name))
