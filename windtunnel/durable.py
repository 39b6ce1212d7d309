"""Files that are complete or absent after a crash, and write errors with a remedy.

A file is written in the same folder under a name that ends with ``.new``, flushed to the disk
and renamed; then the folder is flushed, because a power failure may otherwise undo the rename.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windtunnel.errors import ResultsError, StorageFullError, WindtunnelError

UNFINISHED = ".new"
"""Suffix of the names of files that are not complete yet."""

# EFBIG: the limit of the process for the size of a file (``ulimit -f``)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically: after a crash it has its new or its old content. Raises OSError."""
    # The name is random, because two processes may write the same file, and has a limited length.
    new = path.with_name(f".{path.name[:64]}.{os.urandom(4).hex()}{UNFINISHED}")
    try:
        write_flushed(new, data)
        move_into_place(new, path, flushed=True)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 with :func:`write_bytes`."""
    write_bytes(path, text.encode())


def write_flushed(path: Path, data: bytes) -> None:
    """Write and flush a file of a folder that will be renamed later. Raises OSError."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def append(path: Path, data: bytes) -> None:
    """Append to a file; after the return, the data survives a power failure. Raises OSError."""
    made = not path.exists()
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if made:
        flush(path.parent)


def move_into_place(new: Path, path: Path, *, flushed: bool = False) -> Path:
    """Rename a complete file to its final name; ``flushed``: it is on the disk already."""
    if not flushed:
        flush(new)
    new.replace(path)
    flush(path.parent)
    return path


def flush(path: Path) -> None:
    """Flush a file or folder to the disk, to survive a power failure. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_full(error: OSError) -> bool:
    """Whether the device, the user's quota or the limit of the process is exhausted."""
    return error.errno in _FULL


@contextmanager
def storage_errors(
    problem: str,
    *,
    remedy: str,
    space: str = "free some space and run the same command again.",
    error: type[WindtunnelError] = ResultsError,
) -> Iterator[None]:
    """Convert errors of the operating system into errors with a remedy.

    Parameters
    ----------
    problem:
        The problem, such as ``DIR cannot be written``; the system's reason is added.
    remedy, space:
        The remedies; ``space`` is the one if no space is left.
    error:
        The class of the error for all other reasons.

    Raises
    ------
    StorageFullError
        If no space is left.
    WindtunnelError
        ``error``, for any other OSError.
    """
    try:
        yield
    except OSError as caught:
        message = f"{problem}: {caught.strerror or caught}"
        if is_full(caught):
            raise StorageFullError(message, remedy=space) from caught
        raise error(message, remedy=remedy) from caught
