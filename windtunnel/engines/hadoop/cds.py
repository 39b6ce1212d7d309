"""Class-data sharing: one archive of parsed classes for all of Hadoop's JVMs.

The start of nine JVMs that each parse 10,000 classes from 190 jars takes about 60 CPU seconds;
with the archive it takes about 25. The archive is created once for a Java runtime and a set of
jars (``java -Xshare:dump``, JDK Tools Reference, "CDS Archiving") from the list of classes that
the daemons of Hadoop 3.5.0 load, and is stored next to the jars. The JVM checks whether the
archive matches and runs without it if not. Containers use it in every treatment, too
(docs/decisions/0010).
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from windtunnel.engines.hadoop.software import OPENS

_DUMP_LIMIT_S = 300


def archive_path(
    java: Path, java_version: str, libs: Sequence[Path], classes: bytes, options: Sequence[str]
) -> Path:
    """Path of the archive for this Java runtime and these jars (it may not exist yet)."""
    made_of = "\0".join([str(java), java_version, *map(str, libs), *options])
    key = hashlib.sha256(made_of.encode() + classes).hexdigest()[:16]
    return libs[0].parent / f"classes-{key}.jsa"


def _classes() -> bytes:
    """The compressed list of classes that daemons, application masters and tasks load."""
    return resources.files(__package__).joinpath("classlist/hadoop.txt.gz").read_bytes()


def ensure_archive(java: Path, java_version: str, lib: Path) -> Path | None:
    """Hadoop's archive, created if it is missing; None if this runtime cannot create one."""
    return make_archive(java, java_version, [lib], _classes(), OPENS)


def make_archive(
    java: Path, java_version: str, libs: Sequence[Path], classes: bytes, options: Sequence[str]
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
    """
    target = archive_path(java, java_version, libs, classes, options)
    refused = target.with_suffix(".refused")
    if target.is_file():
        return target
    if refused.is_file():
        return None
    new = target.with_suffix(f".new-{os.getpid()}")
    listed = target.with_suffix(f".list-{os.getpid()}")
    try:
        listed.write_bytes(gzip.decompress(classes))
        done = subprocess.run(
            [
                str(java),
                "-Xshare:dump",
                "-XX:+UseSerialGC",
                *options,
                f"-XX:SharedClassListFile={listed}",
                f"-XX:SharedArchiveFile={new}",
                "-cp",
                ":".join(f"{lib}/*" for lib in libs),
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
