"""A transport for httpx that uses sockets of a deployment's network."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

from windtunnel.engines.sockets import OpenSocket, connect


@contextmanager
def _translated(timeout: type[Exception], other: type[Exception]) -> Iterator[None]:
    """Convert socket errors to errors of httpcore."""
    try:
        yield
    except TimeoutError as error:
        raise timeout(str(error)) from error
    except OSError as error:
        raise other(str(error)) from error


class _Stream(httpcore.NetworkStream):
    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _translated(httpcore.ReadTimeout, httpcore.ReadError):
            self._socket.settimeout(timeout)
            return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with _translated(httpcore.WriteTimeout, httpcore.WriteError):
            self._socket.settimeout(timeout)
            self._socket.sendall(buffer)

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        with _translated(httpcore.ConnectTimeout, httpcore.ConnectError):
            self._socket.settimeout(timeout)
            return _Stream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname))

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # a readable idle connection: the server has closed it
            idle = select.poll()
            idle.register(self._socket, select.POLLIN)
            return bool(idle.poll(0))
        return self._socket if info == "socket" else None


class _Backend(httpcore.NetworkBackend):
    def __init__(self, open_socket: OpenSocket) -> None:
        self._open_socket = open_socket

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        with _translated(httpcore.ConnectTimeout, httpcore.ConnectError):
            return _Stream(connect(self._open_socket, host, port, timeout))


_CONNECTIONS = 100  # as httpx
_FAILURES = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)


def _of_httpx(error: Exception, request: httpx.Request) -> httpx.TransportError:
    """The error of httpx with the same name, such as ``ReadTimeout``."""
    kind: type[httpx.TransportError] = getattr(httpx, type(error).__name__, httpx.TransportError)
    return kind(str(error), request=request)


class _Content(httpx.SyncByteStream):
    """The content of a response; closing it returns the connection to the pool."""

    def __init__(self, answer: httpcore.Response, request: httpx.Request) -> None:
        self._answer = answer
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._answer.iter_stream()
        except _FAILURES as error:
            raise _of_httpx(error, self._request) from error

    def close(self) -> None:
        self._answer.close()


class Transport(httpx.BaseTransport):
    """A transport for httpx that raises the errors of httpx.

    Parameters
    ----------
    trust:
        The certificates that are trusted; None for those of the system.
    """

    def __init__(self, open_socket: OpenSocket, trust: ssl.SSLContext | None = None) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=trust, max_connections=_CONNECTIONS, network_backend=_Backend(open_socket)
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the content of the response is read when the caller iterates over it."""
        sent = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.read(),
            extensions=request.extensions,
        )
        try:
            answer = self._pool.handle_request(sent)
        except _FAILURES as error:
            raise _of_httpx(error, request) from error
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Content(answer, request)
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()
