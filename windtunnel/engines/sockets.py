"""Connections through sockets of a deployment's network."""

from __future__ import annotations

import socket
from collections.abc import Callable

OpenSocket = Callable[[], socket.socket]
"""Creates a TCP socket that is not connected yet; raises OSError."""


def connect(
    open_socket: OpenSocket, host: str, port: int, timeout_s: float | None
) -> socket.socket:
    """A connected socket. Raises OSError."""
    made = open_socket()
    try:
        made.settimeout(timeout_s)
        made.connect((host, port))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        made.close()
        raise
    return made
