"""Sockets of a process in whatever network namespace, by /proc (proc_pid_net(5); Linux)."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
from pathlib import Path

_LISTENS = "0A"


def _address(text: str) -> tuple[str, int]:
    """``0100007F:1F90`` as address and port; IPv4 in IPv6 as IPv4."""
    digits, port = text.split(":")
    raw = b"".join(
        struct.pack("=I", int(digits[at : at + 8], 16)) for at in range(0, len(digits), 8)
    )
    if len(raw) == 4:
        return socket.inet_ntoa(raw), int(port, 16)
    found = ipaddress.IPv6Address(raw)
    return str(found.ipv4_mapped or found), int(port, 16)


def in_network(pid: int, *kinds: str, connected: bool = False) -> dict[str, tuple[str, int]]:
    """Inode -> address of all sockets that take connections or datagrams in a process's network.

    ``kinds`` are files of ``/proc/PID/net``: tcp, tcp6, udp, udp6. With ``connected``, those of
    connections as well.
    """
    found = {}
    for kind in kinds:
        for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]:
            fields = line.split()
            if connected or kind.startswith("udp") or fields[3] == _LISTENS:
                found[fields[9]] = _address(fields[1])
    return found


def unix_paths(pid: int) -> set[str]:
    """Names of the Unix sockets in a process's network; abstract ones begin with ``@``."""
    lines = Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]
    return {fields[7] for fields in (line.split(None, 7) for line in lines) if len(fields) > 7}


def listening(pid: int) -> set[tuple[str, int]]:
    """Where one process listens for TCP connections."""
    return _held(pid, in_network(pid, "tcp", "tcp6"))


def addresses(pid: int) -> set[str]:
    """The addresses of all sockets of one process, at its own end."""
    known = in_network(pid, "tcp", "tcp6", "udp", "udp6", connected=True)
    return {address for address, _ in _held(pid, known)}


def _held(pid: int, known: dict[str, tuple[str, int]]) -> set[tuple[str, int]]:
    found = set()
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inode = str(handle.readlink()).removeprefix("socket:[").rstrip("]")
            if inode in known:
                found.add(known[inode])
    return found
