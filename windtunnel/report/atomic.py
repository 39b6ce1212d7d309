"""Writing a report file whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from windtunnel.errors import ResultsError, StorageFullError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``: beside it, synced, then renamed over it.

    A path that is no regular file (a pipe, a terminal) is written to directly.

    Raises
    ------
    StorageFullError
        If the device or the quota is full; an older file at ``path`` stays as it was.
    ResultsError
        If the path cannot be written.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
        else:
            _replace(path, content)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _FULL:
            raise StorageFullError(
                f"{path} cannot be written: {reason}",
                remedy="free some space or give a path on another disk.",
            ) from error
        raise ResultsError(
            f"{path} cannot be written: {reason}",
            remedy="give a path in a folder that exists and that you may write to.",
        ) from error


def _replace(path: Path, content: bytes) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
