"""Class-data sharing: one archive of parsed classes for all of Hadoop's JVMs.

The start of nine JVMs that each parse 10,000 classes from 190 jars takes about 60 CPU seconds;
with the archive it takes about 25. The archive is created once for a Java runtime and a set of
jars (``java -Xshare:dump``, JDK Tools Reference, "CDS Archiving") from the list of classes that
the daemons of Hadoop 3.5.0 load, and is stored next to the jars. The JVM checks whether the
archive matches and runs without it if not. Containers use it in every treatment, too
(docs/decisions/0010), and it also contains the client of the storage system (0087).
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import filelock

from windtunnel.engines.hadoop.software import OPENS, Software

_DUMP_LIMIT_S = 300


@dataclass(frozen=True)
class ClientClasses:
    """The classes of a storage system's client, for the archive of Hadoop's classes.

    ``jars`` follow Hadoop's jars on the class path; ``classes`` is the list of classes without
    those of Hadoop's own list, compressed with gzip.
    """

    jars: Sequence[Path]
    classes: bytes


def class_list(package: str, name: str) -> bytes:
    """The list of classes of this name in a package, compressed with gzip."""
    return resources.files(package).joinpath(f"classlist/{name}.txt.gz").read_bytes()


def archive_path(
    java: Path,
    java_version: str,
    libs: Sequence[Path],
    classes: bytes,
    options: Sequence[str],
    more_jars: Sequence[Path] = (),
) -> Path:
    """Path of the archive for this Java runtime and these jars (it may not exist yet)."""
    made_of = "\0".join([str(java), java_version, *map(str, (*libs, *more_jars)), *options])
    key = hashlib.sha256(made_of.encode() + classes).hexdigest()[:16]
    return libs[0].parent / f"classes-{key}.jsa"


def ensure_archive(java: Path, java_version: str, lib: Path) -> Path | None:
    """Hadoop's archive, created if it is missing; None if this runtime cannot create one."""
    return make_archive(java, java_version, [lib], class_list(__package__, "hadoop"), OPENS)


def with_client(software: Software, client: ClientClasses | None) -> Software:
    """Hadoop's software with an archive that also contains the client of a storage system.

    The archive stays that of Hadoop alone if the other one cannot be created.
    """
    if client is None or software.class_archive is None:
        return software
    archive = make_archive(
        software.java,
        software.java_version,
        [software.lib],
        class_list(__package__, "hadoop") + client.classes,  # gzip data can be concatenated
        OPENS,
        client.jars,
    )
    return replace(software, class_archive=archive or software.class_archive)


def make_archive(
    java: Path,
    java_version: str,
    libs: Sequence[Path],
    classes: bytes,
    options: Sequence[str],
    more_jars: Sequence[Path] = (),
) -> Path | None:
    """The archive of a class path, created if it is missing; None if it cannot be created.

    The first time takes about half a minute. The archive is written under another name and
    renamed, so an interrupted dump leaves no incomplete archive. It is in the parent folder of
    the first of ``libs``.

    Parameters
    ----------
    libs:
        Folders of jars, in the order of the class path; the JVMs' class path must begin with them.
    classes:
        The list of classes, compressed with gzip.
    options:
        Options of the JVMs that affect the archive.
    more_jars:
        Jars that follow those of ``libs`` on the class path.
    """
    target = archive_path(java, java_version, libs, classes, options, more_jars)
    refused = target.with_suffix(".refused")
    if target.is_file():
        return target
    if refused.is_file():
        return None
    with filelock.FileLock(target.with_suffix(".lock")):  # a process that waits finds the archive
        if target.is_file() or refused.is_file():
            return target if target.is_file() else None
        return _dump(target, java, libs, classes, options, more_jars)


def _dump(
    target: Path,
    java: Path,
    libs: Sequence[Path],
    classes: bytes,
    options: Sequence[str],
    more_jars: Sequence[Path],
) -> Path | None:
    refused = target.with_suffix(".refused")
    new = target.with_suffix(f".new-{os.getpid()}")
    listed = target.with_suffix(f".list-{os.getpid()}")
    try:
        listed.write_bytes(gzip.decompress(classes))
        done = subprocess.run(
            [
                str(java),
                "-Xshare:dump",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",  # as in daemons: a dump is too short for C2
                *options,
                f"-XX:SharedClassListFile={listed}",
                f"-XX:SharedArchiveFile={new}",
                "-cp",
                ":".join([*(f"{lib}/*" for lib in libs), *map(str, more_jars)]),
            ],
            capture_output=True,
            text=True,
            timeout=_DUMP_LIMIT_S,
            check=False,
        )
        if done.returncode != 0 or not new.is_file():
            refused.write_text(done.stdout[-4000:] + done.stderr[-4000:])
            return None
        new.replace(target)
        return target
    except subprocess.TimeoutExpired:
        return None
    finally:
        listed.unlink(missing_ok=True)
        new.unlink(missing_ok=True)
