"""A folder of client configuration: its site files, as Hadoop reads them.

Source of the rules: API documentation of ``org.apache.hadoop.conf.Configuration``. A later file
replaces a value unless an earlier one declared it final; ``${name}`` is replaced up to 20 times;
``xi:include`` includes another file, here only one of the same folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.cluster.settings import default_of, deprecated
from windtunnel.cluster.site_xml import MAX_BYTES, read_site_file
from windtunnel.errors import DescriptionError, UsageError

SITES = (
    "core-site.xml",
    "hdfs-site.xml",
    "yarn-site.xml",
    "mapred-site.xml",
    "capacity-scheduler.xml",
)
_MAX_EXPANSIONS = 20
_DEPTH = 4
_VARIABLE = re.compile(r"\$\{([^{}$\s]+)\}")


@dataclass(frozen=True)
class Entry:
    """One property: its value, its file and line, and whether it is final."""

    name: str
    value: str
    source: str
    final: bool = False


@dataclass
class ClientConfiguration:
    """The properties of a folder.

    ``layout`` is the product that wrote it; ``read`` are the files that were read; ``racks`` maps
    hosts to racks; ``workers`` are hosts of a file ``workers``; ``notes`` states what was ignored,
    ``renamed`` which deprecated names stand for others.
    """

    folder: Path
    layout: str
    entries: dict[str, Entry] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)
    racks: dict[str, str] = field(default_factory=dict)
    workers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)

    def get(self, name: str, default: str | None = None) -> str | None:
        """The expanded value of a property: as given, else Hadoop's default."""
        entry = self.entries.get(name)
        raw = entry.value if entry is not None else default_of(name)
        return default if raw is None else self.expand(raw)

    def given(self, name: str) -> str | None:
        """The expanded value of a property that a file contains."""
        return self.expand(self.entries[name].value) if name in self.entries else None

    def expand(self, text: str) -> str:
        """The text with other properties in place of ``${name}``.

        Variables of the environment and of Java, such as ``${user.name}``, are those of the
        process that reads the value, so they stay.
        """
        for _ in range(_MAX_EXPANSIONS):
            for found in _VARIABLE.finditer(text):
                name = found[1]
                entry = self.entries.get(name)
                value = entry.value if entry is not None else default_of(name)
                if value is not None and found[0] not in value:
                    text = text[: found.start()] + value + text[found.end() :]
                    break
            else:
                break
        return text

    def undefined(self, text: str) -> list[str]:
        """The names of variables that no property defines, each once."""
        return list(dict.fromkeys(_VARIABLE.findall(self.expand(text))))


def read_configuration(folder: Path, *, below: bool = True) -> ClientConfiguration:
    """Read a folder; with ``below``, a file that it lacks comes from the folders below it.

    Raises
    ------
    UsageError
        There is no such folder, or no site file in it.
    DescriptionError
        A file is no XML, or not in the form of Hadoop (file, line).
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder} does not exist or is not a folder",
            remedy="specify the folder with the client configuration, such as /etc/hadoop/conf.",
        )
    files = dict(_site_files(folder, _DEPTH if below else 1))
    if not {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"} & files.keys():
        raise UsageError(
            f"{folder} contains no core-site.xml, hdfs-site.xml or yarn-site.xml",
            remedy="specify the folder with the client configuration, such as /etc/hadoop/conf.",
        )
    found = ClientConfiguration(folder, "unknown")
    for name in SITES:
        if name in files:
            _merge(found, files[name])
    found.layout = _layout(folder, files, found)
    _topology(found, {file.parent for file in files.values()})
    return found


def _site_files(folder: Path, levels: int) -> Iterator[tuple[str, Path]]:
    """Site file -> its path: of the folder itself, else of the nearest folder below it."""
    for name in SITES:
        paths = [p for p in folder.glob(name) if p.is_file()]
        for depth in range(1, levels):
            paths = paths or sorted(p for p in folder.glob("*/" * depth + name) if p.is_file())
        if paths:
            yield name, paths[0]


def _merge(found: ClientConfiguration, file: Path) -> None:
    try:
        site = read_site_file(file)
    except OSError as error:
        raise DescriptionError(
            f"the file cannot be read: {error.strerror}",
            file=file,
            remedy="check its permissions.",
        ) from error
    found.read += [str(one) for one in site.read]
    found.notes += [f"{place}: {reason}" for place, reason in site.unread]
    for one in site.properties:
        entry = Entry(one.name, one.value, f"{one.file.name}:{one.line}", one.final)
        (name,) = deprecated().get(entry.name, [entry.name])
        if name != entry.name:
            found.renamed.append(f"{entry.source}: {entry.name} is the old name of {name}")
        earlier = found.entries.get(name)
        if earlier is not None and earlier.final:
            if earlier.value != entry.value:
                found.notes.append(
                    f"{entry.source}: {name} is ignored: it is final in {earlier.source}"
                )
            continue
        found.entries[name] = Entry(name, entry.value, entry.source, entry.final)


def _layout(folder: Path, files: Mapping[str, Path], found: ClientConfiguration) -> str:
    """The product that wrote the folder, by its own files and names."""
    folders = {folder, *(file.parent for file in files.values())}
    env = "".join(
        file.read_text(encoding="utf-8", errors="replace")[:200_000]
        for one in folders
        for file in [one / "hadoop-env.sh"]
        if file.is_file()
    )
    if any(list(one.glob("__cloudera_*")) for one in folders) or "cloudera" in env.lower():
        return "Cloudera Manager"
    values = " ".join(entry.value for entry in found.entries.values())
    if any((one / "topology_mappings.data").is_file() for one in folders) or (
        "hdp.version" in values + env or "/usr/hdp/" in values + env
    ):
        return "Ambari"
    if "bigtop" in env.lower() or "/usr/lib/hadoop" in env + values:
        return "Bigtop"
    return "Apache"


def _topology(found: ClientConfiguration, folders: set[Path]) -> None:
    """Racks of hosts (Cloudera's and Ambari's files) and the list of workers."""
    for folder in sorted(folders):
        for name in ("topology.map", "topology_mappings.data", "workers", "slaves"):
            file = folder / name
            if not file.is_file() or file.stat().st_size > MAX_BYTES:
                continue
            text = file.read_text(encoding="utf-8", errors="replace")
            found.read.append(str(file))
            if name == "topology.map":
                pairs = re.findall(r'<node\s+name="([^"]+)"\s+rack="([^"]+)"', text)
                found.racks.update(pairs)
            elif name == "topology_mappings.data":
                found.racks.update(re.findall(r"^\s*([^#\[\s=]+)\s*=\s*(/\S+)", text, re.MULTILINE))
            else:
                hosts = [line.split("#")[0].strip() for line in text.splitlines()]
                hosts = [host for host in hosts if host and host != "localhost"]
                found.workers = found.workers or hosts
