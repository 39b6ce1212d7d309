"""Folders that no other account can change."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from windtunnel.errors import NotRealisableError

_PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ALL_IDS = 2**32 - 1


def make_private(folder: Path) -> None:
    """Make a folder that only this account can read, or make an existing one so.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) != _PRIVATE:
        folder.chmod(_PRIVATE)


def refuse_shared(folder: Path, setting: str) -> None:
    """See that no other account can change a folder, or put another one in its place.

    Parameters
    ----------
    folder:
        It need not be there yet; what is there of the way to it counts.
    setting:
        What names the folder, for the remedy.

    Raises
    ------
    NotRealisableError
        If another account can.
    """
    for place in (folder, *folder.parents):
        if not place.exists():
            continue
        found = place.stat()
        if found.st_uid not in _trusted():
            why = f"belongs to another account (user id {found.st_uid})"
            remedy = f"name a folder of your own: {setting}."
        elif _others_may_write(found):
            why = f"can be written by others (mode {stat.S_IMODE(found.st_mode):o})"
            remedy = f"chmod go-w {place}, or name another folder: {setting}."
        else:
            continue
        raise NotRealisableError(
            f"{place} {why}: what runs from {folder} could be replaced", remedy=remedy
        )


def _others_may_write(found: os.stat_result) -> bool:
    mode = found.st_mode & _OTHERS_WRITE
    if mode & stat.S_IWGRP and found.st_gid in (0, os.getegid()):
        mode &= ~stat.S_IWGRP  # root's group, or the user's own, as many systems have it
    return bool(mode) and not found.st_mode & stat.S_ISVTX  # sticky: only for names of their own


def _trusted() -> set[int]:
    """This user, root, and in a user namespace what is owned outside of it."""
    trusted = {0, os.geteuid()}
    try:
        mapped = int(Path("/proc/self/uid_map").read_text().split()[2])
        if mapped < _ALL_IDS:
            trusted.add(int(Path("/proc/sys/kernel/overflowuid").read_text()))
    except (OSError, ValueError, IndexError):
        return trusted  # no Linux
    return trusted
