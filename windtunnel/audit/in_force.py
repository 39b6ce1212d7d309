"""What the daemons of a running cluster have in force, against what its files set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from windtunnel.audit.configuration import Configuration, Property, is_secret, number_of, old_names
from windtunnel.cluster.settings import deprecated
from windtunnel.hosts.daemon import Daemon

MASTERS = ("namenode", "resourcemanager", "historyserver")
WORKERS = ("datanode", "nodemanager")
# The daemons that read a property at their start; the first match applies. Properties of clients
# and jobs, queues (yarn.scheduler.capacity) and ACLs (security.*) are in no /conf of a daemon.
_READERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"yarn\.scheduler\.(capacity|fair)\..*|security\..*|ssl\..*", ()),
    (r"dfs\.client\..*|dfs\.(replication|blocksize|stream-buffer-size|bytes-per-checksum)", ()),
    (r"dfs\.(checksum\.type|client-write-packet-size|journalnode\..*)", ()),
    (r"dfs\.datanode\..*", ("datanode",)),
    (r"dfs\.(namenode\..*|permissions\..*|hosts(\..*)?)|fs\.trash\..*", ("namenode",)),
    (r"dfs\..*", ("namenode", "datanode")),
    (r"net\.topology\..*", ("namenode", "resourcemanager")),
    (r"yarn\.(client|app)\..*", ()),
    (r"yarn\.(resourcemanager|scheduler)\..*", ("resourcemanager",)),
    (r"yarn\.nodemanager\..*", ("nodemanager",)),
    (r"yarn\..*", ("resourcemanager", "nodemanager")),
    (r"mapreduce\.jobhistory\..*", ("historyserver",)),
    (r"mapreduce\.shuffle\..*", ("nodemanager",)),
    (r"hadoop\.(security|http|rpc|proxyuser)\..*|ipc\.(server|\d+)\..*", (*MASTERS, *WORKERS)),
)
# Without these prefixes a daemon may not have the property; with them its absence is a difference.
_OWN = {
    "namenode": "dfs.namenode.",
    "datanode": "dfs.datanode.",
    "resourcemanager": "yarn.resourcemanager.",
    "nodemanager": "yarn.nodemanager.",
    "historyserver": "mapreduce.jobhistory.",
}
_DERIVED = "programmatically"  # the daemon set it itself, such as its own address


@dataclass(frozen=True)
class LiveCluster:
    """A running cluster: its files as they are, its daemons, and what could not be read."""

    files: Configuration
    daemons: Sequence[Daemon] = ()
    unread: Sequence[str] = ()


@dataclass(frozen=True)
class Difference:
    """A property whose value in the files is not in force.

    ``found`` is value -> daemons that have it; None is a daemon without the property.
    """

    entry: Property
    name: str
    value: str
    found: Mapping[str | None, tuple[Daemon, ...]]


def readers_of(name: str) -> tuple[str, ...]:
    """The roles whose daemons read a property; none for properties of clients and jobs."""
    return next((roles for pattern, roles in _READERS if re.fullmatch(pattern, name)), ())


def differences(one: LiveCluster) -> Iterator[Difference]:
    """The properties of the files that are not in force, in the order of the files.

    Secrets, values with variables of the environment and values that a daemon derives itself are
    not compared.
    """
    seen = set()
    for written in one.files.entries:
        for name in deprecated().get(written.name, [written.name]):
            entry = one.files.entry(name)
            if name in seen or entry is None or is_secret(name):
                continue
            seen.add(name)
            value = one.files.value(name)
            if "${" in value:
                continue
            found = _others(name, value, one.daemons)
            if found:
                yield Difference(entry, name, value, found)


def _others(
    name: str, value: str, daemons: Sequence[Daemon]
) -> dict[str | None, tuple[Daemon, ...]]:
    """Value in force -> daemons, where it is not the value of the files."""
    found: dict[str | None, tuple[Daemon, ...]] = {}
    for daemon in daemons:
        if daemon.unread or daemon.role not in readers_of(name):
            continue
        now, resource = daemon.values.get(name, (None, ""))
        if resource == _DERIVED or (now is None and not name.startswith(_OWN[daemon.role])):
            continue
        if now is None or not equal(value, now):
            found[now] = (*found.get(now, ()), daemon)
    return found


def equal(one: str, other: str) -> bool:
    """Whether two texts are the same value: spaces, case of switches, units of sizes."""
    if _plain(one) == _plain(other):
        return True
    number = number_of(one)
    return number is not None and number == number_of(other)


def _plain(text: str) -> str:
    words = ",".join(part.strip() for part in text.split(",")).strip()
    return words.lower() if words.lower() in ("true", "false") else words


def merged(one: LiveCluster) -> Configuration:
    """The files with the values in force: what the daemons have is what is audited.

    Of several values, the one that most daemons have. Properties that only daemons set are added,
    with the page that states them as their place.
    """
    new = {}
    for difference in differences(one):
        value, daemons = max(difference.found.items(), key=lambda item: len(item[1]))
        if value is not None and len(daemons) * 2 > _readers(one, difference.name):
            new[difference.name] = _property(difference.name, value, daemons[0])
    for daemon in one.daemons:
        for name, (value, resource) in daemon.values.items():
            if not resource.endswith("-site.xml"):
                continue
            if daemon.role in readers_of(name) and not one.files.is_set(name):
                new.setdefault(name, _property(name, value, daemon))
    names = set(new).union(*(old_names().get(name, frozenset()) for name in new))
    kept = tuple(entry for entry in one.files.entries if entry.name not in names)
    versions = Counter(daemon.version for daemon in one.daemons if daemon.version)
    version = one.files.version or (versions.most_common(1)[0][0] if versions else "")
    return replace(one.files, entries=(*kept, *new.values()), version=version)


def _readers(one: LiveCluster, name: str) -> int:
    roles = readers_of(name)
    return sum(daemon.role in roles and not daemon.unread for daemon in one.daemons)


def _property(name: str, value: str, daemon: Daemon) -> Property:
    resource = daemon.values[name][1].rpartition("/")[2]
    return Property(name, value, resource, 0, origin=f"{daemon.url}/conf")
