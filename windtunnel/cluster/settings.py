"""Facts about Hadoop's properties: their site file, their default, the daemons that read them.

The dictionaries in ``catalogue/hadoop_properties`` come from the default files in
Hadoop's jars (``tools/refresh_hadoop_properties.py``), one per line of Hadoop. ``in_code.txt`` has
the properties that only the code names (``tools/refresh_code_properties.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
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
    r"|dfs\.federation\.router|fs\.viewfs\.mounttable|fs\.azure\.(account|sas)"
    r"|hadoop\.security\.group\.mapping\.provider"
    r"|callqueue|ipc\.\d+|io\.compression\.codec|test)(\..+)?"
)

# Hadoop's StringUtils.TraditionalBinaryPrefix: a whole number, and a prefix of a power of 1024
_SIZE = re.compile(r"([+-]?\d+)([kmgtpe]?)")
_LARGEST = 1 << 63  # a size of Hadoop is a long

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


def suffixes_of(value_of: Callable[[str], str]) -> frozenset[tuple[str, str]]:
    """The suffixes that names of properties can have with high availability and federation.

    Each is (beginning of the name, suffix): a nameservice, a nameservice with one of its
    NameNodes, a ResourceManager. ``value_of`` is the value of a property, empty if none is set.
    """

    def words(name: str) -> list[str]:
        return [word.strip() for word in value_of(name).split(",") if word.strip()]

    services = {*words("dfs.nameservices"), *words("dfs.internal.nameservices")}
    found = {*services, *words("dfs.ha.namenodes")}
    for service in services:
        found |= {f"{service}.{node}" for node in words(f"dfs.ha.namenodes.{service}")}
    hdfs = {(start, one) for one in found for start in ("dfs.", "ha.")}
    return frozenset(hdfs | {("yarn.", one) for one in words("yarn.resourcemanager.ha.rm-ids")})


def base_name(name: str, suffixes: frozenset[tuple[str, str]]) -> str:
    """The name of a property without the longest of the suffixes that it has."""
    found = [one for start, one in suffixes if name.startswith(start) and name.endswith(f".{one}")]
    return name.removesuffix(f".{max(found, key=len)}") if found else name


def unknown_settings(
    settings: Mapping[str, Value],
    version: str | None = None,
    suffixes: frozenset[tuple[str, str]] = frozenset(),
) -> list[str]:
    """One warning per setting that is unknown in this Hadoop line, with the nearest known one.

    Names can have one of the ``suffixes``, or one that the settings themselves declare.
    """
    line = _line(version)
    known = _properties(line)
    suffixes |= suffixes_of(lambda name: text_of(settings.get(name, "")))
    return [
        _unknown(name, line)
        for name in settings
        if not engine_of(name)
        and not any(
            one in known or _only_in_code(one) or _FREE.fullmatch(one)
            for one in (name, base_name(name, suffixes))
        )
    ]


def _only_in_code(name: str) -> bool:
    return name in in_code() and name not in deprecated()


@cache
def in_code() -> frozenset[str]:
    """Properties that the code of Hadoop 3.5 reads and no default file lists."""
    file = resources.files("windtunnel.catalogue") / "hadoop_properties" / "in_code.txt"
    lines = file.read_text("utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


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


def hadoop_bytes(value: object) -> float | None:
    """A size as Hadoop parses it (``128m`` is 128 MiB); None if it is none, such as ``128mb``."""
    match = _SIZE.fullmatch(str(value).strip().lower())
    if match is None:
        return None
    found = int(match[1]) << 10 * " kmgtpe".index(match[2] or " ")
    return found if abs(found) < _LARGEST else None


def _longer(name: str, known: Mapping[str, object]) -> str | None:
    """A known property that ends with ``name``: ``io.sort.mb`` was renamed that way."""
    found = [other for other in known if other.endswith(f".{name}")]
    found.sort(key=lambda other: (not other.startswith("mapreduce."), len(other)))
    return found[0] if found else None


@cache
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
