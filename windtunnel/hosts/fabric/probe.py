"""Load generator inside a virtual host: moves bytes or uses CPU, prints its result as a JSON line.

It is a separate program (``python -I probe.py WORK WORDS...``) that imports little, because it
also starts on hosts with a fiftieth of a processor. Times are of the clock that all processes of
the machine share (``time.monotonic``); ``at`` is the start time, 0 for an immediate start.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import socket
import sys
import time
from collections.abc import Callable

CHUNK = 1 << 16
PATIENCE_S = 30.0
REACH_S = 2.0


def serve(port: str, warmup_s: str = "0", seconds: str = "30") -> dict[str, float]:
    """Accept one stream and count its bytes, after a warm-up and for some seconds.

    The warm-up empties the token buckets, which are full when the stream begins.
    """
    with socket.create_server(("", int(port))) as server:
        server.settimeout(PATIENCE_S)
        peer, _ = server.accept()
        with peer:
            peer.settimeout(PATIENCE_S)
            peer.recv(CHUNK)
            total, opened = 0, time.monotonic()
            began = ended = opened
            while data := peer.recv(CHUNK):
                ended = time.monotonic()
                if ended - opened < float(warmup_s):
                    began = ended
                    continue
                total += len(data)
                if ended - began >= float(seconds):
                    break
    return _done(total, began, ended)


def send(address: str, port: str, seconds: str, at: str = "0") -> dict[str, float]:
    """Send for some seconds, or until the server closes; waits ``REACH_S`` for the server."""
    limit = time.monotonic() + REACH_S
    while True:
        try:
            peer = socket.create_connection((address, int(port)), timeout=1)
            break
        except OSError:
            if time.monotonic() > limit:
                return {"reached": 0}
            time.sleep(0.05)
    _wait(at)
    data, end = bytes(CHUNK), time.monotonic() + float(seconds)
    peer.settimeout(PATIENCE_S)
    with peer:
        try:
            while time.monotonic() < end:
                peer.sendall(data)
        except ConnectionError:
            pass  # the server has closed the connection
    return {"reached": 1}


def write(
    path: str, size: str, how: str, block_bytes: str = "1048576", at: str = "0"
) -> dict[str, float]:
    """Write a file and flush it to the disk; ``how``: buffered or direct.

    Blocks of an existing file are overwritten, so that no image grows.
    """
    length, count = int(block_bytes), max(1, int(size) // int(block_bytes))
    block = mmap.mmap(-1, length)  # aligned to pages, as direct writes must be
    block.write(os.urandom(length))
    flags = os.O_WRONLY | os.O_CREAT | (os.O_DIRECT if how == "direct" else 0)
    file = os.open(path, flags)
    _wait(at)
    began = time.monotonic()
    for _ in range(count):
        os.write(file, block)
    os.fsync(file)
    return _done(count * length, began, time.monotonic())


def read(
    path: str, how: str = "buffered", block_bytes: str = "1048576", most: str = "0", at: str = "0"
) -> dict[str, float]:
    """Read a file from its beginning, to its end or ``most`` bytes; ``how``: buffered or direct."""
    block = mmap.mmap(-1, int(block_bytes))
    file = os.open(path, os.O_RDONLY | (os.O_DIRECT if how == "direct" else 0))
    _wait(at)
    began, total = time.monotonic(), 0
    while not 0 < int(most) <= total and (got := os.readv(file, [block])):
        total += got
    return _done(total, began, time.monotonic())


def spin(seconds: str, processes: str = "1", at: str = "0") -> dict[str, float]:
    """Use CPU in some processes; returns how many cores they got."""
    _wait(at)
    began, earlier = time.monotonic(), _cpu_s()
    end = began + float(seconds)
    children = []
    for _ in range(int(processes) - 1):
        child = os.fork()
        if child == 0:
            _burn(end)
            os._exit(0)
        children.append(child)
    _burn(end)
    for child in children:
        os.waitpid(child, 0)
    used, ended = _cpu_s() - earlier, time.monotonic()
    return {"amount": used, "began": began, "ended": ended, "cores": used / (ended - began)}


def _burn(end: float) -> None:
    while time.monotonic() < end:
        pass


def _cpu_s() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _wait(at: str) -> None:
    time.sleep(max(0.0, float(at) - time.monotonic()))


def _done(total: int, began: float, ended: float) -> dict[str, float]:
    rate = total / (ended - began) if ended > began else 0.0
    return {"amount": total, "began": began, "ended": ended, "rate": rate}


WORK: dict[str, Callable[..., dict[str, float]]] = {
    "serve": serve,
    "send": send,
    "write": write,
    "read": read,
    "spin": spin,
}

if __name__ == "__main__":
    try:
        answer = WORK[sys.argv[1]](*sys.argv[2:])
    except OSError as error:  # no client has connected, a full disk
        sys.exit(f"{' '.join(sys.argv[1:3])}: {error}")
    sys.stdout.write(json.dumps(answer) + "\n")
