"""Catalogues of the audit: ranges of values, ports, end of life."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from windtunnel.audit.result import Severity
from windtunnel.cluster.yamlfile import load_text


def _text(name: str) -> str:
    return resources.files("windtunnel.catalogue").joinpath("audit", name).read_text("utf-8")


@cache
def _yaml(name: str) -> dict[str, Any]:
    return load_text(_text(name), f"catalogue/audit/{name}").data


@dataclass(frozen=True)
class Limits:
    """The values that a property can have, with the reason."""

    least: float | None
    most: float | None
    reason: str


@cache
def limits() -> Mapping[str, Limits]:
    """Property -> its possible values."""
    rows = _yaml("limits.yaml")["limits"]
    return {
        name: Limits(row.get("least"), row.get("most"), row["reason"]) for name, row in rows.items()
    }


@cache
def removed() -> Mapping[str, str]:
    """Property of an older or other Hadoop without effect -> the reason."""
    found: dict[str, str] = _yaml("limits.yaml")["without_effect"]
    return found


@dataclass(frozen=True)
class Port:
    """A well-known port of the Hadoop family.

    ``since`` and ``until`` are versions of the software, empty if there is no limit. ``open``
    states what a stranger can do if the service has its default settings; empty: nothing.
    ``probe`` is the path of a harmless GET request.
    """

    port: int
    service: str
    purpose: str
    since: str
    until: str
    open: str
    severity: Severity
    remedy: str
    probe: str
    tls: bool


@cache
def ports() -> tuple[Port, ...]:
    """The catalogue of ports."""
    defaults = {"since": "", "until": "", "open": "", "severity": "low", "remedy": "", "probe": ""}
    rows = _yaml("ports.yaml")["ports"]
    return tuple(Port(**({"tls": False} | defaults | row)) for row in rows)


@dataclass(frozen=True)
class EndOfLife:
    """A line of software that is not maintained: ``until`` is its last day.

    ``versions`` is a range of versions, ``source`` the key of where the date is stated.
    """

    software: str
    source: str
    versions: str
    until: dt.date
    severity: Severity
    faults: str
    remedy: str


@cache
def ends_of_life() -> tuple[EndOfLife, ...]:
    """Software lines past their end of life."""
    rows = _yaml("end_of_life.yaml")["lines"]
    return tuple(EndOfLife(**row | {"until": dt.date.fromisoformat(row["until"])}) for row in rows)


@cache
def end_of_life_sources() -> tuple[dt.date, Mapping[str, str]]:
    """The day on which the dates of ends of life were looked up, and where: key -> source."""
    data = _yaml("end_of_life.yaml")
    return dt.date.fromisoformat(data["looked_up"]), data["sources"]
