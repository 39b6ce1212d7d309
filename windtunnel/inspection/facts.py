"""What was found out about a cluster, each fact with its source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from windtunnel.inspection.site_files import Entry

UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Fact:
    """A value and where it comes from."""

    value: str | int | float
    source: str


@dataclass(frozen=True)
class Volume:
    """A data folder of a DataNode: its storage type, its size and the reserved part of it."""

    path: str
    kind: str
    size_bytes: int
    source: str


@dataclass
class HostFacts:
    """One host. ``facts`` are by name: cores, memory_bytes, rack, java, os, hadoop and so on.

    ``nics_bytes_s`` has the rates of the connected NICs, the fastest first.
    """

    name: str
    roles: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    volumes: list[Volume] = field(default_factory=list)
    labels: tuple[str, ...] = ()
    nics_bytes_s: tuple[float, ...] = ()
    nics_source: str = ""

    def add(self, name: str, value: object, source: str) -> None:
        """Keep a fact unless it is missing or known already."""
        if isinstance(value, (str, int, float)) and value not in ("", 0) and name not in self.facts:
            self.facts[name] = Fact(value, source)

    def value(self, name: str) -> str | int | float | None:
        """The value of a fact; None if it is unknown."""
        fact = self.facts.get(name)
        return None if fact is None else fact.value


@dataclass
class ClusterFacts:
    """All facts. ``read`` lists what was read; ``unread`` what could not be read, and why."""

    hosts: dict[str, HostFacts] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    settings: dict[str, Entry] = field(default_factory=dict)
    queues: list[dict[str, object]] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def host(self, name: str) -> HostFacts:
        """The host of a name; a new one if it is not known."""
        return self.hosts.setdefault(name, HostFacts(name))

    def add(self, name: str, value: object, source: str) -> None:
        """Keep a fact of the cluster unless it is missing or known already."""
        if isinstance(value, (str, int, float)) and value not in ("", 0) and name not in self.facts:
            self.facts[name] = Fact(value, source)

    def with_role(self, role: str) -> Iterator[HostFacts]:
        """The hosts with a role."""
        return (host for host in self.hosts.values() if role in host.roles)
