"""The type of the table of roles: the facts about a role, and the orders and groups of roles.

The table itself is in ``roles.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# First words of Hadoop's own properties, as in catalogue/hadoop_properties.
HADOOPS_WORDS = frozenset(
    [
        "adl",
        "datanode",
        "dfs",
        "file",
        "fs",
        "ftp",
        "ha",
        "hadoop",
        "httpfs",
        "io",
        "ipc",
        "map",
        "mapred",
        "mapreduce",
        "net",
        "nfs",
        "rpc",
        "security",
        "seq",
        "ssl",
        "tfile",
        "yarn",
    ]
)

Family = Literal["hdfs", "yarn", "mapreduce"]
Return = Literal["restart", "restart in its phase"]
"""How a killed daemon is restarted. ``restart``: it is started again at the end of the fault.
``restart in its phase``: the same, but it runs only for one phase, with which the fault ends."""


@dataclass(frozen=True, slots=True)
class RoleEntry:
    """All facts about one role.

    Attributes
    ----------
    name:
        Name in descriptions, faults and processes (``ROLE@HOST``).
    engine:
        The engine to which the daemon belongs; None: none. Set by :meth:`Roles.add`.
    main:
        The main class of the JVM, or the first argument of the program. None: no engine starts
        the role, so it can only be described.
    step:
        Order of start within its engine: roles of the same step start together. They stop in
        reverse order.
    worker:
        It runs on many hosts, and the other roles serve or direct it.
    needs:
        Roles that a description with this role must also have.
    storage:
        Kinds of storage that require it.
    holds:
        Its hosts hold the data of these kinds of storage.
    ``beside``:
        If a description gives the role to no host, it runs on each host with this other role;
        None: on the first host.
    shaped:
        A scale model must know the disks, NICs and memory of hosts with it.
    family:
        The part of Hadoop to which it belongs.
    settings:
        Prefixes of the properties that only this role reads.
    returns:
        How it is restarted after it was killed; None: it cannot be killed.
    loss:
        The effect of its failure, for the user guide.
    aliases:
        Other accepted names, such as an older one.
    mounts:
        It mounts files for the processes of all hosts, so that its host cannot be killed.
    """

    name: str
    engine: str | None = None
    main: str | None = None
    step: int = 1
    worker: bool = False
    needs: tuple[str, ...] = ()
    storage: tuple[str, ...] = ()
    holds: bool = False
    beside: str | None = None
    shaped: bool = False
    family: Family | None = None
    settings: tuple[str, ...] = ()
    returns: Return | None = None
    loss: str = ""
    aliases: tuple[str, ...] = ()
    mounts: bool = False

    @property
    def within_phase(self) -> bool:
        """Whether it runs only for one phase, so that its fault ends with that phase."""
        return self.returns == "restart in its phase"

    @property
    def replicas(self) -> bool:
        """Whether blocks lose replicas, or the daemon that manages them, while it is down."""
        return bool(self.storage) and self.returns is not None

    @property
    def of_storage(self) -> bool:
        """Whether it is a daemon of the storage: of HDFS or of Ceph."""
        return bool(self.storage) or self.family == "hdfs" or self.engine == "ceph"


class Roles:
    """The table of roles. Iteration is by engine, in the order of start."""

    def __init__(self) -> None:
        self._entries: dict[str, RoleEntry] = {}
        self._aliases: dict[str, str] = {}
        self._engines: list[str | None] = []
        self._words: dict[str, str] = {}
        self._in_order: tuple[RoleEntry, ...] = ()
        self._ranks: dict[str, int] = {}  # role -> its position in the order of start
        self._loaders: list[Callable[[], object]] = []

    def complete_with(self, load: Callable[[], object]) -> None:
        """Call ``load`` once, before the first lookup of a role or a setting that is unknown.

        It imports the engines of other packages, which add their roles and settings.
        """
        self._loaders.append(load)

    def complete(self) -> None:
        """Load the engines of other packages, unless they are loaded already."""
        while self._loaders:
            self._loaders.pop()()

    def add(
        self, engine: str | None, entries: Iterable[RoleEntry] = (), settings: Iterable[str] = ()
    ) -> None:
        """Add the roles of an engine; a repeated call changes nothing.

        Parameters
        ----------
        engine:
            Its name in the registry of engines; None: roles that are not daemons.
        settings:
            First words of the properties that it reads: ``hbase`` of ``settings.hbase.*``. An
            engine without daemons may also have settings.

        Raises
        ------
        ValueError
            If a name is malformed or already used, or an entry refers to an unknown role.
        """
        new = {entry.name: replace(entry, engine=engine) for entry in entries}
        known = self._entries.keys() | new.keys()
        for entry in new.values():
            self._check(entry, known)
        words = tuple(settings)
        for word in words:
            if word in HADOOPS_WORDS:
                raise ValueError(f"settings.{word}.* are properties of Hadoop")
            if self._words.get(word, engine) != engine:
                raise ValueError(f"settings.{word}.* belongs to the engine {self._words[word]}")
        if words and engine is None:
            raise ValueError("settings require an engine that reads them")
        self._entries |= new
        self._aliases |= {alias: entry.name for entry in new.values() for alias in entry.aliases}
        self._words |= {word: engine for word in words if engine is not None}
        if engine not in self._engines:
            self._engines.append(engine)
        ordered = sorted(
            self._entries.values(), key=lambda one: (self._engines.index(one.engine), one.step)
        )
        self._in_order = tuple(ordered)
        self._ranks = {entry.name: rank for rank, entry in enumerate(ordered)}

    def _check(self, entry: RoleEntry, known: Iterable[str]) -> None:
        for name in (entry.name, *entry.aliases):
            if not _NAME.fullmatch(name):
                raise ValueError(f"'{name}' is not a valid role: use letters, digits and hyphens")
            if self._has(name) and self[name] != entry:
                raise ValueError(f"the role '{name}' belongs to {self[name].engine or 'no engine'}")
        for other in (*entry.needs, *([entry.beside] if entry.beside else [])):
            if other not in known:
                raise ValueError(f"the role '{entry.name}' refers to an unknown role '{other}'")

    def __iter__(self) -> Iterator[RoleEntry]:
        return iter(self._in_order)

    def __contains__(self, name: object) -> bool:
        if not self._has(name):
            self.complete()
        return self._has(name)

    def _has(self, name: object) -> bool:
        return name in self._entries or name in self._aliases

    def __getitem__(self, name: str) -> RoleEntry:
        if name not in self:
            raise KeyError(name)
        return self._entries[self.canonical(name)]

    def canonical(self, name: str) -> str:
        """The name of a role from its name or an alias; unknown names are returned unchanged."""
        return self._aliases.get(name, name)

    def names(self) -> list[str]:
        """Names of all roles, in the order of their addition."""
        return list(self._entries)

    def killable(self) -> list[str]:
        """Names of the roles whose daemons can be killed."""
        return [entry.name for entry in self if entry.returns is not None]

    def aliases(self) -> dict[str, str]:
        """Alias -> name."""
        return dict(self._aliases)

    def started(self, engine: str) -> tuple[RoleEntry, ...]:
        """The roles that an engine starts, in the order of start."""
        return tuple(entry for entry in self if entry.engine == engine and entry.main is not None)

    def main_classes(self, engine: str) -> dict[str, str]:
        """Role -> ``main`` of its process, for one engine, in the order of start."""
        return {entry.name: entry.main for entry in self.started(engine) if entry.main is not None}

    def workers(self, engine: str) -> tuple[str, ...]:
        """Names of the roles that an engine starts on many hosts, in the order of start."""
        return tuple(entry.name for entry in self.started(engine) if entry.worker)

    def steps(self, engine: str) -> list[tuple[str, ...]]:
        """The roles that an engine starts; roles that start together are in one tuple."""
        found = self.started(engine)
        steps = sorted({entry.step for entry in found})
        return [tuple(entry.name for entry in found if entry.step == step) for step in steps]

    def in_start_order(self, daemons: Iterable[str]) -> list[str]:
        """Daemons (``ROLE@HOST``) in the order of start: masters first, unknown ones last."""

        def rank(name: str) -> int:
            return self._ranks.get(self.canonical(name.partition("@")[0]), len(self._ranks))

        return sorted(daemons, key=rank)

    def in_stop_order(self, daemons: Iterable[str]) -> list[str]:
        """Daemons (``ROLE@HOST``) in the order in which they stop: the masters last."""
        return self.in_start_order(daemons)[::-1]

    def engine_of_setting(self, name: str) -> str | None:
        """The engine that reads a property, by its first word; None: Hadoop itself."""
        word = name.partition(".")[0]
        if word not in self._words and word not in HADOOPS_WORDS:
            self.complete()
        return self._words.get(word)

    def holder(self, storage: str) -> str | None:
        """The role whose hosts hold the data of a kind of storage."""
        return next((e.name for e in self if e.holds and storage in e.storage), None)
