"""Prepare the calling process before it runs a program of a deployment.

The callers are the supervisor, the child processes that it forks (between fork and exec), and
``enter``. All of them have one thread.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from windtunnel.hosts import syscalls
from windtunnel.hosts.isolation.account import Account
from windtunnel.hosts.isolation.view import Shown, show

Network = Literal["own", "own, with a user namespace", "the machine's"]
"""The network namespace of a deployment, and how it is created."""

ETC = "etc"
"""Folder of a deployment whose files replace those of ``/etc`` for its processes."""

ROOTS_OWN = ("shared", "images", "home", "tmp")
"""Folders in a deployment's scratch folder (the parent of ``home``) that belong to no host."""

_UMASK = 0o022
_ETC = Path("/etc")


@dataclass(frozen=True)
class Place:
    """What a process needs to enter a virtual host.

    ``groups`` are the files to which a process id is written, ``network`` is the file of the
    network namespace, ``etc`` a folder with the host's ``hosts`` (see :func:`replace_in_etc`).
    """

    name: str
    groups: Sequence[Path]
    network: Path
    etc: Path

    def to_json(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_json` creates an equal object."""
        words = {"name": self.name, "network": str(self.network), "etc": str(self.etc)}
        return {**words, "groups": [str(group) for group in self.groups]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Place:
        """The object that :meth:`to_json` has written."""
        groups = [Path(group) for group in data["groups"]]
        return cls(data["name"], groups, Path(data["network"]), Path(data["etc"]))


@dataclass(frozen=True)
class Confinement:
    """The account of a deployment's processes, and the files that they see.

    ``etc`` is a folder with the user database (see :func:`replace_in_etc`), None if the machine's
    user database has the account; ``home`` is the account's home folder.
    """

    account: Account
    home: Path
    tmp: Path
    shown: Sequence[Shown]
    etc: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_json` creates an equal object."""
        shown = [[str(s.source), str(s.target), s.writable, s.mapped] for s in self.shown]
        return {
            "account": asdict(self.account),
            "home": str(self.home),
            "tmp": str(self.tmp),
            "shown": shown,
            "etc": self.etc and str(self.etc),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Confinement:
        """The object that :meth:`to_json` has written."""
        shown = [Shown(Path(a), Path(b), *modes) for a, b, *modes in data["shown"]]
        account, etc = Account(**data["account"]), data["etc"] and Path(data["etc"])
        return cls(account, Path(data["home"]), Path(data["tmp"]), shown, etc)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that name the account."""
        name = self.account.name
        return {"USER": name, "LOGNAME": name, "HOME": str(self.home)}


def enter_own_network(network: Network) -> None:
    """Move this process to a new network namespace with its own loopback interface.

    Raises OSError if the kernel or its policy forbids it.
    """
    if network == "the machine's":
        return
    if network == "own":
        syscalls.unshare(syscalls.CLONE_NEWNET)
    else:
        user, group = os.geteuid(), os.getegid()
        syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNET)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    syscalls.raise_loopback()


def own_mounts() -> None:
    """Give this process a copy of all mounts; unmounts of the originals apply to it, too.

    Raises OSError.
    """
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("none", Path("/"), flags=syscalls.MS_REC | syscalls.MS_SLAVE)


def become(
    place: Place | None,
    confinement: Confinement | None = None,
    users: int = 0,
    reads: Sequence[Path] = (),
) -> None:
    """Enter a virtual host and switch to an account, if they are given. Raises OSError.

    Parameters
    ----------
    users:
        User namespace that maps user 0 to the account.
    reads:
        Files and folders that this process reads in addition to those of all processes.
    """
    if place is not None:
        for group in place.groups:
            group.write_text(str(os.getpid()))
        syscalls.enter_namespace(place.network, syscalls.CLONE_NEWNET)
        syscalls.unshare(syscalls.CLONE_NEWUTS)
        socket.sethostname(place.name)
    if place is not None or confinement is not None:
        own_mounts()
    folders = {place.etc if place else None, confinement.etc if confinement else None}
    for etc in folders - {None}:
        assert etc is not None
        replace_in_etc(etc)
    if confinement is not None:
        _confine(confinement, users, reads)


def replace_in_etc(folder: Path) -> None:
    """Replace files of ``/etc`` with the files of a folder that have the same names.

    An overlay over the folder does that: a mount over one file would disappear as soon as that
    file is replaced on the machine, for example by ``useradd``. If the kernel has no overlays,
    single files are mounted nevertheless. Raises OSError.
    """
    layers = ":".join(str(layer).replace(":", "\\:") for layer in (folder, _ETC))
    try:
        syscalls.mount("overlay", _ETC, "overlay", options=f"lowerdir={layers}")
    except OSError:
        for file in folder.iterdir():
            syscalls.mount(str(file), _ETC / file.name, flags=syscalls.MS_BIND)


def _confine(confinement: Confinement, users: int, reads: Sequence[Path]) -> None:
    cwd = Path.cwd()
    os.umask(_UMASK)  # root's may differ: the account must be able to enter the created folders
    hosts = (place for place in confinement.home.parent.iterdir() if place.is_dir())
    shown = [*confinement.shown, *(Shown(path, path) for path in reads)]
    shown += [Shown(path, path, writable=True) for path in hosts if path.name not in ROOTS_OWN]
    show(shown, confinement.tmp, users)
    account = confinement.account
    os.setgroups([])
    os.setgid(account.gid)
    os.setuid(account.uid)
    os.chdir(cwd)  # the same folder in the new view


def bind_to(parent: int) -> None:
    """Make this process end with its parent, and gain no rights by programs that it starts.

    Call this after a change of the account, which resets the former.
    """
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has already died: no signal will arrive
        os._exit(1)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
