"""Facts about Hadoop's properties: their site file, their default, the daemons that read them.

The dictionaries in ``catalogue/hadoop_properties`` come from the default files in
Hadoop's jars (``tools/refresh_hadoop_properties.py``), one per line of Hadoop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from windtunnel.cluster.roles import ROLES
from windtunnel.cluster.schema_paths import nearest

Affected = Literal["client", "hdfs", "yarn", "all"]
Value = str | int | float | bool

# Families whose members are not in a default file; the first match applies.
_FAMILIES: tuple[tuple[str, str], ...] = (
    ("yarn.scheduler.capacity.", "capacity-scheduler.xml"),
    ("security.", "hadoop-policy.xml"),
    ("hadoop.kms.", "kms-site.xml"),
    ("httpfs.", "httpfs-site.xml"),
    ("mapreduce.", "mapred-site.xml"),
    ("mapred.", "mapred-site.xml"),
    ("yarn.app.mapreduce.", "mapred-site.xml"),
    ("yarn.", "yarn-site.xml"),
    ("dfs.", "hdfs-site.xml"),
)
_OTHERWISE = "core-site.xml"

# Names that users or programs define: they cannot be listed, so they are never "unknown".
_FREE = re.compile(
    r"(yarn\.scheduler\.capacity|yarn\.resource-types|security|hadoop\.kms|httpfs"
    r"|mapreduce\.(tera(sort|gen|validate)|randomwriter|randomtextwriter)"
    r"|hadoop\.proxyuser|fs\.s3a\.bucket|fs\.(abstractfs\.)?[a-z0-9]+\.impl|fs\.ceph|ceph"
    r"|dfs\.(ha\.namenodes|namenode\.[a-z-]+-address|client\.failover\.proxy\.provider)"
    r"|yarn\.nodemanager\.aux-services|yarn\.resourcemanager\.[a-z.-]*address"
    r"|callqueue|ipc\.\d+|io\.compression\.codec|test)(\..+)?"
)

# The daemons that have to be restarted (all: HDFS and YARN); the first match applies.
_READERS: tuple[tuple[str, Affected], ...] = (
    (r"mapreduce\.(jobhistory|shuffle)\..*", "yarn"),
    (r"mapreduce\..*|mapred\..*|yarn\.app\.mapreduce\..*", "client"),
    (r"dfs\.client\..*|dfs\.(replication|blocksize|stream-buffer-size)", "client"),
    (r"dfs\.(bytes-per-checksum|checksum\.type|client-write-packet-size)", "client"),
    (r"dfs\..*", "hdfs"),
    (r"yarn\.client\..*", "client"),
    (r"yarn\..*", "yarn"),
    (r"fs\.s3a\..*", "client"),
)


@dataclass(frozen=True)
class NonDefault:
    """A setting that differs from Hadoop's default (None: Hadoop has no default for it)."""

    name: str
    value: str
    default: str | None
    site: str


def site_of(name: str, version: str | None = None) -> str:
    """The site file of a property, such as ``hdfs-site.xml``."""
    entry = _properties(_line(version)).get(name)
    if entry is not None:
        return entry[0]
    return next((site for prefix, site in _FAMILIES if name.startswith(prefix)), _OTHERWISE)


def default_of(name: str, version: str | None = None) -> str | None:
    """Hadoop's default of a property, None if it has none."""
    entry = _properties(_line(version)).get(name)
    return None if entry is None else entry[1]


@cache
def deprecated() -> Mapping[str, list[str]]:
    """Deprecated property -> the properties that replaced it (Hadoop's own table)."""
    file = resources.files("windtunnel.catalogue").joinpath("audit", "deprecated_properties.json")
    found: dict[str, list[str]] = json.loads(file.read_text("utf-8"))["deprecated"]
    return found


def affects(name: str) -> Affected:
    """What must be restarted to read a new value: only clients, HDFS, YARN, or all.

    The settings of other engines affect only clients: no daemon of Hadoop reads them.
    """
    if engine_of(name):
        return "client"
    found = (who for pattern, who in _READERS if re.fullmatch(pattern, name))
    return next(found, "all")


def engine_of(name: str) -> str | None:
    """The engine other than Hadoop that reads a property; None: Hadoop itself."""
    return ROLES.engine_of_setting(name)


def unknown_settings(settings: Mapping[str, Value], version: str | None = None) -> list[str]:
    """One warning per setting that is unknown in this Hadoop line, with the nearest known one."""
    line = _line(version)
    known = _properties(line)
    return [
        _unknown(name, line)
        for name in settings
        if name not in known and not _FREE.fullmatch(name) and not engine_of(name)
    ]


@cache
def _unknown(name: str, line: str) -> str:
    """The warning; cached, because finding the nearest of 2,000 names is slow."""
    known = _properties(line)
    near = _longer(name, known) or nearest(name, known)
    hint = f"; did you mean '{near}'?" if near else ""
    return f"Hadoop {line} has no property '{name}'{hint}"


def non_defaults(settings: Mapping[str, Value], version: str | None = None) -> list[NonDefault]:
    """The settings whose value is not Hadoop's default, sorted by name."""
    found = []
    for name in sorted(settings):
        value, default = text_of(settings[name]), default_of(name, version)
        if value != default:
            found.append(NonDefault(name, value, default, site_of(name, version)))
    return found


def text_of(value: Value) -> str:
    """A setting's value as text in a site file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _longer(name: str, known: Mapping[str, object]) -> str | None:
    """A known property that ends with ``name``: ``io.sort.mb`` was renamed that way."""
    found = [other for other in known if other.endswith(f".{name}")]
    found.sort(key=lambda other: (not other.startswith("mapreduce."), len(other)))
    return found[0] if found else None


def _line(version: str | None) -> str:
    """The line whose dictionary applies to a version; the newest for versions without one."""
    lines = _lines()
    wanted = ".".join((version or "").split(".")[:2])
    return wanted if wanted in lines else lines[-1]


@cache
def _lines() -> list[str]:
    folder = resources.files("windtunnel.catalogue").joinpath("hadoop_properties")
    names = [entry.name for entry in folder.iterdir() if entry.name.endswith(".json")]
    lines = [name.removesuffix(".json") for name in names]
    return sorted(lines, key=lambda line: [int(part) for part in line.split(".")])


@cache
def _properties(line: str) -> dict[str, tuple[str, str]]:
    """Property -> (site file, default) of one line of Hadoop."""
    folder = resources.files("windtunnel.catalogue").joinpath("hadoop_properties")
    document = json.loads(folder.joinpath(f"{line}.json").read_text(encoding="utf-8"))
    sites: dict[str, dict[str, str]] = document["sites"]
    return {n: (site, default) for site, names in sites.items() for n, default in names.items()}


@cache
def property_names() -> frozenset[str]:
    """The names of Hadoop's properties, of all lines of Hadoop in the catalogue."""
    return frozenset(name for line in _lines() for name in _properties(line))
