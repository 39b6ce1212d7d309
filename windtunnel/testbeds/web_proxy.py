"""A proxy for the web pages of a cluster, which requires a token.

The web servers of a cluster are reachable only in its own network. The proxy listens on ports of
the loopback interface of the machine, which other accounts can reach, too. It rejects requests
without the token, which is different at each start, and, on Linux, requests of other accounts. It
rewrites links to other daemons to their ports at the proxy.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.engines.sockets import OpenSocket
from windtunnel.engines.web import http_client

if TYPE_CHECKING:
    import httpx
    from starlette.requests import Request
    from starlette.responses import Response

COOKIE = "windtunnel-token"
_TIMEOUT_S = 60.0
_BACKLOG = 64
_OF_ONE_CONNECTION = {"connection", "content-length", "keep-alive", "transfer-encoding"}
_TEXT = re.compile(r"text/|application/(json|javascript|xml|x-javascript)")
_METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]
_LOOPBACK = re.compile(r"^127\..*")
_SAFE = {"GET", "HEAD", "OPTIONS"}


def owner_of(peer: tuple[str, int], server: tuple[str, int]) -> int | None:
    """User id of the peer of a connection within this machine (Linux, IPv4); None without one.

    Browsers send a cookie to every port of an address, so that a server of another account on the
    same address could steal the token. See proc_pid_net(5).
    """
    ends = [f"{_word(address)}:{port:04X}" for address, port in (peer, server)]
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == ends and fields[9] != "0":
            return int(fields[7])
    return None


def _word(address: str) -> str:
    return f"{struct.unpack('=I', socket.inet_aton(address))[0]:08X}"


def _owners() -> set[int]:
    """This user, the user who called sudo (and runs the browser), and root."""
    return {0, os.geteuid(), int(os.environ.get("SUDO_UID") or 0)}


@dataclass(frozen=True)
class WebServer:
    """The web server of a daemon, ``ROLE@HOST``, in the network of the cluster.

    ``page`` is the path of its start page.
    """

    daemon: str
    host: str
    address: str
    port: int
    page: str = "/"


class WebProxy:
    """Listens for the browser of the owner; :meth:`serve` answers requests.

    Parameters
    ----------
    servers:
        The web servers of the cluster.
    open_socket:
        Opens sockets in the network of the cluster.

    Raises
    ------
    OSError
        If no port is available.
    """

    def __init__(self, servers: Sequence[WebServer], open_socket: OpenSocket) -> None:
        self.token = secrets.token_urlsafe(32)
        # cookies belong to a host and not to a port, so no other program may use the address
        address = f"127.{'.'.join(str(secrets.randbelow(254) + 1) for _ in range(3))}"
        self.address = address if sys.platform == "linux" else "127.0.0.1"
        self._client = http_client(open_socket, _TIMEOUT_S)
        self.sockets: list[socket.socket] = []
        self._servers: dict[int, WebServer] = {}
        for server in servers:
            made = socket.create_server((self.address, 0), backlog=_BACKLOG)
            self.sockets.append(made)
            self._servers[made.getsockname()[1]] = server
        self._links = {
            f"{name}:{server.port}": f"{self.address}:{port}"
            for port, server in self._servers.items()
            # a DataNode of 'local' reports 127.0.0.1 as its address; ports differ there
            for name in {server.host, server.address, _LOOPBACK.sub("127.0.0.1", server.address)}
        }
        names = "|".join(re.escape(name) for name in self._links)
        self._link = re.compile(rf"(?<![\w.-])(?:{names})(?!\d)")

    def pages(self) -> Mapping[str, str]:
        """The address of the page of each daemon, with the token."""
        return {
            server.daemon: f"http://{self.address}:{port}{server.page}?token={self.token}"
            for port, server in self._servers.items()
        }

    def serve(self) -> None:
        """Answer requests until the process is interrupted."""
        import uvicorn

        settings = uvicorn.Config(self.app(), log_level="warning", access_log=False, lifespan="off")
        uvicorn.Server(settings).run(sockets=self.sockets)

    def close(self) -> None:
        """Close all sockets."""
        self._client.close()
        for one in self.sockets:
            one.close()

    def app(self) -> Any:
        """The ASGI application."""
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.routing import Route

        async def answer(request: Request) -> Response:
            if refused := self._refused(request):
                return refused
            return await run_in_threadpool(self._forward, request, await request.body())

        return Starlette(routes=[Route("/{path:path}", answer, methods=_METHODS)])

    def _refused(self, request: Request) -> Response | None:
        """The response to a request that is not from the owner; None for one of the owner."""
        from starlette.responses import PlainTextResponse, RedirectResponse

        ends = request.scope["client"], request.scope["server"]
        if sys.platform == "linux" and owner_of(*ends) not in _owners():
            return PlainTextResponse("only for the account that runs 'windtunnel open'\n", 403)
        here = f"{self.address}:{request.scope['server'][1]}"
        origin = request.headers.get("origin", "")
        if request.headers.get("host") != here:  # protects from DNS rebinding
            return PlainTextResponse("unknown host\n", 421)
        same = origin in {"", *(f"http://{self.address}:{port}" for port in self._servers)}
        if not same and request.method not in _SAFE:
            return PlainTextResponse("requests of other sites are rejected\n", 403)
        if self._known(request.cookies.get(COOKIE, "")):
            return None
        if request.method == "GET" and self._known(request.query_params.get("token", "")):
            plain = RedirectResponse(str(request.url.remove_query_params("token")), 303)
            plain.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
            plain.headers["referrer-policy"] = "no-referrer"
            return plain
        return PlainTextResponse("open the address that 'windtunnel open' printed\n", 403)

    def _known(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())

    def _forward(self, request: Request, body: bytes) -> Response:
        import httpx
        from starlette.background import BackgroundTask
        from starlette.responses import PlainTextResponse, Response, StreamingResponse

        server = self._servers[request.scope["server"][1]]
        dropped = _OF_ONE_CONNECTION | {"host", "cookie", "accept-encoding", "origin", "referer"}
        headers = {name: v for name, v in request.headers.items() if name not in dropped}
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        url = f"http://{server.address}:{server.port}{path}"
        headers["accept-encoding"] = "identity"
        try:
            sent = self._client.build_request(request.method, url, headers=headers, content=body)
            found = self._client.send(sent, stream=True)
            kept = self._headers(found)
            if not _TEXT.match(found.headers.get("content-type", "")):
                ended = BackgroundTask(found.close)
                return StreamingResponse(
                    found.iter_raw(), found.status_code, kept, background=ended
                )
            found.read()
        except httpx.HTTPError as error:
            return PlainTextResponse(f"{server.daemon} does not answer: {error}\n", 502)
        return Response(self._linked(found.text), found.status_code, kept)

    def _headers(self, found: httpx.Response) -> dict[str, str]:
        kept = {n: v for n, v in found.headers.items() if n not in _OF_ONE_CONNECTION}
        if "location" in kept:
            kept["location"] = self._linked(kept["location"])
        return kept | {"referrer-policy": "no-referrer"}

    def _linked(self, text: str) -> str:
        """The text with links to daemons replaced by links to this proxy."""
        return self._link.sub(lambda found: self._links[found.group()], text)
