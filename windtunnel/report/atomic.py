"""Atomic writes of report files."""

from __future__ import annotations

import errno
from pathlib import Path

from windtunnel import durable


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``; if that fails, the file does not change.

    A path that is not a regular file (a pipe, a terminal) is written directly.

    Raises
    ------
    StorageFullError
        If the device or the quota is full.
    ResultsError
        If the path cannot be written.
    """
    with durable.storage_errors(
        f"{path} cannot be written",
        remedy="give a path in a folder that exists and that you may write to.",
        space="free some space or give a path on another disk.",
    ):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            durable.write_bytes(path, content)
