"""The files of this machine that processes with an account of their own see.

The folders that they need may be below a folder that they cannot enter, such as ``/root``. In the
process's mount namespace, an empty folder covers each such folder, and the needed folders are
mounted at their usual paths. These mounts are ID-mapped: in them, files of root belong to the
account, and files that the account creates belong to root on the disk. ``/tmp`` is a folder of
the deployment.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from windtunnel.hosts import syscalls

_TMP = Path("/tmp")
_TRAVERSABLE, _READABLE = 0o001, 0o005


@dataclass(frozen=True)
class Shown:
    """A folder or file that the processes see at ``target``.

    Without ``mapped``, it keeps its owners: a file system may not permit ID-mapped mounts.
    """

    source: Path
    target: Path
    writable: bool = False
    mapped: bool = True


def show(entries: Iterable[Shown], tmp: Path, users: int) -> None:
    """Set up the view for this process, which has its own mount namespace. Raises OSError.

    Parameters
    ----------
    entries:
        What it sees; entries that every account can read are not changed.
    tmp:
        Folder of the deployment that becomes ``/tmp``.
    users:
        User namespace that maps user 0 to the account.
    """
    given = list(entries)
    needed = [
        entry
        for entry in given
        if entry.source.exists() and not _open_to_all(entry) and not _within(entry, given)
    ]
    needed.sort(key=lambda entry: len(entry.target.parts))  # an outer folder before an inner one
    # whether an entry is a folder must be determined now: the covers will hide it
    copies = [(_copy(entry, users), entry.target, entry.source.is_dir()) for entry in needed]
    own_tmp = syscalls.clone_mount(tmp, recursive=False)
    syscalls.set_mount(own_tmp, users, writable=True, recursive=False)
    for _, target, folder in copies:  # in the folder that becomes /tmp, while it is accessible
        if target.is_relative_to(_TMP):
            _make_target(tmp / target.relative_to(_TMP), folder)
    covered = sorted({top for entry in needed if (top := _closed(entry.target))})
    syscalls.attach_mount(own_tmp, _TMP)
    for closed in covered:
        if not closed.is_relative_to(_TMP):
            syscalls.mount("tmpfs", closed, "tmpfs", options="mode=755,size=1m")
    for copy, target, folder in copies:
        if not target.is_relative_to(_TMP):
            _make_target(target, folder)
        syscalls.attach_mount(copy, target)
        os.close(copy)


def _copy(entry: Shown, users: int) -> int:
    """A detached, ID-mapped clone; entries that are only read may keep their owners."""
    copy = syscalls.clone_mount(entry.source, recursive=entry.writable)
    if not entry.mapped:
        return copy
    try:
        syscalls.set_mount(copy, users, writable=entry.writable, recursive=entry.writable)
    except OSError as error:
        if entry.writable or error.errno not in (errno.EINVAL, errno.EPERM):
            raise
        syscalls.set_mount(copy, None, writable=False, recursive=False)
    return copy


def _open_to_all(entry: Shown) -> bool:
    """Whether every account can read it at its own path."""
    if entry.writable or entry.source != entry.target or entry.target.is_relative_to(_TMP):
        return False
    return _closed(entry.target) is None and _mode(entry.target) & _READABLE == _READABLE


def _within(entry: Shown, others: Iterable[Shown]) -> bool:
    """Whether another shown entry contains it."""
    return (
        not entry.writable
        and entry.source == entry.target
        and any(
            other.target in entry.target.parents and other.source == other.target
            for other in others
        )
    )


def _closed(path: Path) -> Path | None:
    """The outermost parent of a path that not every account can enter."""
    return next((p for p in reversed(path.parents) if not _mode(p) & _TRAVERSABLE), None)


def _mode(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mode
    return _TRAVERSABLE  # it will be created if needed


def _make_target(target: Path, folder: bool) -> None:
    """A folder or a file to mount on."""
    if folder:
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()


@contextlib.contextmanager
def user_map(uid: int, gid: int) -> Iterator[int]:
    """A user namespace that maps user and group 0 to others, for ID-mapped mounts.

    Raises OSError.
    """
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(go[1])
            syscalls.unshare(syscalls.CLONE_NEWUSER)
            os.write(ready[1], b"1")
            os.read(go[0], 1)
        finally:
            os._exit(0)
    try:
        os.close(ready[1])
        if not os.read(ready[0], 1):
            raise OSError(errno.EPERM, "no user namespace can be created")
        Path(f"/proc/{child}/uid_map").write_text(f"0 {uid} 1")
        Path(f"/proc/{child}/gid_map").write_text(f"0 {gid} 1")
        handle = os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for end in (ready[0], go[0], go[1]):
            os.close(end)
        os.waitpid(child, 0)
    try:
        yield handle
    finally:
        os.close(handle)
