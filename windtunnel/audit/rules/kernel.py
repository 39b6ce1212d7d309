"""Kernel parameters: unknown names, values that are not in force, sizes of buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from windtunnel.audit.evidence import Evidence
from windtunnel.audit.facts import HostFacts
from windtunnel.audit.result import Outcome, failed, not_applicable, passed, unknown
from windtunnel.cluster.schema_paths import nearest

_MOST_DEFAULT_BYTES = 4 << 20
# Parameters that the kernel reports differently from what was written, or only once.
_NOT_COMPARED = re.compile(r"kernel\.(core_pattern|printk)|fs\.(file-max|nr_open)|.*\.flush")


@cache
def known_parameters() -> tuple[frozenset[str], re.Pattern[str]]:
    """Names of kernel parameters, and the pattern of those with the name of a NIC."""
    text = resources.files("windtunnel.catalogue").joinpath("audit/kernel_parameters.txt")
    names = [line for line in text.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    families = [re.escape(name).replace(r"\*", "[^.]+") for name in names if "*" in name]
    return frozenset(name for name in names if "*" not in name), re.compile("|".join(families))


def parameter(host: HostFacts, name: str) -> str | None:
    """The value in force, None if the kernel has no such parameter."""
    value = host.mapping("sysctl").get(name)
    return None if value is None else str(value)


def _lines(host: HostFacts) -> list[dict[str, Any]]:
    found = host.mapping("sysctl_files").get("settings", [])
    return [row for row in found if isinstance(row, dict) and "key" in row]


def _unread(host: HostFacts) -> Iterator[Outcome]:
    for why in host.mapping("sysctl_files").get("unreadable", []):
        yield unknown(str(why), str(why).split(":")[0])


def unknown_sysctls(evidence: Evidence) -> Iterator[Outcome]:
    """Names in the host's files that no kernel has, each with the most similar known one."""
    host = evidence.one
    lines = _lines(host)
    yield from _unread(host)
    names, families = known_parameters()
    own = host.facts.get("sysctl", {}).get("value") or {}
    bad = 0
    for row in lines:
        key = str(row["key"])
        if key in names or key in own or families.fullmatch(key) or re.search(r"[*?]", key):
            continue
        bad += 1
        near = nearest(key, [*names, *own])
        place = f"{row.get('file', '')}:{row.get('line', '')}"
        hint = f"; '{near}' was probably meant" if near else ""
        yield failed(
            f"{key} = {row.get('value', '')} in {place}: no kernel has this parameter{hint}",
            f"replace {key} by {near} in {row.get('file')}, or remove the line" if near else "",
            about=key,
            place=place,
        )
    if not bad:
        yield passed(f"{len(lines)} settings in the host's files, all known")


def sysctls_in_force(evidence: Evidence) -> Iterator[Outcome]:
    """The last value of each parameter in the files against the value in force."""
    host = evidence.one
    last = {str(row["key"]): row for row in _lines(host)}
    values = host.mapping("sysctl")
    compared = 0
    for key, row in last.items():
        if key not in values or _NOT_COMPARED.fullmatch(key):
            continue
        compared += 1
        wanted, now = str(row.get("value", "")).split(), str(values[key]).split()
        if wanted != now:
            place = f"{row.get('file', '')}:{row.get('line', '')}"
            yield failed(
                f"{key}: {' '.join(wanted)} in {place}, {' '.join(now)} in force",
                f"sysctl -w '{key}={' '.join(wanted)}', or correct {place}",
                about=key,
                place=place,
            )
    if not compared:
        yield not_applicable("the host's files set no parameter whose value can be compared")
    else:
        yield passed(f"{compared} settings compared")


def sysctls_twice(evidence: Evidence) -> Iterator[Outcome]:
    """Parameters that one file sets twice."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    bad = False
    for row in _lines(evidence.one):
        place = str(row.get("file", "")), str(row["key"])
        if place in seen:
            bad = True
            yield failed(
                f"{row['key']} in lines {seen[place].get('line')} and {row.get('line')} of "
                f"{place[0]}",
                about=str(row["key"]),
                place=f"{place[0]}:{row.get('line')}",
            )
        seen[place] = row
    if not bad:
        yield passed("no parameter is set twice in one file")


def _defaults(evidence: Evidence, names: dict[str, int], unit: str) -> Iterator[Outcome]:
    for name, column in names.items():
        value = parameter(evidence.one, name)
        parts = (value or "").split()
        if len(parts) <= column or not parts[column].isdigit():
            yield unknown(f"{name} was not collected", name)
            continue
        size = int(parts[column])
        text = f"{name} = {value}: {unit} of {size / 2**20:.3g} MiB"
        yield failed(text, about=name) if size > _MOST_DEFAULT_BYTES else passed(text, name)


def tcp_default_buffers(evidence: Evidence) -> Iterator[Outcome]:
    """The buffer with which each TCP connection starts."""
    names = {"net.ipv4.tcp_rmem": 1, "net.ipv4.tcp_wmem": 1}
    yield from _defaults(evidence, names, "each connection starts with a buffer")


def socket_default_buffers(evidence: Evidence) -> Iterator[Outcome]:
    """The buffer with which each other socket starts."""
    names = {"net.core.rmem_default": 0, "net.core.wmem_default": 0}
    yield from _defaults(evidence, names, "each socket starts with a buffer")


RULES = {
    "unknown_sysctls": unknown_sysctls,
    "sysctls_in_force": sysctls_in_force,
    "sysctls_twice": sysctls_twice,
    "tcp_default_buffers": tcp_default_buffers,
    "socket_default_buffers": socket_default_buffers,
}
