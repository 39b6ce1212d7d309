"""The jars of an engine in the per-user cache: fetched once, verified, complete or absent.

    CACHE/artifacts/hadoop-3.5/<digest of the lock>/lib/*.jar
                                                   /client-lib/*.jar
                                                   /plugin/*.jar
                                                   /COMPLETE

A set is assembled in the neighbouring folder ``<digest>.part`` and renamed in the last
step, with the marker ``COMPLETE`` inside, so that a killed download never looks complete.
The marker holds size, times and inode of every jar: while they are unchanged, the stored
hash is valid; a jar that differs in any of them is hashed again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import filelock
import platformdirs

from windtunnel import durable
from windtunnel.engines.digest import sha256_of
from windtunnel.engines.locks import (
    CLIENT_LIB,
    FOLDERS,
    LIB,
    PLUGIN,
    Lock,
    LockedJar,
    read_lock,
    shipped_lock,
)
from windtunnel.engines.progress import Progress, Silent
from windtunnel.errors import SetupError, StorageFullError

CACHE_VARIABLE = "WINDTUNNEL_CACHE"
MARKER = "COMPLETE"
MARKER_SCHEMA = 1
SPARE_BYTES = 32 * 1024 * 1024
"""Free space that must remain after a download."""
WAIT_S = 1800
"""Longest wait for another process that is fetching the same set."""
_MORE_SPACE = f"free some space, or set {CACHE_VARIABLE} to a directory on a larger disk"

Stamp = list[int]
"""Size in bytes, modification and change time in ns, inode."""


class Jar(NamedTuple):
    """One jar of a set, for class paths and for provenance."""

    name: str
    version: str
    sha256: str
    path: Path


@dataclass(frozen=True)
class ArtifactSet:
    """The jars of one engine, complete and verified."""

    name: str
    root: Path
    jars: list[Jar]

    def facts(self) -> list[dict[str, str]]:
        """Names, versions and hashes of the jars, for the provenance."""
        return [
            {"name": jar.name, "version": jar.version, "sha256": jar.sha256} for jar in self.jars
        ]

    @property
    def lib(self) -> Path:
        """Directory of all jars for daemons, tasks and clients."""
        return self.root / LIB

    @property
    def client_lib(self) -> Path:
        """Directory of jars that only clients use, such as the examples."""
        return self.root / CLIENT_LIB

    @property
    def plugin(self) -> Path:
        """Directory of the jars that a daemon loads separately, as a plug-in."""
        return self.root / PLUGIN


def cache_root() -> Path:
    """``WINDTUNNEL_CACHE`` if it is set, else the user's cache directory for Windtunnel."""
    override = os.environ.get(CACHE_VARIABLE, "").strip()
    return Path(override).expanduser().absolute() if override else _user_cache()


def ensure_shipped(name: str, progress: Progress | None = None) -> ArtifactSet:
    """:func:`ensure` for a lock file that Windtunnel ships, such as ``hadoop-3.5``."""
    return ensure(shipped_lock(name), name, progress)


def ensure(
    lock_path: Path, name: str, progress: Progress | None = None, *, rehash: bool = False
) -> ArtifactSet:
    """Return the jars of ``lock_path``; fetch those that the cache lacks from Maven.

    Parameters
    ----------
    lock_path:
        A lock file, see :mod:`windtunnel.engines.locks`.
    name:
        Folder in the cache, such as ``hadoop-3.5``.
    progress:
        Shown while jars are fetched; not used if the cache has all of them.
    rehash:
        Hash every jar, including those whose stamp is unchanged.

    Raises
    ------
    SetupError
        No network, a jar with a wrong hash, a damaged or unwritable cache.
    StorageFullError
        The disk has no room for the jars.
    """
    lock = read_lock(lock_path)
    root = cache_root() / "artifacts" / name / lock.digest
    if not root.is_dir():
        with _storage_errors(root.parent):
            root.parent.mkdir(parents=True, exist_ok=True)
            _fetch_set(lock, root, name, progress or Silent())
    _check(lock, root, rehash)
    jars = [Jar(jar.name, jar.version, jar.sha256, root / jar.relative) for jar in lock.jars]
    return ArtifactSet(name, root, jars)


def clear_cache() -> int:
    """Remove all artifacts from the cache; returns the bytes that were freed."""
    target = cache_root() / "artifacts"
    freed = sum(file.lstat().st_size for file in target.rglob("*") if file.is_file())
    if target.is_dir():
        with _storage_errors(target):
            shutil.rmtree(target)
    return freed


# -- fetching ----------------------------------------------------------------------


def _fetch_set(lock: Lock, root: Path, name: str, progress: Progress) -> None:
    """Build the set next to ``root`` and rename it, unless another process has done so."""
    part = root.with_name(f"{root.name}.part")
    with _alone(root.with_name(f"{root.name}.lock"), progress):
        if root.is_dir():
            return
        shutil.rmtree(part / "staging", ignore_errors=True)
        missing = [jar for jar in lock.jars if not _have(jar, part, root.parents[1])]
        _check_space(missing, part)
        # a jar that belongs to two folders is fetched once and copied
        once = {jar.filename: jar for jar in missing}
        if missing:
            from windtunnel.engines import maven  # jgo costs 0.2 s, needed only here

            progress.start(name, len(once), sum(jar.size for jar in once.values()))
            try:
                maven.download(list(once.values()), part, progress)
            finally:
                progress.stop()
        for jar in missing:
            if jar is not once[jar.filename] and not _have(jar, part, root.parents[1]):
                raise _damaged(part, f"lost {jar.filename} while it was being assembled")
        _publish(lock, part, root)


def _have(jar: LockedJar, part: Path, artifacts: Path) -> bool:
    """Whether an earlier attempt or another complete set already holds the verified jar."""
    target = part / jar.relative
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_file():
        for twin in artifacts.glob(f"*/*/*/{jar.filename}"):
            with contextlib.suppress(OSError):
                shutil.copyfile(twin, target)
                durable.flush(target)
                break
    if target.is_file() and sha256_of(target) == jar.sha256:
        return True
    target.unlink(missing_ok=True)
    return False


def _check_space(missing: list[LockedJar], part: Path) -> None:
    """Refuse to start a download for which the disk has no room."""
    if not missing:
        return
    needed = sum(jar.size for jar in missing) + SPARE_BYTES
    free = shutil.disk_usage(part).free
    if all(jar.size for jar in missing) and free < needed:
        raise StorageFullError(
            f"the cache {part} does not fit on its disk: {needed / 1e6:.0f} MB are needed, "
            f"{free / 1e6:.0f} MB are free",
            remedy=_MORE_SPACE,
        )


def _publish(lock: Lock, part: Path, root: Path) -> None:
    """Rename a finished ``part`` to ``root``; the rename makes the set complete."""
    shutil.rmtree(part / "staging", ignore_errors=True)
    wanted = {jar.relative for jar in lock.jars}
    for stray in (file for file in part.rglob("*") if file.is_file()):
        if str(stray.relative_to(part)) not in wanted:
            stray.unlink()
    for folder in FOLDERS:
        (part / folder).mkdir(exist_ok=True)
        durable.flush(part / folder)
    _write_marker(lock, part)
    part.rename(root)
    durable.flush(root.parent)


# -- checking ----------------------------------------------------------------------


def _check(lock: Lock, root: Path, rehash: bool) -> None:
    """Refuse a set with a jar that is missing, altered or not in the lock file.

    A missing marker is not an error: every jar is hashed and the marker is written again.
    """
    strangers = _jars_in(root) - {jar.relative for jar in lock.jars}
    if strangers:
        raise _damaged(root, f"holds a jar that the lock file does not name: {min(strangers)}")
    known = {} if rehash else _read_marker(root)
    with _storage_errors(root):
        doubtful = [jar for jar in lock.jars if known.get(jar.relative) != _stamp(root, jar)]
        if not doubtful:
            return
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            digests = list(pool.map(lambda jar: sha256_of(root / jar.relative), doubtful))
    for jar, digest in zip(doubtful, digests, strict=True):
        if digest != jar.sha256:
            raise _damaged(
                root,
                f"holds an altered {jar.filename}: expected SHA-256 {jar.sha256}, got {digest}",
            )
    with contextlib.suppress(OSError):  # a read-only cache is hashed at every start
        _write_marker(lock, root)


def _jars_in(root: Path) -> set[str]:
    return {f"{file.parent.name}/{file.name}" for file in root.glob("*/*.jar")}


def _stamp(root: Path, jar: LockedJar) -> Stamp:
    """Size, times and inode. An ordinary user cannot reset the change time."""
    try:
        facts = (root / jar.relative).stat()
    except FileNotFoundError as problem:
        raise _damaged(root, f"lacks {jar.filename}") from problem
    return [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino]


def _read_marker(root: Path) -> dict[str, Stamp]:
    """The stamps in the marker; none if it is missing or has another format."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        document = json.loads((root / MARKER).read_text(encoding="utf-8"))
        if document["schema"] == MARKER_SCHEMA:
            return dict(document["jars"])
    return {}


def _write_marker(lock: Lock, folder: Path) -> None:
    stamps = {jar.relative: _stamp(folder, jar) for jar in lock.jars}
    text = json.dumps({"schema": MARKER_SCHEMA, "jars": stamps}, indent=1)
    durable.write_text(folder / MARKER, text)


# -- errors and locks --------------------------------------------------------------


def _damaged(root: Path, what: str) -> SetupError:
    return SetupError(
        f"the cache {root} {what}",
        remedy=f"run 'windtunnel clean --cache' or delete {root}, and start again",
    )


def _storage_errors(path: Path) -> contextlib.AbstractContextManager[None]:
    """Convert the system's errors about ``path`` to errors with a remedy."""
    return durable.storage_errors(
        f"the cache {path} cannot be used",
        remedy=f"make it writable, or set {CACHE_VARIABLE} to a directory that is",
        space=_MORE_SPACE,
        error=SetupError,
    )


@contextlib.contextmanager
def _alone(path: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock file ``path``, so that only one process at a time fetches a set."""
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        progress.note("another process is fetching the same jars; waiting for it")
        try:
            lock.acquire(timeout=WAIT_S)
        except filelock.Timeout as problem:
            raise SetupError(
                f"another process has held {path} for {WAIT_S // 60} minutes",
                remedy="end that process, then start again",
            ) from problem
    try:
        yield
    finally:
        lock.release()


def _user_cache() -> Path:
    return Path(platformdirs.user_cache_dir("windtunnel", appauthor=False))
