"""Undo a fabric: one function for each kind of record in its ledger.

The supervisor does this after the death of the program that built the fabric; it is also a
program, ``python -m windtunnel.hosts.fabric.undo FOLDER``. Every function accepts that the
object does not exist, and changes nothing whose name or content is not the deployment's.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

from windtunnel.hosts import syscalls
from windtunnel.hosts.fabric.ledger import Record, Undo, read
from windtunnel.hosts.fabric.ledger import undo as undo_ledger

_PATIENCE_S = 5.0
_STEP_S = 0.02
_DEPLOYMENT = re.compile(r"(.*?)(/deployments/wt-[0-9a-f]{8}/.*)", re.DOTALL)
_GONE = (errno.ENOENT, errno.ENXIO, errno.ENODEV)


def undo(folder: Path) -> list[str]:
    """End the processes in a fabric, then undo it; returns what could not be undone."""
    groups = []
    with contextlib.suppress(OSError):  # then the ledger is not undone, which is reported below
        groups = [Path(str(one.get("path"))) for one in read(folder) if one.get("kind") == "cgroup"]
    deadline = time.monotonic() + _PATIENCE_S
    while sum(_end_members(group) for group in groups) and time.monotonic() < deadline:
        time.sleep(_STEP_S)  # open files of the processes would keep the disks busy
    return undo_ledger(folder, KINDS)


def _end_members(group: Path) -> bool:
    """Send SIGKILL to the processes of a group; returns whether there were any."""
    pids: list[str] = []
    with contextlib.suppress(OSError):  # the group does not exist
        pids = (group / "cgroup.procs").read_text().split()
    for pid in filter(lambda pid: pid != "0", pids):  # 0: of another process namespace
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    return bool(pids)


def _netns(record: Record) -> None:
    """{path}: the file on which a network namespace is mounted."""
    _mount(record)
    Path(str(record["path"])).unlink(missing_ok=True)


def _mount(record: Record) -> None:
    """{path}: a mount point; all mounts there are removed."""
    path = Path(_real(str(record["path"])))
    deadline = time.monotonic() + _PATIENCE_S
    while str(path) in mount_points():
        try:
            # it is busy for a moment after its last process died; after the deadline it is only
            # detached, and removed with the last open file
            syscalls.unmount(path, lazily=time.monotonic() > deadline)
        except OSError:
            if time.monotonic() > deadline + _PATIENCE_S:
                raise
            time.sleep(_STEP_S)


def _loop(record: Record) -> None:
    """{index, image}: a loop device; it is kept if it holds another image."""
    index, own = int(str(record["index"])), _real(str(record["image"]))
    deadline = time.monotonic() + _PATIENCE_S
    while Path(f"/sys/block/loop{index}").exists():
        image = syscalls.loop_fact(index, "backing_file")
        if image and image.removesuffix(" (deleted)") != own:
            return
        try:
            syscalls.loop_detach(index)
            syscalls.loop_remove(index)
        except OSError as error:  # the detachment ends when the last user closes the device
            if error.errno in _GONE:
                continue
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(_STEP_S)


def _cgroup(record: Record) -> None:
    """{path}: a control group; processes that still run in it are killed."""
    path = Path(str(record["path"]))
    deadline = time.monotonic() + _PATIENCE_S
    while path.is_dir():
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            _end_members(path)
            time.sleep(_STEP_S)


def _value(record: Record) -> None:
    """{path, text}: a kernel file and the text that restores its value or removes its rule.

    A controller that others use meanwhile stays enabled.
    """
    path = Path(str(record["path"]))
    try:
        path.write_text(str(record["text"]))
    except OSError as error:
        used = error.errno == errno.EBUSY and path.name == "cgroup.subtree_control"
        if error.errno not in _GONE and not used:
            raise


def _folder(record: Record) -> None:
    """{path}: a folder of the deployment."""
    shutil.rmtree(str(record["path"]), ignore_errors=True)


KINDS: dict[str, Undo] = {
    "netns": _netns,
    "mount": _mount,
    "loop": _loop,
    "cgroup": _cgroup,
    "value": _value,
    "folder": _folder,
}


def _real(path: str) -> str:
    """A path as the kernel reports it, without the symbolic links of the state folder.

    Ledgers of earlier versions contain them. Links below the folder of the deployment are not
    followed, because its processes could have made them.
    """
    found = _DEPLOYMENT.fullmatch(path)
    return os.path.realpath(found[1]) + found[2] if found else path


def mount_points() -> set[str]:
    """All mount points in this process's mount namespace."""
    lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    return {_plain(line.split(b" ")[4]) for line in lines}


def _plain(escaped: bytes) -> str:
    """A path of mountinfo, in which white space is escaped as octal numbers (proc(5))."""
    for code, byte in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n")):
        escaped = escaped.replace(code, byte)
    return os.fsdecode(escaped.replace(b"\\134", b"\\"))


if __name__ == "__main__":
    for problem in undo(Path(sys.argv[1])):
        sys.stderr.write(f"not undone: {problem}\n")
