"""The lock of a deployment's owner, which the kernel releases when the process ends.

It needs no number of a process, so that it is valid in all containers that share the folder.
Source: flock(2). A child has it only until its program starts, because the handle is closed then.
The library filelock would replace it by a file with a process number where a file system has no
locks.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

LOCK = "owner.lock"
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


def take(folder: Path) -> int | None:
    """Lock a folder until the handle is closed or this process ends.

    Returns None if the file system has no locks. Raises OSError if the file cannot be created.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def held(folder: Path) -> bool | None:
    """Whether a process holds the lock of a folder; None if the folder has no lock."""
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        # shared: two processes that look at the same time do not see each other
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return True if error.errno in _HELD else None
    finally:
        os.close(handle)
    return False
