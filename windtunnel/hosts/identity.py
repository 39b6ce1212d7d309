"""The identity of a process: a number of a process is given again after its end."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import psutil

_MACHINE_ID = Path("/etc/machine-id")
_NO_ID = (b"", b"uninitialized")  # machine-id(5)
_PROCESSES = Path("/proc/self/ns/pid")
_SAME_START_S = 1.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19  # of /proc/PID/stat, counted from the state: field 22 (proc_pid_stat(5))


def identity(pid: int) -> list[int | float | str]:
    """Number and start of a process, for :func:`alive`, as plain data.

    On Linux the start is in clock ticks since the boot with this id, which does not change if the
    clock is set. Elsewhere it is epoch seconds.

    Raises
    ------
    psutil.Error
        If there is no such process.
    """
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return [pid, int(words[_START_FIELD]), _BOOT.read_text().strip()]
    except (OSError, LookupError, ValueError):
        return [pid, psutil.Process(pid).create_time()]


def machine_id() -> str:
    """A hash of the id of this machine, which programs should not publish; empty if it has none.

    Source: machine-id(5).
    """
    with contextlib.suppress(OSError):
        text = _MACHINE_ID.read_bytes().strip()
        if text not in _NO_ID:
            return hashlib.sha256(text).hexdigest()[:16]
    return ""


def process_namespace() -> str:
    """The namespace in which numbers of processes have the same meaning; empty without any."""
    with contextlib.suppress(OSError):
        return str(_PROCESSES.readlink())
    return ""


def of_this_boot(stored: object) -> bool:
    """Whether an :func:`identity` is of this kernel since its start, so that `alive` is exact."""
    if not isinstance(stored, list):
        return False
    with contextlib.suppress(OSError):
        return stored[2:] == [_BOOT.read_text().strip()]
    return False


def alive(stored: object) -> bool:
    """Whether the process whose :func:`identity` was stored still runs.

    Entries with number and epoch seconds, those of earlier versions, are understood everywhere.
    """
    if not isinstance(stored, list) or len(stored) < 2:
        return False
    pid, start, *boot = stored
    try:
        if boot:
            return identity(int(pid)) == [pid, start, *boot]
        return abs(psutil.Process(int(pid)).create_time() - float(start)) < _SAME_START_S
    except (psutil.Error, ValueError, TypeError):
        return False
