"""The web servers of an existing cluster, for code that uses a client of httpx.

The requests are those of ``hosts.rest``: TLS, SPNEGO, errors with remedies.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.engines.hadoop.webhdfs import LIMIT
from windtunnel.engines.sockets import OpenSocket
from windtunnel.errors import ClusterAccessError, DeploymentError
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.site import read_names

if TYPE_CHECKING:
    import httpx

    from windtunnel.hosts.rest import RestClient

_TIMEOUT_S = 10.0
# Failures that a repetition does not change: reason of the error -> HTTP status.
_REFUSALS = {"not found": 404, "forbidden": 403, "refused": 400}
_FINAL = ("too long", "redirect", "certificate", "certificate name", "tls", "no tls")


def tcp_socket() -> socket.socket:
    """A TCP socket of this machine that is not connected yet."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


class NamedSocket(socket.socket):
    """A TCP socket that connects to names of a table instead of the system's names."""

    names: Mapping[str, str] = {}

    def connect(self, address: Any) -> None:
        """Connect to a host of the table, or of the system."""
        host, port = address
        super().connect((self.names.get(host, host), port))


class Web:
    """Requests to the web servers of a cluster.

    Parameters
    ----------
    secure:
        Whether the cluster uses Kerberos; the requests then name no user.
    tickets:
        The ticket cache; None for that of the user.

    Raises
    ------
    DescriptionError
        If the file of the host names cannot be read.
    """

    def __init__(
        self, options: AttachedOptions, *, secure: bool, tickets: str | None = None
    ) -> None:
        self.client = _client(options, secure=secure, tickets=tickets)
        self.http: Any = _Http(self.client, secure=secure)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def json(self, address: str, path: str, **query: str) -> dict[str, Any]:
        """The JSON object that a web server returns; raises ClusterAccessError."""
        return self.client.get_json(address + path, query)

    def first(
        self, addresses: Sequence[str], path: str, active: str, **query: str
    ) -> tuple[str, dict[str, Any]]:
        """The first web server whose answer contains the key ``active``, and this answer.

        A daemon in standby redirects, or answers without it. Raises ClusterAccessError if there
        is none.
        """
        failure: ClusterAccessError | None = None
        for address in addresses:
            try:
                found = self.json(address, path, **query)
            except ClusterAccessError as error:
                failure = error
                continue
            if active in found:
                return address, found
            failure = ClusterAccessError(
                f"{address}{path} returned no '{active}'",
                remedy="check that 'conf' is the configuration of this cluster.",
                reason="other daemon",
            )
        raise failure or ClusterAccessError(
            f"no address for {path} is known",
            remedy="check that 'conf' has the web addresses of the cluster's daemons.",
        )


def _client(options: AttachedOptions, *, secure: bool, tickets: str | None) -> RestClient:
    return rest_client(options, ticket_cache=tickets, user=None if secure else options.account)


def rest_client(options: AttachedOptions, **given: Any) -> RestClient:
    """A client with the trusted certificates and the host names of the options.

    ``given`` are attributes of ``hosts.rest.Access``, which take precedence.
    """
    # httpx is slow to import, and 'plan' of other testbeds needs none
    from windtunnel.engines.transport import Transport
    from windtunnel.hosts.rest import Access, RestClient

    names = host_addresses(options)
    files = {
        name: Path(path).expanduser()
        for name in ("ca_file", "krb5_conf")
        if (path := getattr(options, name))
    }
    defaults: dict[str, Any] = {**files, "timeout_s": _TIMEOUT_S}
    access = Access(**defaults | given)
    if not options.hosts_file:
        return RestClient(access)
    return RestClient(access, transport=partial(Transport, _named(names)))


def host_addresses(options: AttachedOptions) -> dict[str, str]:
    """Host name -> address of the file of host names; raises DescriptionError."""
    if not options.hosts_file:
        return {}
    return read_names(Path(options.hosts_file).expanduser().absolute())


def _named(names: Mapping[str, str]) -> OpenSocket:
    def make() -> socket.socket:
        made = NamedSocket(socket.AF_INET, socket.SOCK_STREAM)
        made.names = names
        return made

    return make


class _Http:
    """The part of a client of httpx that the clients of WebHDFS and of the history server use.

    Redirects are followed; an error of the server is a response, as httpx returns it.
    """

    def __init__(self, client: RestClient, *, secure: bool) -> None:
        self._client = client
        self._secure = secure

    def close(self) -> None:
        """Nothing: the owner closes the connections."""

    def get(self, url: str, **_: Any) -> httpx.Response:
        """Send a GET request."""
        return self.request("GET", url)

    def request(
        self,
        method: str,
        url: str,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> httpx.Response:
        """Send a request. Raises httpx.TransportError if a repetition may have an answer."""
        import httpx

        from windtunnel.hosts.rest.client import LIMIT_BYTES

        given = dict(params or {})
        if self._secure:  # the server takes the user from the ticket
            given.pop("user.name", None)
        try:
            answer = self._client.send(
                method,
                url,
                given,
                content=content,
                limit_bytes=max(LIMIT_BYTES, (extensions or {}).get(LIMIT, 0)),
            )
        except ClusterAccessError as error:
            if error.reason in _FINAL:
                return httpx.Response(400, text=f"{error.message}; {error.remedy}")
            if error.reason in _REFUSALS:
                return httpx.Response(_REFUSALS[error.reason], text=error.message)
            raise httpx.TransportError(f"{error.message}; {error.remedy}") from error
        headers = {"content-type": answer.content_type}
        return httpx.Response(answer.status, content=answer.body, headers=headers)


def as_deployment_error(error: ClusterAccessError) -> DeploymentError:
    """The same error as a DeploymentError, for code that handles errors of deployments."""
    return DeploymentError(error.message, remedy=error.remedy)
