"""CephFS mounted with ceph-fuse, for one program, in a mount namespace of its own."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from windtunnel.errors import SetupError

INSTALL: Final = "apt-get install --no-install-recommends ceph-fuse"
_MOUNT_LIMIT_S: Final = 30
_NEEDED: Final = ("ceph-fuse", "unshare", "setpriv", "mountpoint")


def check() -> None:
    """Raise SetupError, with the remedy, if CephFS cannot be mounted here."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise SetupError(
            "a mount of CephFS needs root and /dev/fuse", remedy="run the command as root."
        )
    lacking = [name for name in _NEEDED if shutil.which(name) is None]
    if lacking:
        raise SetupError(
            f"a mount of CephFS needs {', '.join(lacking)}", remedy=f"on Debian: {INSTALL}."
        )


def command(conf: Path, work: Path, program: Sequence[str]) -> list[str]:
    """A command line that mounts CephFS twice, and runs a program with two of its folders.

    The mounts are two clients of Ceph. The program gets one new folder as each of them sees it.
    Mounts and processes end with the caller, also after SIGKILL: they are in namespaces of their
    own. The mounts check permissions, with the rights of ``client.admin``.

    Parameters
    ----------
    conf:
        ``ceph.conf`` with the key of ``client.admin``.
    work:
        A folder for the mount points.
    """
    points = [work / "mount-1", work / "mount-2"]
    lines = ["set -e"]
    for point in points:
        words = ["ceph-fuse", "-f", "-n", "client.admin", "-c", str(conf)]
        words += ["--client_permissions=true", "--client_acl_type=posix_acl", str(point)]
        lines.append(f"mkdir -p {shlex.quote(str(point))}")
        lines.append(f"{shlex.join(words)} >&2 &")
    for point in points:
        name = shlex.quote(str(point))
        lines.append(
            f"for i in $(seq {_MOUNT_LIMIT_S * 10}); do mountpoint -q {name} && break; "
            "sleep 0.1; done"
        )
        lines.append(f"mountpoint -q {name}")
    lines.append(shlex.join([*program, *(str(point / "checks") for point in points)]))
    alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"]
    return ["setpriv", "--pdeathsig", "KILL", *alone, "/bin/sh", "-c", "\n".join(lines)]
