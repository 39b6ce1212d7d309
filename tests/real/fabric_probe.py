"""Run inside a virtual host: moves bytes or burns time, prints what it got as one JSON line."""

from __future__ import annotations

import json
import mmap
import os
import socket
import sys
import time

CHUNK = 1 << 16
BLOCK = 1 << 20


def serve(port: str, streams: str) -> dict[str, float]:
    """Take some streams one after the other; bytes/s from the first byte to the last of each."""
    rates = []
    with socket.create_server(("", int(port))) as door:
        door.settimeout(30)
        for _ in range(int(streams)):
            peer, _ = door.accept()
            peer.settimeout(30)
            with peer:
                total, began = len(peer.recv(CHUNK)), time.monotonic()
                while data := peer.recv(CHUNK):
                    total += len(data)
                    ended = time.monotonic()
            rates.append(total / (ended - began))
    return {"rate": sum(rates) / len(rates)}


def send(address: str, port: str, seconds: str) -> dict[str, float]:
    """Send for some seconds; waits for the server's door at most two."""
    limit = time.monotonic() + 2
    while True:
        try:
            peer = socket.create_connection((address, int(port)), timeout=1)
            break
        except OSError:
            if time.monotonic() > limit:
                return {"reached": 0}
            time.sleep(0.05)
    data, end = bytes(CHUNK), time.monotonic() + float(seconds)
    peer.settimeout(30)
    with peer:
        while time.monotonic() < end:
            peer.sendall(data)
    return {"reached": 1}


def write(path: str, size: str, how: str, block_bytes: str = "1048576") -> dict[str, float]:
    """Write a file until it is on the disk; ``how``: buffered or direct."""
    length = int(block_bytes)
    block = mmap.mmap(-1, length)  # aligned to pages, as direct writes must be
    block.write(os.urandom(length))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | (os.O_DIRECT if how == "direct" else 0)
    began = time.monotonic()
    file = os.open(path, flags)
    for _ in range(int(size) // length):
        os.write(file, block)
    os.fsync(file)
    return {"rate": int(size) // length * length / (time.monotonic() - began)}


def read(path: str) -> dict[str, float]:
    """Read a file from its beginning to its end."""
    began, total = time.monotonic(), 0
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as few imports as it takes
        while data := file.read(BLOCK):
            total += len(data)
    return {"rate": total / (time.monotonic() - began)}


def spin(seconds: str) -> dict[str, float]:
    """Burn CPU; how many cores' worth it got."""
    began, used = time.monotonic(), time.process_time()
    while time.monotonic() < began + float(seconds):
        pass
    return {"cores": (time.process_time() - used) / (time.monotonic() - began)}


if __name__ == "__main__":
    work = {"serve": serve, "send": send, "write": write, "read": read, "spin": spin}
    print(json.dumps(work[sys.argv[1]](*sys.argv[2:])), flush=True)
