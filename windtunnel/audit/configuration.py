"""A Hadoop configuration directory: every property with its file and line, and the heaps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from windtunnel.cluster.secrets import MASK, masked, masked_text
from windtunnel.cluster.settings import default_of, deprecated, hadoop_bytes, site_of
from windtunnel.cluster.site_xml import MAX_BYTES, SiteProperty, read_site_file
from windtunnel.errors import DescriptionError

SITES = (
    "core-site.xml",
    "hdfs-site.xml",
    "yarn-site.xml",
    "mapred-site.xml",
    "capacity-scheduler.xml",
    "hadoop-policy.xml",
    "ssl-server.xml",
    "ssl-client.xml",
    "hbase-site.xml",
    "hive-site.xml",
)
KNOWN_LINES = ("3.4", "3.5")
_VARIABLE = re.compile(r"\$\{([^}$\s]+)\}")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_DEPTH = 20  # Configuration.MAX_SUBST of Hadoop
_LEAST_REMOVED = 6  # characters: a shorter value that is perhaps a secret is part of other words
_SECRET_NAME = re.compile(
    r"(?i)(passw(or)?d|passphrase|secret|credential(?!.*(provider|path))|access[.-]?token"
    r"|\.access\.key$|(zk|zookeeper)[.-]auth$|account\.key|sas\.token|private\.?key)"
)
# names with such a word whose values are no secrets: files, classes, numbers, switches
_NO_SECRET_NAME = re.compile(
    r"(?i)(\.file|\.path|\.class|\.provider(\.path)?|\.enabled?|\.impl|\.location|\.length"
    r"|\.interval.*|\.lifetime.*|\.max.*|\.size|\.alias|-ms|\.type|\.domain|\.validity"
    r"|\.command|\.url|\.service|\.classpath|\.env|\.codec|\.encoding|secret\.manager.*)$"
)


@dataclass(frozen=True)
class Property:
    """One property of one file. ``value`` is as written, without white space at its ends.

    ``origin`` is where the value comes from, if that is not the line of the file. ``included`` is
    the file with the line, if the site file ``file`` includes it.
    """

    name: str
    value: str
    file: str
    line: int
    final: bool = False
    origin: str = ""
    included: str = ""

    @property
    def written_in(self) -> str:
        """The file with the line: the site file, or one that it includes."""
        return self.included or self.file

    @property
    def place(self) -> str:
        """File and line, or the origin."""
        return self.origin or f"{self.written_in}:{self.line}"


@dataclass(frozen=True)
class Configuration:
    """The properties of the ``*-site.xml`` files of one directory (or of several, combined).

    Attributes
    ----------
    entries:
        All properties in the order of the files; a name can occur more than once.
    broken, unreadable:
        Files that are not XML, and files that cannot be read: name -> reason. An included file
        that cannot be read has the place of its include as its name.
    heaps_bytes:
        ``-Xmx`` of daemons in ``hadoop-env.sh`` and ``yarn-env.sh``: role -> bytes.
    version:
        Hadoop's version, or an empty text if it is unknown.
    modes:
        Permissions of the files: name -> mode.
    partial:
        Only some settings are known: what is not set can have another value than the default.
    """

    name: str
    entries: tuple[Property, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    heaps_bytes: Mapping[str, int] = field(default_factory=dict)
    version: str = ""
    modes: Mapping[str, int] = field(default_factory=dict)
    partial: bool = False

    def entry(self, name: str) -> Property | None:
        """The entry that is in force: the last one, unless an earlier one is final.

        The deprecated names of the property count as well.
        """
        found = None
        names = old_names().get(name, frozenset()) | {name}
        for one in self.entries:
            if one.name in names and not (found is not None and found.final):
                found = one
        return found

    def is_set(self, name: str) -> bool:
        """Whether a file sets the property."""
        return self.entry(name) is not None

    def value(self, name: str) -> str:
        """The value in force, Hadoop's default if none is set; variables are replaced."""
        return self._value(name, 0)

    def _value(self, name: str, depth: int) -> str:
        one = self.entry(name)
        raw = (default_of(name, self.version) or "") if one is None else one.value
        return self.expanded(raw, depth)

    def expanded(self, text: str, depth: int = 0) -> str:
        """A text with its variables replaced; unknown ones stay."""
        if depth >= _DEPTH:
            return text

        def replaced(match: re.Match[str]) -> str:
            known = self.is_set(match[1]) or default_of(match[1], self.version) is not None
            return self._value(match[1], depth + 1) if known else match[0]

        return _VARIABLE.sub(replaced, text)

    def number(self, name: str) -> float | None:
        """The value as a number (sizes such as ``128m`` in bytes); None if it is none."""
        return property_number(self.value(name))

    def true(self, name: str) -> bool:
        """Whether the value is ``true``."""
        return self.value(name).strip().lower() == "true"

    def items(self, name: str) -> list[str]:
        """The parts of a value that is separated by commas."""
        return [part.strip() for part in self.value(name).split(",") if part.strip()]

    def changed(self, values: Mapping[str, str]) -> Configuration:
        """The configuration with other values of some properties."""
        names = set(values).union(*(old_names().get(name, frozenset()) for name in values))
        kept = tuple(one for one in self.entries if one.name not in names)
        new = (Property(n, v, site_of(n, self.version), 0) for n, v in values.items())
        return replace(self, entries=(*kept, *new))

    def place(self, name: str) -> str:
        """File and line of the property in force; empty if it is not set."""
        one = self.entry(name)
        return "" if one is None else one.place

    def shown(self, name: str) -> str:
        """The value in force for a message, without secrets."""
        return redacted(name, self.value(name))

    @property
    def line_known(self) -> bool:
        """Whether the properties of this version of Hadoop are in the catalogue."""
        return self.version.startswith(tuple(f"{line}." for line in KNOWN_LINES)) or (
            self.version in KNOWN_LINES
        )

    @property
    def is_cluster(self) -> bool:
        """Whether it configures a cluster: without a file system it is Hadoop's local mode."""
        system = self.value("fs.defaultFS") or "file:///"
        if not self.is_set("fs.defaultFS") and self.is_set("fs.default.name"):
            system = self.value("fs.default.name")
        own = any(one.name.startswith(("dfs.", "yarn.")) for one in self.entries)
        return not system.startswith("file:") or own

    @property
    def least_version(self) -> str:
        """The oldest version that can have these properties; empty if nothing is known.

        Hadoop 2 brought YARN and renamed most properties; Hadoop 1 has none of these names.
        """
        new = old_names()
        two = any(one.name in new or one.name.startswith("yarn.") for one in self.entries)
        return self.version or ("2.0" if two else "")

    def secrets(self) -> frozenset[str]:
        """The values of all properties that hold secrets, for the removal from any text."""
        return frozenset(
            one.value
            for one in self.entries
            if len(one.value) >= (3 if is_secret(one.name) else _LEAST_REMOVED)
            and redacted(one.name, one.value) == MASK
        )


@cache
def old_names() -> Mapping[str, frozenset[str]]:
    """Property -> its deprecated names."""
    found: dict[str, set[str]] = {}
    for old, new in deprecated().items():
        for name in new:
            found.setdefault(name, set()).add(old)
    return {name: frozenset(names) for name, names in found.items()}


def is_secret(name: str) -> bool:
    """Whether the value of a property is a secret, by its name, so that its place is a FAIL.

    Names of files, classes and durations are none here; what may be shown is decided by
    :mod:`windtunnel.cluster.secrets`, which masks more.
    """
    return bool(_SECRET_NAME.search(name)) and not _NO_SECRET_NAME.search(name)


def redacted(name: str, value: str) -> str:
    """A value for a message: without what the shared list of secrets hides.

    Names of files, classes and sizes are shown, although their name has such a word.
    """
    return masked_text(value) if _NO_SECRET_NAME.search(name) else masked(name, value)


def property_number(text: str) -> float | None:
    """The number of a property as Hadoop parses it; None if it is none.

    A number with a suffix k, m, g, t, p or e is whole, and ``b`` is no suffix: Hadoop refuses
    ``128mb`` and ``1.5g``.
    """
    if _PLAIN_NUMBER.fullmatch(text.strip()):
        return float(text)
    return hadoop_bytes(text)


def number_of(text: str) -> float | None:
    """A number as programs and people write it: also ``128 MB`` and ``1.5g``, powers of 1024.

    The number of a property is that of :func:`property_number`.
    """
    match = re.fullmatch(r"\s*([+-]?\d+(?:\.\d+)?)\s*([kmgtpeKMGTPE]?)[bB]?\s*", text)
    if not match:
        return None
    power = "kmgtpe".find(match[2].lower()) + 1 if match[2] else 0
    return float(match[1]) * 1024.0**power


def read_configuration(folder: Path, version: str = "") -> Configuration:
    """The configuration of a directory.

    Raises
    ------
    DescriptionError
        If the directory does not exist or cannot be listed.
    """
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise DescriptionError(
            f"cannot be listed: {error.strerror}",
            file=folder,
            remedy="specify a directory with *-site.xml files.",
        ) from None
    entries: list[Property] = []
    broken: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    modes: dict[str, int] = {}
    wanted = [name for name in SITES if name in names]
    wanted += [name for name in names if name.endswith("-site.xml") and name not in SITES]
    for name in wanted:
        try:
            path = folder / name
            if path.stat().st_size > MAX_BYTES:
                raise OSError(27, "larger than 16 MB")
            found = read_site_file(path, entities=True)
            entries += [_placed(one, name) for one in found.properties]
            unreadable |= dict(found.unread)
            modes |= {one.name: one.stat().st_mode & 0o777 for one in found.read}
        except OSError as error:
            unreadable[name] = error.strerror or str(error)
        except DescriptionError as error:
            where = "" if error.file == path else f"{Path(str(error.file)).name}, "
            broken[name] = f"{where}line {error.line}: {error.message}"
    heaps: dict[str, int] = {}
    for name in ("hadoop-env.sh", "yarn-env.sh", "mapred-env.sh"):
        if name in names:
            try:
                heaps |= heaps_of((folder / name).read_text(encoding="utf-8", errors="replace"))
            except OSError as error:
                unreadable[name] = error.strerror or str(error)
    return Configuration(str(folder), tuple(entries), broken, unreadable, heaps, version, modes)


def _placed(one: SiteProperty, site: str) -> Property:
    """A property of a site file or of a file that it includes."""
    included = "" if one.file.name == site else one.file.name
    return Property(one.name, one.value, site, one.line, one.final, included=included)


def heaps_of(script: str) -> dict[str, int]:
    """``-Xmx`` in lines such as ``export HDFS_NAMENODE_OPTS="-Xmx8g"``: role -> bytes."""
    found = {}
    for line in script.splitlines():
        match = re.match(r"\s*(?:export\s+)?(?:HADOOP|HDFS|YARN|MAPRED)_(\w+?)_OPTS=(.*)", line)
        size = re.search(r"-Xmx(\d+[kKmMgG]?)", match[2]) if match else None
        if match and size:
            found[match[1].lower()] = int(number_of(size[1]) or 0)
    return found


def combined(parts: list[Configuration], name: str, version: str = "") -> Configuration:
    """One configuration of several directories: of each name, the entry of the first one."""
    seen: set[str] = set()
    entries = []
    for part in parts:
        names = {one.name for one in part.entries}
        entries += [one for one in part.entries if one.name not in seen]
        seen |= names
    return Configuration(
        name,
        tuple(entries),
        {file: why for part in parts for file, why in part.broken.items()},
        {file: why for part in parts for file, why in part.unreadable.items()},
        {role: heap for part in parts for role, heap in part.heaps_bytes.items()},
        version,
        {file: mode for part in parts for file, mode in part.modes.items()},
    )
