"""HTTP requests to daemons, through sockets of the daemons' network."""

from __future__ import annotations

import http.client
import urllib.request
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from windtunnel.engines.sockets import OpenSocket, connect

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 5.0


def http_client(open_socket: OpenSocket, timeout_s: float) -> httpx.Client:
    """A client whose connections use sockets of a host's network, and never a proxy.

    It raises the errors of httpx.
    """
    import httpx  # the import is slow, and 'plan' connects to no daemon

    from windtunnel.engines.transport import Transport

    return httpx.Client(timeout=timeout_s, trust_env=False, transport=Transport(open_socket))


def url_opener(open_socket: OpenSocket) -> urllib.request.OpenerDirector:
    """The same for urllib, for Windtunnel's programs that use only the standard library."""

    class Connection(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = connect(open_socket, self.host, self.port or 80, self.timeout)

    class Handler(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Connection, req)

    return urllib.request.build_opener(urllib.request.ProxyHandler({}), Handler)


@dataclass(frozen=True)
class Through:
    """Connections to one web server: its URL without a path, and the client of the requests."""

    url: str
    http: httpx.Client


class WebPages:
    """Requests to daemons' web servers; a server that does not answer yields nothing."""

    def __init__(self, open_socket: OpenSocket) -> None:
        self._open_socket = open_socket

    @cached_property
    def _http(self) -> httpx.Client:
        return http_client(self._open_socket, _TIMEOUT_S)

    def close(self) -> None:
        """Close the open connections."""
        if "_http" in self.__dict__:
            self._http.close()

    def _get(self, url: str) -> httpx.Response | None:
        """A page; None if the server does not answer or refuses the request."""
        import httpx

        try:
            answer = self._http.get(url)
        except httpx.HTTPError:
            return None
        return answer if answer.is_success else None

    def _object(self, url: str) -> dict[str, Any]:
        """The JSON object of a page; empty if there is none."""
        answer = self._get(url)
        try:
            found = answer.json() if answer is not None else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _bean_at(self, address: str, service: str, name: str) -> dict[str, Any]:
        """A bean (JMX) in Hadoop's format, from ``HOST:PORT``; empty if there is none."""
        found = self._object(f"http://{address}/jmx?qry=Hadoop:service={service},name={name}")
        beans = found.get("beans")
        return dict(beans[0]) if isinstance(beans, list) and beans else {}
