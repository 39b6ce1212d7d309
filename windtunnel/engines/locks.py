"""Lock files: which jars an engine consists of, each with its SHA-256.

The files have the format of jgo (``jgo.lock.toml``), which can load them too. Each jar has two
more keys, which jgo ignores: ``size`` in bytes, and ``folder`` for jars that must not be on the
daemons' class path: jars of clients, and jars of a plug-in that a daemon loads separately.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.errors import SetupError

LIB = "lib"
CLIENT_LIB = "client-lib"
PLUGIN = "plugin"
FOLDERS = (LIB, CLIENT_LIB, PLUGIN)


@dataclass(frozen=True)
class LockedJar:
    """One jar of a lock file: Maven coordinates, SHA-256 and the folder it goes to."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    size: int
    """Bytes; 0 if the lock file does not give the size."""
    folder: str

    @property
    def name(self) -> str:
        """Coordinates without the version, such as ``org.lz4:lz4-java``."""
        parts = (self.group, self.artifact, self.classifier)
        return ":".join(part for part in parts if part)

    @property
    def filename(self) -> str:
        """The file's name in Maven, such as ``lz4-java-1.8.0.jar``."""
        parts = (self.artifact, self.version, self.classifier)
        return "-".join(part for part in parts if part) + ".jar"

    @property
    def relative(self) -> str:
        """Folder and file name, such as ``lib/lz4-java-1.8.0.jar``."""
        return f"{self.folder}/{self.filename}"


@dataclass(frozen=True)
class Lock:
    """The jars of one engine at one version."""

    path: Path
    jars: tuple[LockedJar, ...]

    @property
    def digest(self) -> str:
        """Sixteen hex digits that change only if a jar, its hash or its folder changes."""
        rows = sorted((jar.relative, jar.name, jar.sha256) for jar in self.jars)
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]

    @property
    def size(self) -> int:
        """Bytes of all jars together; 0 if the lock file lacks the size of a jar."""
        sizes = [jar.size for jar in self.jars]
        return sum(sizes) if all(sizes) else 0


def shipped_lock(name: str) -> Path:
    """The lock file shipped for an engine and line, such as ``hadoop-3.5``.

    Raises
    ------
    SetupError
        If there is none; the message lists the available ones.
    """
    known = {path.name.removesuffix(".lock.toml"): path for path in shipped_locks()}
    if name not in known:
        raise SetupError(
            f"no lock file for '{name}' is installed",
            remedy=f"use one of: {', '.join(sorted(known)) or 'none is installed'}",
        )
    return known[name]


def shipped_locks() -> list[Path]:
    """All lock files of all engines."""
    return sorted(Path(__file__).parent.glob("*/locks/*.lock.toml"))


def read_lock(path: Path) -> Lock:
    """Read a lock file.

    Raises
    ------
    SetupError
        If the file is missing, is not a lock file, or holds a jar without SHA-256 or
        two jars of the same name.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        jars = tuple(_jar(entry) for entry in document["dependencies"])
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as problem:
        raise SetupError(
            f"the lock file {path} cannot be used: {problem}",
            remedy="install Windtunnel again, or write the file again with tools/lock_jars.py",
        ) from problem
    if len({jar.relative for jar in jars}) != len(jars):
        raise SetupError(
            f"the lock file {path} names a jar twice",
            remedy="install Windtunnel again, or write the file again with tools/lock_jars.py.",
        )
    return Lock(path, jars)


def _jar(entry: dict[str, Any]) -> LockedJar:
    digest = str(entry.get("sha256", ""))
    if len(digest) != 64:
        raise ValueError(f"{entry['artifactId']} has no SHA-256")
    jar = LockedJar(
        group=entry["groupId"],
        artifact=entry["artifactId"],
        version=entry["version"],
        classifier=entry.get("classifier", ""),
        sha256=digest,
        size=int(entry.get("size", 0)),
        folder=entry.get("folder", LIB),
    )
    if jar.folder not in FOLDERS or "/" in jar.filename or entry["packaging"] != "jar":
        raise ValueError(f"{jar.name} is not a jar for {' or '.join(FOLDERS)}")
    return jar
