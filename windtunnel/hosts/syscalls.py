"""System calls that Python lacks: mounts, namespaces, loop devices, process attributes.

They are called in this process and not through programs: a program that Windtunnel started
could still run after Windtunnel was killed, and change the machine after the undo.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

CLONE_NEWNS, CLONE_NEWUTS = 0x00020000, 0x04000000  # unshare(2)
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
MS_NOATIME, MS_BIND, MS_REC = 1 << 10, 1 << 12, 1 << 14  # mount(2)
MS_SLAVE, MS_SHARED = 1 << 19, 1 << 20
MNT_DETACH = 2  # umount2(2)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38  # prctl(2)

# open_tree(2), move_mount(2), mount_setattr(2): the same numbers on all architectures but alpha
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 1, 4
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_IDMAP = 0x1, 0x00100000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1  # netdevice(7)

# ioctls and flags of <linux/loop.h>
_LOOP_CONFIGURE, _LOOP_CLR_FD = 0x4C0A, 0x4C01
_LOOP_CTL_ADD, _LOOP_CTL_REMOVE = 0x4C80, 0x4C81
_LO_FLAGS_DIRECT_IO = 16
LOOP_CONTROL = Path("/dev/loop-control")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2). Raises OSError."""
    result = _libc.mount(
        source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(result, f"mount {source} on {target}")


def unmount(target: Path, lazily: bool = False) -> None:
    """umount2(2). Raises OSError."""
    result = _libc.umount2(os.fsencode(target), MNT_DETACH if lazily else 0)
    _check(result, f"unmount {target}")


def clone_mount(path: Path, *, recursive: bool) -> int:
    """A detached clone of the mount at ``path``, as a file descriptor. Raises OSError."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | (_AT_RECURSIVE if recursive else 0)
    handle = int(_libc.syscall(_OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags))
    _check(min(handle, 0), f"clone the mount of {path}")
    return handle


def set_mount(mount: int, users: int | None, *, writable: bool, recursive: bool) -> None:
    """Set the properties of a detached mount; an unmount of the original applies to it, too.

    ``users`` is a user namespace: in this mount (an ID-mapped mount), a file of user 0 belongs to
    the user to which the namespace maps 0. None keeps the owners. Raises OSError.
    """
    given = (0 if writable else _MOUNT_ATTR_RDONLY) | (_MOUNT_ATTR_IDMAP if users else 0)
    attributes = struct.pack("=4Q", given, 0, MS_SLAVE, users or 0)  # struct mount_attr
    flags = _AT_EMPTY_PATH | (_AT_RECURSIVE if recursive else 0)
    size = ctypes.c_size_t(len(attributes))
    _check(_libc.syscall(_MOUNT_SETATTR, mount, b"", flags, attributes, size), "set up a mount")


def attach_mount(mount: int, target: Path) -> None:
    """Attach a detached mount. Raises OSError."""
    words = (mount, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
    _check(_libc.syscall(_MOVE_MOUNT, *words), f"attach a mount at {target}")


def unshare(kinds: int) -> None:
    """Move this thread to new namespaces of some kinds. Raises OSError."""
    _check(_libc.unshare(kinds), "new namespaces")


def enter_namespace(file: Path, kind: int) -> None:
    """Move this thread to the namespace of a file, such as one of ``/proc/PID/ns``.

    Raises OSError.
    """
    with file.open("rb") as handle:
        _check(_libc.setns(handle.fileno(), kind), f"enter {file}")


def prctl(option: int, value: int) -> None:
    """prctl(2) on Linux; does nothing on other systems. Raises OSError."""
    if sys.platform == "linux":
        _check(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def raise_loopback() -> None:
    """Bring up the loopback interface of this thread's network namespace. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", request)[1] | _IFF_UP
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags))


def sync_file_system(path: Path) -> None:
    """Write all dirty pages of the file system that holds ``path``. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        _check(_libc.syncfs(handle), f"sync {path}")
    finally:
        os.close(handle)


def in_new_network(work: Callable[[], Result]) -> Result:
    """Run ``work`` in a thread with a new network namespace, which exists while it is in use.

    Namespaces belong to threads: the program's other threads keep theirs.
    """

    def inside() -> Result:
        _check(_libc.unshare(CLONE_NEWNET), "a new network namespace")
        return work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(inside).result()


def enter_network(namespace: Path) -> None:
    """Move this thread permanently to the network namespace of a file. Raises OSError."""
    enter_namespace(namespace, CLONE_NEWNET)
    own = Path(f"/proc/self/task/{threading.get_native_id()}/ns/net")
    if own.stat().st_ino != namespace.stat().st_ino:
        raise OSError(errno.EINVAL, f"{namespace} was not entered")


def make_network(namespace: Path) -> None:
    """A new network namespace, held by a bind mount on the file ``namespace``. Raises OSError."""
    namespace.touch()
    source = f"/proc/{os.getpid()}/task/%d/ns/net"
    in_new_network(lambda: mount(source % threading.get_native_id(), namespace, flags=MS_BIND))


def loop_device(index: int) -> Path:
    """Path of the loop device with this number."""
    return Path(f"/dev/loop{index}")


def loop_add(index: int) -> None:
    """Create the loop device with this number. Raises OSError; EEXIST if it exists."""
    _control(_LOOP_CTL_ADD, index)


def loop_remove(index: int) -> None:
    """Remove the loop device with this number. Raises OSError such as EBUSY, ENODEV."""
    _control(_LOOP_CTL_REMOVE, index)


def _control(request: int, index: int) -> None:
    with LOOP_CONTROL.open("rb") as control:
        fcntl.ioctl(control, request, index)


def loop_attach(index: int, image: Path) -> bool:
    """Attach an image with direct I/O; returns whether the kernel uses direct I/O.

    Raises OSError.
    """
    name = os.fsencode(image)[-63:]
    with loop_device(index).open("r+b") as device, image.open("r+b") as file:
        # struct loop_config: fd, block size, struct loop_info64, reserved (see <linux/loop.h>)
        info = struct.pack(
            "=5Q4I64s64s32s2Q", 0, 0, 0, 0, 0, 0, 0, 0, _LO_FLAGS_DIRECT_IO, name, b"", b"", 0, 0
        )
        config = struct.pack("=2I", file.fileno(), 0) + info + bytes(64)
        fcntl.ioctl(device, _LOOP_CONFIGURE, config)
    return loop_fact(index, "dio") == "1"


def loop_detach(index: int) -> None:
    """Detach the image from a loop device, if one is attached. Raises OSError."""
    try:
        with loop_device(index).open("rb") as device:
            fcntl.ioctl(device, _LOOP_CLR_FD)
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.ENOENT, errno.ENODEV):
            raise


def loop_fact(index: int, name: str) -> str:
    """An attribute of a loop device ("backing_file", "dio"); "" if the kernel has none."""
    try:
        return Path(f"/sys/block/loop{index}/loop/{name}").read_text().strip()
    except OSError:
        return ""


def device_number(index: int) -> str:
    """ "MAJOR:MINOR" of a loop device. Raises OSError."""
    return Path(f"/sys/block/loop{index}/dev").read_text().strip()
