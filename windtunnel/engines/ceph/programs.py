"""Ceph's own programs, which are packages of the operating system."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windtunnel.engines.ceph.admin import PYTHON
from windtunnel.engines.ceph.site import OSD, RGW, Daemon
from windtunnel.errors import SetupError

LIBRARY: Final = Path("/usr/share/java/libcephfs.jar")
"""Java's binding of CephFS: the package libcephfs-java."""
_MODULES: Final = "import rados, cephfs"
_LIMIT_S: Final = 30


@dataclass(frozen=True)
class Needs:
    """The programs and the library that a storage system needs, and the packages that have them."""

    programs: tuple[str, ...]
    packages: tuple[str, ...]
    library: Path | None = None

    @property
    def install(self) -> str:
        """The command that installs the packages on Debian."""
        return f"apt-get install --no-install-recommends {' '.join(self.packages)}"


_ALL: Final = ("ceph-mon", "ceph-mgr", "ceph-osd")
CEPHFS: Final = Needs(
    (*_ALL, "ceph-mds"),
    (*_ALL, "ceph-mds", "ceph-common", "libcephfs-java", "libcephfs-jni"),
    LIBRARY,
)
FUSE: Final = Needs(
    (*_ALL, "ceph-mds", "ceph-fuse"), (*_ALL, "ceph-mds", "ceph-common", "ceph-fuse")
)
CEPHFS_CLIENT: Final = Needs((), ("libcephfs-java", "libcephfs-jni"), LIBRARY)
GATEWAY: Final = Needs((*_ALL, "radosgw", "radosgw-admin"), (*_ALL, "ceph-common", "radosgw"))


def missing(needs: Needs) -> list[str]:
    """The programs and libraries of Ceph that this machine lacks."""
    found = [name for name in needs.programs if shutil.which(name) is None]
    if needs.library is not None and not needs.library.exists():
        found.append(needs.library.name)
    if needs.programs and not found and not _has_modules():
        found.append("the Python modules rados and cephfs")
    return found


def check(needs: Needs, kind: str) -> None:
    """Raise SetupError, with the command that installs it, if anything of Ceph is missing.

    ``kind`` is the kind of storage, for the message.
    """
    if sys.platform != "linux":
        raise SetupError(
            f"Ceph's daemons run on Linux only, but this machine is {sys.platform}",
            remedy="use storage of kind hdfs, or a machine with Linux.",
        )
    lacking = missing(needs)
    if lacking:
        raise SetupError(
            f"storage of kind {kind} needs Ceph, but this machine lacks {', '.join(lacking)}",
            remedy=f"on Debian: {needs.install}.",
        )


def version() -> str:
    """What ``ceph-osd --version`` prints; empty if it does not start."""
    try:
        done = subprocess.run(
            ["ceph-osd", "--version"],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _has_modules() -> bool:
    try:
        argv = [PYTHON, "-c", _MODULES]
        done = subprocess.run(argv, capture_output=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def run(daemon: Daemon, conf: Path, options: Mapping[str, str]) -> list[str]:
    """The command line of a daemon that stays in the foreground."""
    return [*_base(daemon, conf), "-f", *_words(options)]


def create(daemon: Daemon, conf: Path, options: Mapping[str, str]) -> list[str]:
    """The command line that fills the data folder of a monitor or an OSD."""
    more = ["--no-mon-config"] if daemon.role == OSD else []
    return [*_base(daemon, conf), "--mkfs", *_words(options), *more]


def in_folder(daemon: Daemon, *commands: Sequence[str]) -> list[str]:
    """A command line that creates the data folder and runs commands until one fails."""
    *most, last = (shlex.join(words) for words in commands)
    steps = [shlex.join(["mkdir", "-p", str(daemon.folder)]), *most, f"exec {last}"]
    return ["/bin/sh", "-c", " && ".join(steps)]


def administer(daemon: Daemon, conf: Path, *words: str) -> list[str]:
    """The command line of ``radosgw-admin`` with the key of a gateway."""
    return ["radosgw-admin", "-c", str(conf), "-n", daemon.entity, *words]


def into_file(command: Sequence[str], path: Path) -> list[str]:
    """A command line that writes the output of a command to a file of this account alone."""
    redirected = f"{shlex.join(command)} > {shlex.quote(str(path))}"
    return ["/bin/sh", "-c", f"umask 077; exec {redirected}"]


def _base(daemon: Daemon, conf: Path) -> list[str]:
    if daemon.role == RGW:
        return ["radosgw", "-c", str(conf), "-n", daemon.entity]
    folder = f"--{daemon.role}-data={daemon.folder}"
    return [f"ceph-{daemon.role}", "-c", str(conf), "-i", daemon.id, folder]


def _words(options: Mapping[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in options.items()]
