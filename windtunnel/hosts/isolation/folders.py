"""Folders and files that no other account can change or redirect with a link."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from windtunnel.errors import NotRealisableError

_PRIVATE = 0o700
_ALL_IDS = 2**32 - 1
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def make_private(folder: Path) -> None:
    """Create a folder that only this account can read, or restrict an existing one.

    Raises
    ------
    OSError
        If it cannot be created, or belongs to another account.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_PRIVATE, exist_ok=True)
    handle = os.open(folder, _FOLDER)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            raise PermissionError(f"{folder} belongs to another account")
        os.fchmod(handle, _PRIVATE)
    finally:
        os.close(handle)


def refuse_shared(folder: Path, setting: str) -> None:
    """Check that no other account can change or replace a folder.

    Parameters
    ----------
    folder:
        It need not exist yet; its existing parents are checked.
    setting:
        The setting that names the folder, for the remedy.

    Raises
    ------
    NotRealisableError
        If another account can change or replace it.
    """
    for place in _way_to(folder):
        found = place.lstat()
        if found.st_uid not in _trusted():
            why = f"belongs to another account (user id {found.st_uid})"
            remedy = f"name a folder of your own: {setting}."
        elif _others_may_write(found, sticky_is_safe=place != folder):
            why = f"can be written by others (mode {stat.S_IMODE(found.st_mode):o})"
            remedy = f"chmod go-w {place}, or name another folder: {setting}."
        else:
            continue
        raise NotRealisableError(
            f"{place} {why}: another account could replace programs in {folder}", remedy=remedy
        )


def _way_to(folder: Path) -> Iterator[Path]:
    """The folder and all its parents, and the same for the targets of links."""
    for place in (folder, *folder.parents):
        if place.is_symlink():
            yield place
            yield from _way_to(place.resolve())
        elif place.exists():
            yield place


def _others_may_write(found: os.stat_result, *, sticky_is_safe: bool) -> bool:
    if stat.S_ISLNK(found.st_mode):
        return False  # the rights on its parent folder decide
    if sticky_is_safe and found.st_mode & stat.S_ISVTX:
        return False  # others can only add names
    by_group = found.st_mode & stat.S_IWGRP and not _group_is_one_user(found.st_gid)
    return bool(by_group or found.st_mode & stat.S_IWOTH)


def _group_is_one_user(gid: int) -> bool:
    """Whether a group is root's or has only this user, as many systems create one per user."""
    if gid == 0:
        return True
    try:
        own = pwd.getpwuid(os.geteuid())
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == own.pw_name and set(group.gr_mem) <= {own.pw_name}


def _trusted() -> set[int]:
    """Ids of this user, of root and, in a user namespace, of owners outside of it."""
    trusted = {0, os.geteuid()}
    try:
        mapped = int(Path("/proc/self/uid_map").read_text().split()[2])
        if mapped < _ALL_IDS:
            trusted.add(int(Path("/proc/sys/kernel/overflowuid").read_text()))
    except (OSError, ValueError, IndexError):
        return trusted  # not Linux
    return trusted


def write_below(root: Path, path: Path, content: str | bytes) -> None:
    """Write a file below a folder and create its parents; no link on the path is followed.

    This is for folders in which processes of another account can write.

    Raises
    ------
    OSError
        If the file or a folder on the path is a link, or cannot be created.
    """
    *folders, name = path.relative_to(root).parts
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, dir_fd=handle)
            inner = os.open(folder, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        file = os.open(name, flags, 0o644, dir_fd=handle)
        with os.fdopen(file, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
    finally:
        os.close(handle)
