"""Run a command as another account, as a program with a JSON object as its argument.

The account sees this checkout, Python and the cache of jars as its own, wherever they lie (see
``hosts/isolation/view.py``), and has a home of its own. ``uid``, ``gid``, ``shown`` (folders),
``tmp`` (its /tmp), ``argv``, ``env``, ``cwd``; with ``no_namespaces`` the kernel makes none for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.intruder import Other
from windtunnel.engines.artifacts import cache_root
from windtunnel.engines.java import homes_in_use
from windtunnel.hosts import syscalls
from windtunnel.hosts.isolation.confine import own_mounts
from windtunnel.hosts.isolation.view import Shown, show, user_map

PR_SET_DUMPABLE = 4  # prctl(2)
CHECKOUT = Path(__file__).parents[2]


def start(
    account: Other, home: Path, argv: Sequence[str], *, no_namespaces: bool = False, **env: str
) -> subprocess.Popen[str]:
    """Start a command as an account whose files lie in ``home``."""
    tmp = home / "tmp"
    tmp.mkdir(exist_ok=True)  # root's on the disk, and so the account's in the view
    os.chown(home, account.uid, account.gid)
    folders = [CHECKOUT, Path(sys.prefix), Path(sys.base_prefix), cache_root(), *homes_in_use()]
    order = {
        "uid": account.uid,
        "gid": account.gid,
        "shown": [str(folder) for folder in dict.fromkeys(folders)],
        "tmp": str(tmp),
        "argv": list(argv),
        "env": {"PATH": os.environ["PATH"], "HOME": str(home), "USER": account.name}
        | {"WINDTUNNEL_CACHE": str(cache_root()), "PYTHONPATH": str(CHECKOUT)}
        | env,
        "cwd": str(home),
        "no_namespaces": no_namespaces,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.as_account", json.dumps(order)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(account: Other, home: Path, argv: Sequence[str], **more: Any) -> tuple[int, str]:
    """Run such a command to its end; its exit code and what it wrote."""
    with start(account, home, argv, **more) as process:
        text, _ = process.communicate(timeout=300)
        return process.returncode, text


def main(order: dict[str, Any]) -> None:
    own_mounts()
    with user_map(order["uid"], order["gid"]) as users:
        shown = [Shown(Path(folder), Path(folder), writable=True) for folder in order["shown"]]
        show(shown, Path(order["tmp"]), users)
    os.setgroups([])
    os.setgid(order["gid"])
    os.setuid(order["uid"])
    os.chdir(order["cwd"])
    if order["no_namespaces"]:
        _forbid_namespaces(order["uid"], order["gid"])
    os.execvpe(order["argv"][0], order["argv"], order["env"])


def _forbid_namespaces(uid: int, gid: int) -> None:
    """Go on in a user namespace that permits no other below it: as sysctl does for a machine."""
    syscalls.prctl(PR_SET_DUMPABLE, 1)  # else /proc/self belongs to root after the change
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
