"""Another account of this machine tries to reach a deployment, in every way that it has.

As a program, ``python intruder.py`` with a JSON object on its standard input, it gives up root for
the account of ``uid`` and ``gid``, tries everything, and prints what succeeded, one line each:

``tcp``, ``udp`` (address and port), ``unix`` (path) : sockets to connect to
``requests`` (name, address, port, text) : an answer of the service counts as success
``folders``, ``files`` : to list, to write into; to read, to write
``pids`` : whose environment, folder, root and network to take
"""

from __future__ import annotations

import contextlib
import ctypes
import encodings.idna  # noqa: F401 - Python's own folder may be closed to the account
import ipaddress
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

LIMIT_S = 1.0
CLOSE_LIMIT_S = 20.0  # until a busy guard closes a connection that it took
CLONE_NEWNET = 0x40000000
_PLACES = ("environ", "cwd/", "root/", "fd/", "mem", "maps", "ns/net")


@dataclass(frozen=True)
class Other:
    """An account of this machine."""

    name: str
    uid: int
    gid: int


@contextlib.contextmanager
def other_account(name: str) -> Iterator[Other]:
    """A second account, made for a while; root only."""
    useradd = shutil.which("useradd", path=os.environ.get("PATH", "") + ":/usr/sbin")
    assert useradd, "the program useradd makes the second account: install passwd"
    _change_accounts(useradd, "--no-create-home", "--no-log-init", name)
    found = pwd.getpwnam(name)
    try:
        yield Other(name, found.pw_uid, found.pw_gid)
    finally:
        _end_processes(found.pw_uid)
        _change_accounts(useradd.replace("useradd", "userdel"), name)


def _end_processes(uid: int) -> None:
    """End what still runs as an account after a test that failed: else the account stays."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.uids().real == uid:
                process.kill()
                process.wait(5)


def _change_accounts(*argv: str) -> None:
    """Run a program that locks the user database; another test may hold the lock."""
    for _ in range(50):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if "lock" not in done.stderr:
            break
        time.sleep(0.1)
    assert done.returncode == 0, done.stderr


def reached(account: Other, **targets: Any) -> list[str]:
    """What the account can do with the targets (see the module's docstring)."""
    order = json.dumps({"uid": account.uid, "gid": account.gid, **targets})
    done = subprocess.run(
        [sys.executable, "-I", __file__],
        input=order,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _tcp(address: str, port: int) -> bool:
    """Whether a connection is taken and kept; one that is closed unread is not."""
    try:
        with socket.create_connection((address, port), LIMIT_S) as one:
            one.settimeout(CLOSE_LIMIT_S)
            try:
                return one.recv(1) != b""
            except TimeoutError:
                return True
    except OSError:
        return False


def _udp(address: str, port: int) -> bool:
    """Whether somebody takes datagrams: else one after the first is refused."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect((address, port))
            for _ in range(10):
                one.send(b"x")
                time.sleep(0.02)
        except OSError:
            return False
    return True


def _unix(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
        try:
            one.connect("\0" + path[1:] if path.startswith("@") else path)
        except OSError:
            return False
    return True


def _request(address: str, port: int, text: str) -> str:
    """What a service answers; empty where it does not."""
    with contextlib.suppress(OSError), socket.create_connection((address, port), LIMIT_S) as one:
        one.settimeout(5)
        one.sendall(text.encode())
        return one.recv(4096).decode(errors="replace")
    return ""


def _can_open(path: str, flags: int) -> bool:
    with contextlib.suppress(OSError):
        os.close(os.open(path, flags))
        return True
    return False


def _namespace(path: str) -> bool:
    libc = ctypes.CDLL(None)
    with contextlib.suppress(OSError), Path(path).open("rb") as file:
        return bool(libc.setns(file.fileno(), CLONE_NEWNET) == 0)
    return False


def tries(order: dict[str, Any]) -> Iterator[str]:
    """What succeeds, as this process."""
    for kind, work in (("tcp", _tcp), ("udp", _udp)):
        for address, port in order.get(kind, ()):
            if work(address, port):
                yield f"{kind} {address}:{port}"
    yield from (f"unix {path}" for path in order.get("unix", ()) if _unix(path))
    for name, address, port, text in order.get("requests", ()):
        if answer := _request(address, port, text):
            yield f"{name}: {answer.splitlines()[0]}"
    for folder in order.get("folders", ()):
        with contextlib.suppress(OSError):
            yield f"list {folder}: {len(os.listdir(folder))} names"  # noqa: PTH208 - as plain as it can be
        with contextlib.suppress(OSError):
            Path(folder, "intruder").touch()
            yield f"write into {folder}"
    for path in order.get("files", ()):
        ways = (("read", os.O_RDONLY), ("write", os.O_WRONLY))
        yield from (f"{way} {path}" for way, flags in ways if _can_open(path, flags))
    for pid in order.get("pids", ()):
        for place in _PLACES:
            if _can_open(f"/proc/{pid}/{place}", os.O_RDONLY):
                yield f"open /proc/{pid}/{place}"
        if _namespace(f"/proc/{pid}/ns/net"):
            yield f"enter the network of process {pid}"


def main(order: dict[str, Any]) -> None:
    os.setgroups([])
    os.setgid(order["gid"])
    os.setuid(order["uid"])
    for line in tries(order):
        print(line, flush=True)


def _on_this_machine(address: str) -> bool:
    """Whether an interface of the machine's own network namespace leads to an address.

    Packets for another address would leave the machine: nothing of ours is there.
    """
    found = ipaddress.ip_address(address)
    if found.is_loopback or found.is_unspecified:
        return True
    networks = [
        ipaddress.ip_network(f"{one.address}/{one.netmask}", strict=False)
        for interface in psutil.net_if_addrs().values()
        for one in interface
        if one.family == socket.AF_INET and one.netmask
    ]
    return any(found in network for network in networks)


def targets(supervisor: int, folder: Path, logs: Path) -> dict[str, Sequence[Any]]:
    """All sockets, files and processes of a running deployment; as root."""
    from tests.support import sockets  # the program above has no path to it

    pids = [supervisor, *(p.pid for p in psutil.Process(supervisor).children(recursive=True))]
    tcp: set[tuple[str, int]] = set()
    udp: set[tuple[str, int]] = set()
    unix: set[str] = set()
    for pid in pids:  # virtual hosts have networks of their own
        with contextlib.suppress(OSError):
            tcp.update(sockets.in_network(pid, "tcp", "tcp6").values())
            udp.update(sockets.in_network(pid, "udp", "udp6").values())
            unix |= sockets.unix_paths(pid) - sockets.unix_paths(os.getpid())
    machines = {port for _, port in sockets.in_network(os.getpid(), "tcp", "tcp6").values()}
    tcp |= {("127.0.0.1", port) for _, port in tcp if port not in machines}
    # unlike Path.rglob, os.walk goes on if a folder is removed meanwhile
    every = [
        Path(top, name)
        for root in (folder, logs)
        for top, folders, files in os.walk(root)
        for name in (".", *folders, *files)
    ]
    return {
        "tcp": sorted(place for place in tcp if _on_this_machine(place[0])),
        "udp": sorted(place for place in udp if _on_this_machine(place[0])),
        "unix": sorted(unix),
        "folders": [str(place) for place in every if place.is_dir()],
        "files": [str(place) for place in every if place.is_file()],
        "pids": pids,
    }


if __name__ == "__main__":
    main(json.load(sys.stdin))
