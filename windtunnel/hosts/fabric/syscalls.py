"""The few system calls that Python lacks: mounts, namespaces, loop devices.

Called in this process and not through programs, because a program that we started could
still be at work after we were killed, and then change the machine behind the undoing.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

CLONE_NEWNET = 0x40000000  # unshare(2)
MS_NOATIME, MS_BIND, MS_SHARED = 1 << 10, 1 << 12, 1 << 20  # mount(2)
MNT_DETACH = 2  # umount2(2)

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


def sync_file_system(path: Path) -> None:
    """Write all dirty pages of the file system that holds ``path``. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        _check(_libc.syncfs(handle), f"sync {path}")
    finally:
        os.close(handle)


def in_new_network(work: Callable[[], Result]) -> Result:
    """Run ``work`` in a thread whose network namespace is new; it lives while it is used.

    Namespaces belong to threads: the program's own threads stay where they are.
    """

    def inside() -> Result:
        _check(_libc.unshare(CLONE_NEWNET), "a new network namespace")
        return work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(inside).result()


def enter_network(namespace: Path) -> None:
    """Take this thread, for good, into the network namespace of a file. Raises OSError."""
    with namespace.open("rb") as file:
        _check(_libc.setns(file.fileno(), CLONE_NEWNET), f"enter {namespace}")
        own = Path(f"/proc/self/task/{threading.get_native_id()}/ns/net")
        if own.stat().st_ino != os.fstat(file.fileno()).st_ino:
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
    """Make the loop device with this number. Raises OSError, EEXIST where it is there."""
    _control(_LOOP_CTL_ADD, index)


def loop_remove(index: int) -> None:
    """Remove the loop device with this number. Raises OSError: EBUSY, ENODEV."""
    _control(_LOOP_CTL_REMOVE, index)


def _control(request: int, index: int) -> None:
    with LOOP_CONTROL.open("rb") as control:
        fcntl.ioctl(control, request, index)


def loop_attach(index: int, image: Path) -> bool:
    """Attach an image with direct I/O; returns whether the kernel does direct I/O on it.

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
    """What the kernel says of a loop device ("backing_file", "dio"); "" where nothing."""
    try:
        return Path(f"/sys/block/loop{index}/loop/{name}").read_text().strip()
    except OSError:
        return ""


def device_number(index: int) -> str:
    """ "MAJOR:MINOR" of a loop device. Raises OSError."""
    return Path(f"/sys/block/loop{index}/dev").read_text().strip()
