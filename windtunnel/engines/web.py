"""HTTP to daemons, through sockets of the network that they are in."""

from __future__ import annotations

import http.client
import socket
import urllib.request
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 5.0

OpenSocket = Callable[[], socket.socket]
"""Makes a TCP socket that is not connected yet; raises OSError."""


def http_client(open_socket: OpenSocket, timeout_s: float) -> httpx.Client:
    """A client whose connections use sockets of a host's network, and never a proxy.

    Its errors are those of httpx.
    """
    import httpx  # takes long, and 'plan' connects to no daemon

    from windtunnel.engines.transport import Transport

    return httpx.Client(timeout=timeout_s, trust_env=False, transport=Transport(open_socket))


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


def url_opener(open_socket: OpenSocket) -> urllib.request.OpenerDirector:
    """The same for urllib, for programs of ours that have nothing but the standard library."""

    class Connection(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = connect(open_socket, self.host, self.port or 80, self.timeout)

    class Handler(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Connection, req)

    return urllib.request.build_opener(urllib.request.ProxyHandler({}), Handler)


class WebPages:
    """Requests to daemons' web servers. One that does not answer yields nothing."""

    def __init__(self, open_socket: OpenSocket) -> None:
        self._open_socket = open_socket

    @cached_property
    def _http(self) -> httpx.Client:
        return http_client(self._open_socket, _TIMEOUT_S)

    def close(self) -> None:
        """Close the connections, if there are any."""
        if "_http" in self.__dict__:
            self._http.close()

    def _get(self, url: str) -> httpx.Response | None:
        """A page; None where there is no answer, or a refusal."""
        import httpx

        try:
            answer = self._http.get(url)
        except httpx.HTTPError:
            return None
        return answer if answer.is_success else None

    def _object(self, url: str) -> dict[str, Any]:
        """A page's JSON object; empty where there is none."""
        answer = self._get(url)
        try:
            found = answer.json() if answer is not None else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _bean_at(self, address: str, service: str, name: str) -> dict[str, Any]:
        """A bean (JMX) of Hadoop's kind, from ``HOST:PORT``; empty where there is none."""
        found = self._object(f"http://{address}/jmx?qry=Hadoop:service={service},name={name}")
        beans = found.get("beans")
        return dict(beans[0]) if isinstance(beans, list) and beans else {}
