"""A client for the web endpoints of a cluster."""

from __future__ import annotations

import base64
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from http.cookies import CookieError, SimpleCookie
from typing import Any, Self

import httpx

from windtunnel.errors import ClusterAccessError, UsageError
from windtunnel.hosts.rest import problems
from windtunnel.hosts.rest.access import Access
from windtunnel.hosts.rest.gssapi import Credentials, GssError, NoLibraryError

LIMIT_BYTES = 256 << 20
_REDIRECTS = 5
_CLOSED = "disconnected without sending a response"  # of httpx
_COOKIE = "hadoop.auth"
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9a-fA-F:.]+")

Params = Mapping[str, str | int | float]
MakeTransport = Callable[[ssl.SSLContext], httpx.BaseTransport]


@dataclass(frozen=True)
class Sent:
    """One request that was sent: its time, result and size; without parameters that are secret."""

    at: float
    method: str
    url: str
    status: int
    bytes: int
    elapsed_s: float


@dataclass(frozen=True)
class Answer:
    """An answer: status, content, and the URL that sent it after redirects."""

    status: int
    body: bytes
    url: str
    content_type: str

    @property
    def text(self) -> str:
        """The content as text."""
        return self.body.decode(errors="replace")

    def json(self) -> dict[str, Any]:
        """The content as a JSON object; raises ClusterAccessError if it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise problems.not_json(self.text, self.content_type, self.url)
        return found


class RestClient:
    """Sends requests to a cluster; thread-safe.

    A server that offers ``Negotiate`` receives a SPNEGO token; its cookie ``hadoop.auth`` is kept
    for the next requests. A redirect is followed only if path and user stay the same: to the
    active server of a pair, to a DataNode, or to TLS.

    Parameters
    ----------
    access:
        Certificate, Kerberos, proxy, user.
    notify:
        Called with each request that was sent, for the record.
    transport:
        Makes a transport of httpx from the trusted certificates, for sockets of another network.

    Raises
    ------
    UsageError
        Options that exclude each other, a missing file, a file that holds no certificate.
    """

    def __init__(
        self,
        access: Access = Access(),  # noqa: B008 - immutable
        notify: Callable[[Sent], object] = lambda sent: None,
        transport: MakeTransport | None = None,
    ) -> None:
        access.check()
        self._access = access
        self._notify = notify
        self._password = access.password()
        self._cookies: dict[tuple[str, str, int | None], str] = {}
        self._lock = threading.Lock()
        self._credentials = Credentials(
            None if access.keytab is None else str(access.keytab),
            access.principal,
            access.ticket_cache,
            None if access.krb5_conf is None else str(access.krb5_conf),
        )
        trusted = _trust(access)
        self._http = httpx.Client(
            timeout=access.timeout_s,
            trust_env=False,
            verify=trusted,
            proxy=access.proxy,
            # httpx does not apply 'verify' to a given transport
            transport=None if transport is None else transport(trusted),
            follow_redirects=False,
            # cookies are kept here by server, not by host: a host has several daemons
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers={"Accept": "application/json", "User-Agent": "windtunnel"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get_json(self, url: str, params: Params | None = None) -> dict[str, Any]:
        """The JSON object at a URL.

        Raises
        ------
        ClusterAccessError
            The server does not answer, refuses, or answers with something else.
        """
        return self.send("GET", url, params).json()

    def get_bytes(
        self, url: str, params: Params | None = None, limit_bytes: int = LIMIT_BYTES
    ) -> bytes:
        """The content at a URL, of at most ``limit_bytes``. Raises ClusterAccessError."""
        return self.send("GET", url, params, limit_bytes=limit_bytes).body

    def send(
        self,
        method: str,
        url: str,
        params: Params | None = None,
        *,
        content: bytes | None = None,
        json_body: Any = None,
        limit_bytes: int = LIMIT_BYTES,
    ) -> Answer:
        """Send a request and read its answer.

        Raises
        ------
        ClusterAccessError
            The server does not answer, refuses, or answers with something else.
        UsageError
            The URL is not valid.
        """
        try:
            target = httpx.URL(
                url, params={**httpx.QueryParams(httpx.URL(url).query), **(params or {})}
            )
        except (httpx.InvalidURL, TypeError) as error:
            raise UsageError(f"'{url}' is not a URL: {error}", remedy="correct it.") from None
        if target.scheme not in ("http", "https") or not _HOST.fullmatch(target.host):
            raise UsageError(
                f"'{url}' is not a URL of a web server",
                remedy="write http://HOST:PORT or https://HOST:PORT.",
            )
        body = None if json_body is None else json.dumps(json_body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        for _ in range(_REDIRECTS):
            request = self._http.build_request(
                method, target, content=body if content is None else content, headers=headers
            )
            response, answer = self._exchange(request, limit_bytes)
            if not response.has_redirect_location:  # 201 of WebHDFS has a location, too
                return answer
            next_target = _followed(target, response)
            if self._password is not None and next_target.netloc != target.netloc:
                # the password is only for the server of the options
                raise problems.redirected(str(_bare(target)), next_target)
            target = next_target
        raise problems.redirected(str(_bare(httpx.URL(url))), target)

    def _exchange(self, request: httpx.Request, limit: int) -> tuple[httpx.Response, Answer]:
        """The answer to a request, after authentication if the server requires it."""
        url = request.url
        where = str(_bare(url))
        origin = (url.scheme, url.host, url.port)
        negotiated = False
        with self._lock:
            cookie = self._cookies.get(origin)
        if cookie is not None:
            request.headers["Cookie"] = f'{_COOKIE}="{cookie}"'
        elif self._password is not None:
            request.headers["Authorization"] = self._basic(url, where)
        elif self._access.user is not None:
            request = self._named(request)
        response, body = self._once(request, limit, where)
        if response.status_code == 401 and self._password is None and _negotiates(response):
            negotiated = True
            request.headers.pop("Cookie", None)
            request.headers["Authorization"], check = self._negotiate(url.host, where)
            response, body = self._once(request, limit, where)
            _check_server(check, response, where)
        elif response.status_code == 401 and cookie is not None:
            request.headers.pop("Cookie", None)  # it has expired
            if self._password is not None:
                request.headers["Authorization"] = self._basic(url, where)
            response, body = self._once(self._named(request), limit, where)
        self._keep_cookie(origin, response)
        answer = Answer(response.status_code, body, where, response.headers.get("content-type", ""))
        if not response.is_redirect:
            problem = problems.status(
                response,
                answer.text[:20_000],
                where,
                negotiated=negotiated,
                with_password=self._password is not None,
            )
            if problem is not None:
                with self._lock:
                    self._cookies.pop(origin, None)
                raise problem
        return response, answer

    def _once(self, request: httpx.Request, limit: int, where: str) -> tuple[httpx.Response, bytes]:
        began, at = time.monotonic(), time.time()
        try:
            response = self._open(request)
            try:
                body = _read(response, limit, where)
            finally:
                response.close()
        except httpx.HTTPError as error:
            self._note(Sent(at, request.method, where, 0, 0, time.monotonic() - began))
            raise problems.transport(error, where, request.url) from error
        elapsed = time.monotonic() - began
        self._note(Sent(at, request.method, where, response.status_code, len(body), elapsed))
        return response, body

    def _open(self, request: httpx.Request) -> httpx.Response:
        try:
            return self._http.send(request, stream=True)
        except httpx.RemoteProtocolError as error:
            if request.method != "GET" or _CLOSED not in str(error):
                raise
            try:  # the server closed an idle connection, or did so after its last answer
                return self._http.send(request, stream=True)
            except httpx.HTTPError:
                raise error from None

    def _note(self, sent: Sent) -> None:
        with self._lock:
            self._notify(sent)

    def _basic(self, url: httpx.URL, where: str) -> str:
        if url.scheme != "https":
            raise ClusterAccessError(
                f"{where}: a password is not sent without TLS",
                remedy="use https://.",
                reason="password without tls",
            )
        pair = f"{self._access.user}:{self._password}".encode()
        return "Basic " + base64.b64encode(pair).decode()

    def _named(self, request: httpx.Request) -> httpx.Request:
        """The request with the user's name, for clusters without Kerberos."""
        if self._access.user is not None and "user.name" not in request.url.params:
            request.url = request.url.copy_add_param("user.name", self._access.user)
        return request

    def _negotiate(self, host: str, where: str) -> tuple[str, Callable[[bytes], None]]:
        try:
            token, check = self._credentials.token(host)
        except GssError as error:
            raise problems.kerberos(str(error), where) from None
        except NoLibraryError:
            raise problems.no_library(where) from None
        return "Negotiate " + base64.b64encode(token).decode(), check

    def _keep_cookie(self, origin: tuple[str, str, int | None], response: httpx.Response) -> None:
        for header in response.headers.get_list("set-cookie"):
            with suppress(CookieError):
                found = SimpleCookie(header).get(_COOKIE)
                if found is not None and found.value:
                    with self._lock:
                        self._cookies[origin] = found.value


def _trust(access: Access) -> ssl.SSLContext:
    """The certificates that a client trusts; raises UsageError if the CA file has none."""
    if access.ca_file is None:
        return _system_trust()
    try:
        return ssl.create_default_context(cafile=str(access.ca_file))
    except ssl.SSLError:
        raise UsageError(
            f"the CA file {access.ca_file} contains no certificate in PEM form",
            remedy="convert it: openssl pkcs12 -in STORE -nokeys -out ca.pem "
            "(a JKS store: keytool -exportcert -rfc).",
        ) from None
    except OSError as error:
        raise UsageError(
            f"the CA file {access.ca_file} cannot be read: {error.strerror or error}",
            remedy="check its path and its permissions.",
        ) from None


@cache
def _system_trust() -> ssl.SSLContext:
    """The certificates of this machine, read once."""
    return ssl.create_default_context()


def _negotiates(response: httpx.Response) -> bool:
    offered = response.headers.get_list("www-authenticate")
    return any(one.strip().lower().startswith("negotiate") for one in offered)


def _check_server(check: Callable[[bytes], None], response: httpx.Response, where: str) -> None:
    """Check the proof of the server that it owns the key of the service."""
    if not response.is_success:
        return
    for offered in response.headers.get_list("www-authenticate"):
        kind, _, token = offered.strip().partition(" ")
        if kind.lower() == "negotiate" and token:
            try:
                check(base64.b64decode(token))
            except (GssError, ValueError) as error:
                raise ClusterAccessError(
                    f"{where}: the server's proof of its Kerberos key is wrong: {error}",
                    remedy="another server may answer at this address: check the name service.",
                    reason="server not authentic",
                ) from None


def _followed(url: httpx.URL, response: httpx.Response) -> httpx.URL:
    """The target of a redirect. Raises ClusterAccessError if it must not be followed."""
    target = url.join(response.headers["location"])
    where = str(_bare(url))
    downgraded = url.scheme == "https" and target.scheme != "https"
    if downgraded or target.scheme not in ("http", "https") or target.path != url.path:
        raise problems.redirected(where, target)
    return target


def _read(response: httpx.Response, limit: int, where: str) -> bytes:
    parts, size = [], 0
    for part in response.iter_bytes():
        size += len(part)
        if size > limit:
            raise problems.too_long(where, limit)
        parts.append(part)
    return b"".join(parts)


def _bare(url: httpx.URL) -> httpx.URL:
    """A URL without user and parameters, which may contain tokens."""
    return url.copy_with(query=None, userinfo=b"")
