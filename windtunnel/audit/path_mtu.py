"""The path MTU to named hosts: ICMP echo of several sizes that nothing on the path may fragment.

A router that cannot forward a packet reports its MTU (RFC 1191), and the kernel keeps it (IP_MTU,
ip(7)). A switch drops the frame without a report, so only an answer proves that a size is carried.
At most :data:`RATE_S` packets are sent a second; no program is started.
"""

from __future__ import annotations

import errno
import itertools
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from windtunnel.audit.probes import RATE_S, split_host

TIMEOUT_S = 1.0
ATTEMPTS = 2
LEAST = 576  # bytes that every IPv4 host must accept (RFC 791)
# where MTUs of real links are: the table of RFC 1191, section 7, and the usual ones of Ethernet
PLATEAUS = (32000, 17914, 9000, 8166, 4352, 2002, 1500, 1492, 1450, 1280, 1006, LEAST)
MOST_PACKETS = 1 + ATTEMPTS * (len(PLATEAUS) + 1)
_LARGEST = 65535
_HEADERS = 28  # of IP and of ICMP
_IP_MTU_DISCOVER, _IP_MTU, _DO = 10, 14, 2  # linux/in.h; 2: never fragment, obey the known path MTU
_REQUEST, _REPLY = 8, 0  # types of ICMP echo

Sleep = Callable[[float], object]


def hosts_of(probed: Sequence[str]) -> list[str]:
    """The hosts of ``--probe`` whose path is measured; ``NAME:PORT`` means that port only."""
    named = dict.fromkeys(map(split_host, probed))
    return [name for name, port in named if not port]


def line(host: str) -> str:
    """The packets to one host in words."""
    return (
        f"ICMP echo to {host}, up to the MTU of the interface, at most {MOST_PACKETS} packets  "
        "(path MTU)"
    )


def path_mtus(hosts: Sequence[str], sleep: Sleep = time.sleep) -> list[dict[str, Any]]:
    """Measure the path to each host: one row of the fact ``paths`` per host.

    ``interface_mtu`` and ``path_mtu`` are in bytes; ``lost`` is the smallest size that was not
    carried, ``reported`` states whether a router said so; ``why`` is the reason where ``path_mtu``
    is None.
    """
    return [_measured(host, sleep) for host in hosts]


def _measured(host: str, sleep: Sleep) -> dict[str, Any]:
    row: dict[str, Any] = {"host": host, "interface": "", "interface_mtu": None, "path_mtu": None}
    row |= {"lost": None, "reported": False, "why": ""}
    try:
        address = str(socket.getaddrinfo(host, None, socket.AF_INET)[0][4][0])
        with _Echo(address, sleep) as echo:
            name, mtu = _interface(echo.own_address())
            row |= {"interface": name, "interface_mtu": mtu}
            if not echo.carried(LEAST):
                row["why"] = f"{host} does not answer ICMP echo"
                return row
            return row | _largest(echo, min(mtu or echo.known(), _LARGEST))
    except PermissionError:
        row["why"] = "ICMP echo is not permitted: run as root, or set net.ipv4.ping_group_range"
    except (OSError, UnicodeError) as error:
        row["why"] = f"{host}: {getattr(error, 'strerror', None) or error}"
    return row


def _largest(echo: _Echo, top: int) -> dict[str, Any]:
    """The largest size that is carried, from ``top`` downwards."""
    size, lost, reported = top, None, False
    while size > LEAST and not echo.carried(size):
        lost, known = size, echo.known()
        reported = known < size
        size = known if reported else next(one for one in PLATEAUS if one < size)
    return {"path_mtu": size, "lost": lost, "reported": reported}


def _interface(address: str) -> tuple[str, int | None]:
    """Name and MTU of the interface with an address of this host."""
    stats = psutil.net_if_stats()
    for name, entries in psutil.net_if_addrs().items():
        if any(one.address == address for one in entries):
            return name, stats[name].mtu if name in stats else None
    return "", None


class _Echo:
    """A socket that sends ICMP echo to one host and waits for the answers."""

    def __init__(self, address: str, sleep: Sleep) -> None:
        self._sleep = sleep
        self._numbers = itertools.count(1)
        self._id = os.getpid() & 0xFFFF
        self._raw = False
        try:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
        except PermissionError:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            self._raw = True
        try:
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _DO)
            self._socket.connect((address, 0))
        except OSError:
            self._socket.close()
            raise

    def __enter__(self) -> _Echo:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def own_address(self) -> str:
        """The address from which the packets are sent."""
        return str(self._socket.getsockname()[0])

    def known(self) -> int:
        """The MTU of the path in bytes, as far as the kernel knows it."""
        return self._socket.getsockopt(socket.IPPROTO_IP, _IP_MTU)

    def carried(self, size: int) -> bool:
        """Whether a packet of ``size`` bytes is answered; a lost one is sent again."""
        for _ in range(ATTEMPTS):
            try:
                number = next(self._numbers)
                self._socket.send(self._packet(number, size - _HEADERS))
                answered = self._answered(number)
            except OSError as error:
                if error.errno != errno.EMSGSIZE:
                    raise
                return False
            finally:
                self._sleep(1.0 / RATE_S)
            if answered:
                return True
        return False

    def _packet(self, number: int, payload: int) -> bytes:
        head = struct.pack("!BBHHH", _REQUEST, 0, 0, self._id, number)
        body = bytes(payload)
        return struct.pack("!BBHHH", _REQUEST, 0, _checksum(head), self._id, number) + body

    def _answered(self, number: int) -> bool:
        deadline = time.monotonic() + TIMEOUT_S
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._socket], [], [], left)[0]:
                return False
            data = self._socket.recv(_LARGEST)
            start = (data[0] & 0x0F) * 4 if self._raw else 0  # a raw socket has the header of IP
            kind, _, _, own, got = struct.unpack("!BBHHH", data[start : start + 8])
            if kind == _REPLY and got == number and (own == self._id or not self._raw):
                return True
        return False


def _checksum(head: bytes) -> int:
    """The checksum of a header in front of zeros (RFC 1071)."""
    words: tuple[int, ...] = struct.unpack(f"!{len(head) // 2}H", head)
    total = sum(words)
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF
