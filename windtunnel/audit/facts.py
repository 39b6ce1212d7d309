"""The collected facts of one host: reading a file of ``audit collect``, and access by name."""

from __future__ import annotations

import ipaddress
import json
import math
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windtunnel.audit import collect_facts
from windtunnel.errors import DescriptionError

_MAX_BYTES = 64 << 20
_HERE = "this machine"
# Facts whose value is a mapping, and facts whose value is a list of mappings.
_MAPPINGS = frozenset({"clock", "cpu", "memory", "names", "numa", "os", "sysctl", "sysctl_files"})
_TABLES = frozenset({"disks", "idle_states", "jvms", "listening", "mounts", "nics"})
_AGAIN = "run 'windtunnel audit collect --out FILE' on the host again."


class UnreadableError(Exception):
    """A fact could not be read; the text is the reason."""


class AbsentFactError(Exception):
    """The host does not have what the fact describes; the text is the reason."""


def is_loopback(address: str) -> bool:
    """Whether only the host itself reaches an address; raises ValueError if it is none.

    A zone (``%lo``) is not read, and an IPv4 address can be written as an IPv6 address
    (``::ffff:127.0.0.1``, as Java's sockets do).
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


@dataclass(frozen=True)
class HostFacts:
    """The facts of one host: name -> ``{"value"|"absent"|"unreadable": ...}``.

    ``only`` are the checks that these facts serve; without any, they serve all.
    """

    host: str
    facts: Mapping[str, Mapping[str, Any]]
    as_root: bool = True
    origin: str = ""
    only: tuple[str, ...] = ()

    def get(self, name: str) -> Any:
        """The value of a fact; raises UnreadableError or AbsentFactError."""
        fact = self.facts.get(name)
        if not isinstance(fact, Mapping):
            raise UnreadableError(f"the fact '{name}' was not collected")
        if "value" in fact:
            return fact["value"]
        if "absent" in fact:
            raise AbsentFactError(str(fact["absent"]))
        raise UnreadableError(f"{name}: {fact.get('unreadable', 'no value')}")

    def table(self, name: str) -> list[dict[str, Any]]:
        """A fact that is a list of mappings; raises as :meth:`get`."""
        value = self.get(name)
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            raise UnreadableError(f"the fact '{name}' is no list of entries")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """A fact that is a mapping; raises as :meth:`get`."""
        value = self.get(name)
        if not isinstance(value, dict):
            raise UnreadableError(f"the fact '{name}' is no mapping")
        return value

    def number(self, name: str, key: str) -> float | None:
        """A number of a fact that is a mapping; None if it is unknown."""
        try:
            value = self.mapping(name).get(key)
        except (UnreadableError, AbsentFactError):
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return float(value) if math.isfinite(value) else None


def with_paths(hosts: Sequence[HostFacts], rows: Sequence[Mapping[str, Any]]) -> list[HostFacts]:
    """The hosts with probed paths of this machine; it is added if it is not one of them."""
    fact = {"paths": {"value": list(rows)}}
    made = [
        replace(one, facts={**one.facts, **fact}) if one.origin == _HERE else one for one in hosts
    ]
    if not any(one.origin == _HERE for one in hosts):
        name = socket.gethostname()
        made.append(HostFacts(name, fact, origin=_HERE, only=("host-path-mtu",)))
    return made


def this_machine() -> HostFacts:
    """The facts of this machine, read now."""
    return of_document(collect_facts.collect(), _HERE)


def read_facts(path: Path) -> HostFacts:
    """The facts of a file.

    Raises
    ------
    DescriptionError
        If the file cannot be read or holds no facts.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise DescriptionError("larger than 64 MB", file=path, remedy=_AGAIN)
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DescriptionError(
            f"cannot be read: {error.strerror}", file=path, remedy="check the path."
        ) from None
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"not JSON: {error}", file=path, remedy=_AGAIN) from None
    return of_document(document, str(path))


def of_document(document: Any, origin: str) -> HostFacts:
    """The facts of a parsed file; raises DescriptionError."""
    if not isinstance(document, dict) or document.get("kind") != collect_facts.KIND:
        raise DescriptionError(
            "this file has no collected facts", file=origin, key="kind", remedy=_AGAIN
        )
    if document.get("schema") != collect_facts.SCHEMA:
        raise DescriptionError(
            f"schema {document.get('schema')!r} is not supported; this version reads "
            f"{collect_facts.SCHEMA}",
            file=origin,
            key="schema",
            remedy=_AGAIN,
        )
    facts, host = document.get("facts"), document.get("host")
    if not isinstance(facts, dict) or not isinstance(host, str) or not host:
        raise DescriptionError("no host or no facts", file=origin, key="facts", remedy=_AGAIN)
    for name, fact in facts.items():
        problem = _type_problem(name, fact)
        if problem is not None:
            key = f"facts.{name}"
            raise DescriptionError(problem, file=origin, key=key, remedy=_AGAIN)
    return HostFacts(host, facts, bool(document.get("as_root")), origin)


def _type_problem(name: str, fact: Any) -> str | None:
    """What is wrong with the type of a fact or of its value; None if nothing is."""
    if not isinstance(fact, dict):
        return "must be a mapping"
    value = fact.get("value")
    if "value" not in fact:
        return None
    if name in _MAPPINGS and not isinstance(value, dict):
        return "its value must be a mapping"
    rows: list[Any] = value if isinstance(value, list) else [None]
    if name in _TABLES and not all(isinstance(row, dict) for row in rows):
        return "its value must be a list of mappings"
    if name == "jvms" and not all(isinstance(row.get("jars") or {}, dict) for row in rows):
        return "'jars' must be a mapping"
    return None
