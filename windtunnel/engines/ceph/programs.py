"""Ceph's own programs, which are packages of the operating system."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from windtunnel.engines.ceph.admin import PYTHON
from windtunnel.engines.ceph.site import MDS, MGR, MON, OSD, Daemon
from windtunnel.errors import SetupError

LIBRARY: Final = Path("/usr/share/java/libcephfs.jar")
"""Java's binding of CephFS: the package libcephfs-java."""
PACKAGES: Final = (
    "ceph-mon",
    "ceph-mgr",
    "ceph-osd",
    "ceph-mds",
    "ceph-common",
    "libcephfs-java",
    "libcephfs-jni",
)
INSTALL: Final = f"apt-get install --no-install-recommends {' '.join(PACKAGES)}"
_PROGRAMS: Final = {role: f"ceph-{role}" for role in (MON, MGR, OSD, MDS)}
_MODULES: Final = "import rados, cephfs"
_LIMIT_S: Final = 30


def missing() -> list[str]:
    """The programs and libraries of Ceph that this machine lacks."""
    found = [name for name in _PROGRAMS.values() if shutil.which(name) is None]
    if not LIBRARY.exists():
        found.append(LIBRARY.name)
    if not found and not _has_modules():
        found.append("the Python modules rados and cephfs")
    return found


def check() -> None:
    """Raise SetupError, with the command that installs it, if anything of Ceph is missing."""
    if sys.platform != "linux":
        raise SetupError(
            f"Ceph's daemons run on Linux only, but this machine is {sys.platform}",
            remedy="use storage of kind hdfs, or a machine with Linux.",
        )
    lacking = missing()
    if lacking:
        raise SetupError(
            f"storage of kind cephfs needs Ceph, but this machine lacks {', '.join(lacking)}",
            remedy=f"on Debian: {INSTALL}.",
        )


def version() -> str:
    """What ``ceph-osd --version`` prints; empty if it does not start."""
    try:
        done = subprocess.run(
            [_PROGRAMS[OSD], "--version"],
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


def _base(daemon: Daemon, conf: Path) -> list[str]:
    folder = f"--{daemon.role}-data={daemon.folder}"
    return [_PROGRAMS[daemon.role], "-c", str(conf), "-i", daemon.id, folder]


def _words(options: Mapping[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in options.items()]
