"""Which daemons read a property: who must be restarted when it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windtunnel.cluster.settings import affects

HDFS = frozenset({"namenode", "datanode"})
YARN = frozenset({"resourcemanager", "nodemanager"})
ALL = HDFS | YARN | {"historyserver"}

# the first match decides; what no prefix names goes by the program that it belongs to
_PREFIXES: tuple[tuple[str, frozenset[str]], ...] = (
    ("dfs.datanode.", frozenset({"datanode"})),
    ("dfs.namenode.", frozenset({"namenode"})),
    ("yarn.nodemanager.", frozenset({"nodemanager"})),
    ("yarn.scheduler.", frozenset({"resourcemanager"})),
    ("yarn.resourcemanager.", frozenset({"resourcemanager"})),
    ("mapreduce.jobhistory.", frozenset({"historyserver"})),
    ("mapreduce.shuffle.", frozenset({"nodemanager"})),
)


def readers(name: str) -> frozenset[str]:
    """Roles of the daemons that read a property when they start; none: clients alone."""
    who = affects(name)
    if who == "client":
        return frozenset()
    if "address" in name:  # others must find it, too
        return {"hdfs": HDFS, "yarn": YARN}.get(who, ALL)
    for prefix, roles in _PREFIXES:
        if name.startswith(prefix):
            return roles
    return {"hdfs": HDFS, "yarn": YARN}.get(who, ALL)


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Names of the properties that differ, sorted."""
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def roles_to_restart(names: Iterable[str]) -> frozenset[str]:
    """Roles that read any of the properties."""
    return frozenset(role for name in names for role in readers(name))
