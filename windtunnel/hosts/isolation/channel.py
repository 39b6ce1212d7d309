"""Sockets of a network namespace for a program outside of it.

A socket belongs to the namespace in which it was created, whichever process uses it. A process
inside creates sockets and passes them to the program, one for each byte that it receives, through
a pair of connected sockets. No other process has an end of the pair. This module as a program,
``python -P -m ...channel HANDLE``, does only that, until the other end is closed.
"""

from __future__ import annotations

import errno
import socket
import sys
import threading


class Channel:
    """The end of the program outside the namespace; may be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end, self.other = socket.socketpair()

    def open_socket(self) -> socket.socket:
        """A TCP socket of the namespace, not connected yet. Raises OSError."""
        with self._lock:
            self._end.sendall(b"s")
            data, handles, _, _ = socket.recv_fds(self._end, 1, 1)
        if not data:
            raise ConnectionResetError("the process that creates the sockets has ended")
        if not handles:
            raise OSError(errno.EMFILE, "no more sockets can be created")
        return socket.socket(fileno=handles[0])

    def close(self) -> None:
        """Close this end; the other process then ends."""
        self._end.close()
        self.other.close()


def hand_out(end: socket.socket) -> bool:
    """Serve one request of the other end; False if it is closed. Raises OSError."""
    if not end.recv(1):
        return False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
            socket.send_fds(end, [b"s"], [made.fileno()])
    except OSError:
        end.sendall(b"f")
    return True


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as mine:
        while hand_out(mine):
            pass
