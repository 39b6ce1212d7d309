"""Plug-ins: parts that other packages add to Windtunnel through entry points.

A package names its parts in the groups ``windtunnel.workloads``, ``.engines``, ``.testbeds``,
``.probes``, ``.sections``, ``.checks`` and ``.rules``. Names are read when a registry is first
used; a part is imported when it is first used. ``WINDTUNNEL_PLUGINS=0`` switches all plug-ins
off; a list of distributions separated by commas leaves only those on.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import (
    Callable,
    ItemsView,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
    ValuesView,
)
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Any, TypeVar, overload

from windtunnel.errors import DescriptionError, SetupError, WindtunnelError

SWITCH = "WINDTUNNEL_PLUGINS"
KINDS = ("workloads", "engines", "testbeds", "probes", "sections", "checks", "rules")
_OFF = {"0", "no", "off", "none"}
_ON = {"", "1", "yes", "on", "all"}
_LOG = logging.getLogger("windtunnel.plugins")

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Plugin:
    """An installed distribution that adds parts. ``parts`` are their names by kind."""

    name: str
    version: str
    parts: Mapping[str, tuple[str, ...]]


def installed() -> list[Plugin]:
    """All distributions whose plug-ins are switched on, by name."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for kind in KINDS:
        for entry in entries(kind):
            parts = found.setdefault(_distribution(entry), {})
            parts.setdefault(kind, []).append(entry.name)
    return [
        Plugin(name, version, {kind: tuple(sorted(names)) for kind, names in parts.items()})
        for (name, version), parts in sorted(found.items())
    ]


def versions() -> dict[str, str]:
    """Version of every distribution whose plug-ins are switched on, by its name."""
    return {plugin.name: plugin.version for plugin in installed()}


def entries(kind: str) -> tuple[EntryPoint, ...]:
    """Entry points of a kind that are switched on; nothing is imported."""
    return _entries(kind, os.environ.get(SWITCH, ""), *sys.path)


@cache
def _entries(kind: str, switch: str, *_path: str) -> tuple[EntryPoint, ...]:
    """Entry points of a kind for a value of the switch and of ``sys.path``."""
    chosen = switch.strip().lower()
    if chosen in _OFF:
        return ()
    found = tuple(entry_points(group=f"windtunnel.{kind}"))
    if chosen in _ON:
        return found
    wanted = {_plain(name) for name in chosen.split(",") if name.strip()}
    for name in sorted(wanted):
        if not any(distributions(name=name)):
            warn(f"{SWITCH} names {name}: no such package is installed")
    return tuple(entry for entry in found if _plain(_distribution(entry)[0]) in wanted)


def _plain(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return name.strip().lower().replace("_", "-").replace(".", "-")


def _distribution(entry: EntryPoint) -> tuple[str, str]:
    return (entry.dist.name, entry.dist.version) if entry.dist else ("an unknown package", "")


@cache
def warn(text: str) -> None:
    """Print a line on standard error, once in a process."""
    _LOG.warning("warning: %s", text)


def check_class(name: str, kind: Any, base: type, stated: Sequence[str] = ()) -> None:
    """Raise ValueError unless a part is a subclass that keeps the contract of its kind.

    Parameters
    ----------
    base:
        The abstract class of the kind; all of its abstract methods must be defined.
    stated:
        Attributes that the class must have in addition to ``name``, which must be the name in
        the registry.
    """
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise ValueError(f"it is no subclass of {base.__module__}.{base.__qualname__}")
    lacks = sorted(getattr(kind, "__abstractmethods__", ()))
    lacks += [one for one in ("name", *stated) if getattr(kind, one, None) is None]
    if lacks:
        raise ValueError(f"it lacks {', '.join(lacks)}")
    if getattr(kind, "name", None) != name:
        raise ValueError(f"the class has the name '{getattr(kind, 'name', None)}'")


class Registry(MutableMapping[str, T]):
    """Parts of one kind by name: those that ship, then those of plug-ins.

    Iteration gives names and imports nothing. ``registry[name]`` imports the part; ``items``,
    ``values`` and ``get`` omit a plug-in that cannot be loaded, with a warning.

    Parameters
    ----------
    kind:
        One of :data:`KINDS`.
    noun:
        What one part is called in messages.
    built_in:
        Parts that ship: each is the part itself, or ``module:attribute`` to import at first use.
    admit:
        Called once with the name and each part that is loaded, before its first use. Raises
        ValueError if the part does not keep the contract of its kind.
    """

    def __init__(
        self,
        kind: str,
        noun: str,
        built_in: Mapping[str, str | T],
        admit: Callable[[str, Any], None] = lambda name, part: None,
    ) -> None:
        self.kind = kind
        self._noun = noun
        self._own: dict[str, str | T] = dict(built_in)
        self._admit = admit
        self._plugged: dict[EntryPoint, T] = {}

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *self._entries()])

    def __len__(self) -> int:
        return len(self._own) + len(self._entries())

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._entries()

    def __getitem__(self, name: str) -> T:
        """The part of a name.

        Raises
        ------
        KeyError
            If there is none.
        SetupError
            If it is a plug-in's and cannot be loaded.
        """
        if name not in self._own:
            return self._load(self._entries()[name])
        part = self._own[name]
        if isinstance(part, str):
            part = self._import(name, part)
        return part

    def _import(self, name: str, where: str) -> T:
        module, _, attribute = where.partition(":")
        part: T = getattr(import_module(module), attribute)
        self._admit(name, part)
        self._own[name] = part
        return part

    def __setitem__(self, name: str, part: T) -> None:
        self._own[name] = part

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    @overload
    def get(self, name: str, default: None = None, /) -> T | None: ...

    @overload
    def get(self, name: str, default: T, /) -> T: ...

    @overload
    def get(self, name: str, default: D, /) -> T | D: ...

    def get(self, name: str, default: object = None, /) -> object:
        """The part of a name, or the default if there is none that can be loaded."""
        if name not in self:
            return default
        try:
            return self[name]
        except SetupError as error:
            warn(error.message)
            return default

    def items(self) -> ItemsView[str, T]:
        """Names and parts, without plug-ins that cannot be loaded."""
        return self._usable().items()

    def values(self) -> ValuesView[T]:
        """Parts, without plug-ins that cannot be loaded."""
        return self._usable().values()

    def plugged(self) -> dict[str, T]:
        """Names and parts of plug-ins alone, without those that cannot be loaded."""
        return {name: part for name in self._entries() if (part := self.get(name)) is not None}

    def find(self, name: str, key: str | None = None) -> T:
        """The part of a name that a description gives under ``key``.

        Raises
        ------
        DescriptionError
            If there is none.
        SetupError
            If it is a plug-in's and cannot be loaded.
        """
        if name not in self:
            near = get_close_matches(name.lower(), self, n=1, cutoff=0.7)
            meant = f"did you mean '{near[0]}'? " if near else ""
            raise DescriptionError(
                f"there is no {self._noun} '{name}'",
                key=key,
                remedy=f"{meant}use one of: {', '.join(self)}.",
            )
        return self[name]

    def describe(self, name: str) -> str:
        """``the NOUN 'NAME' of the plug-in DISTRIBUTION VERSION``, or without the plug-in."""
        entry = None if name in self._own else self._entries().get(name)
        return f"the {self._noun} '{name}'" if entry is None else _said(entry, self._noun)

    def problems(self) -> Iterator[tuple[str, str]]:
        """(distribution, what is wrong) of every plug-in that cannot be used; loads all."""
        for entry in entries(self.kind):
            try:
                if entry.name in self._own or self._entries().get(entry.name) != entry:
                    yield _distribution(entry)[0], f"{_said(entry, self._noun)}: name in use"
                else:
                    self._load(entry)
            except SetupError as error:
                yield _distribution(entry)[0], error.message

    def _usable(self) -> dict[str, T]:
        own = {name: self[name] for name in self._own}
        return {**own, **self.plugged()}

    def _entries(self) -> dict[str, EntryPoint]:
        """Entry points by name. A name that ships, or that two packages use, is refused."""
        found: dict[str, list[EntryPoint]] = {}
        for entry in entries(self.kind):
            found.setdefault(entry.name, []).append(entry)
        for name in [name for name in found if name in self._own]:
            for entry in found.pop(name):
                warn(f"{_said(entry, self._noun)} is refused: Windtunnel has one of that name")
        for name in [name for name, given in found.items() if len(given) > 1]:
            owners = " and ".join(sorted(_distribution(entry)[0] for entry in found.pop(name)))
            warn(f"the {self._noun} '{name}' is refused: {owners} have one of that name")
        return {name: given[0] for name, given in sorted(found.items())}

    def _load(self, entry: EntryPoint) -> T:
        if entry not in self._plugged:
            try:
                part = entry.load()
                self._admit(entry.name, part)
            except WindtunnelError as error:
                raise _unusable(entry, self._noun, error.message) from error
            except ValueError as error:
                raise _unusable(entry, self._noun, str(error)) from error
            # whatever its code raises: one package must not stop every command
            except Exception as error:
                raise _unusable(entry, self._noun, f"{type(error).__name__}: {error}") from error
            self._plugged[entry] = part
        return self._plugged[entry]


def _said(entry: EntryPoint, noun: str) -> str:
    name, version = _distribution(entry)
    return f"the {noun} '{entry.name}' of the plug-in {name} {version}".rstrip()


def _unusable(entry: EntryPoint, noun: str, why: str) -> SetupError:
    return SetupError(
        f"{_said(entry, noun)} ({entry.value}) cannot be used: {why}",
        remedy=f"update or uninstall {_distribution(entry)[0]}, or switch plug-ins off with "
        f"{SWITCH}=0.",
    )
