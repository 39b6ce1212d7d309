"""Harmless requests to the well-known ports of named hosts: is a service open to everybody.

Only GET requests, a TLS handshake and ZooKeeper's ``ruok``; no password is guessed, nothing is
submitted. The catalogue of ports decides the requests; at most :data:`RATE_S` are sent a second.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from windtunnel.audit.catalogue import Port, ports
from windtunnel.audit.result import PROBED, Result, Status
from windtunnel.errors import UsageError

RATE_S = 5.0
TIMEOUT_S = 3.0
MOST_HOSTS = 100
_ZOOKEEPER = 2181
_BRACKETS = re.compile(r"\[(?P<name>[0-9A-Fa-f:.%a-z]+)\](:(?P<port>\d+))?")


@dataclass(frozen=True)
class Probe:
    """One request to one port of one host; ``kind`` is http, https, tls or zookeeper."""

    host: str
    port: int
    kind: str
    entry: Port

    @property
    def place(self) -> str:
        """Host and port; an IPv6 address is in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address of a GET request."""
        return f"{self.kind}://{self.place}{self.entry.probe}"

    def line(self) -> str:
        """The request in words."""
        what = {
            "http": f"GET {self.url}",
            "https": f"GET {self.url}",
            "tls": f"TLS handshake with {self.place}",
            "zookeeper": f"'ruok' to {self.place}",
        }
        return f"{what[self.kind]}  ({self.entry.purpose})"


def planned(hosts: Sequence[str]) -> list[Probe]:
    """The requests to some hosts (``NAME``, ``NAME:PORT``, ``[IPV6]:PORT``), without sending them.

    Raises
    ------
    UsageError
        If there are too many hosts, or a port is no well-known one.
    """
    if len(hosts) > MOST_HOSTS:
        raise UsageError(f"{len(hosts)} hosts", remedy=f"probe at most {MOST_HOSTS} at once.")
    return [probe for host in hosts for probe in _of_host(host)]


def split_host(text: str) -> tuple[str, str]:
    """Name and port of a host, the port empty if there is none."""
    if found := _BRACKETS.fullmatch(text):
        return found["name"], found["port"] or ""
    name, _, number = text.rpartition(":") if text.count(":") == 1 else (text, "", "")
    return name, number


def _of_host(text: str) -> Iterator[Probe]:
    name, number = split_host(text)
    if not name or (number and not number.isdigit()) or any(c in name for c in "/*, "):
        raise UsageError(f"--probe {text}: not a host", remedy="specify a name, or NAME:PORT.")
    chosen = [one for one in ports() if one.probe or one.tls or one.port == _ZOOKEEPER]
    if number and not any(one.port == int(number) for one in chosen):
        # a service on a port of its own: the harmless requests of every web page
        paths = {one.probe: one for one in chosen if one.probe.startswith(("/jmx?", "/ws/v1/c"))}
        yield from (Probe(name, int(number), "http", one) for one in paths.values())
        return
    for one in chosen:
        if not number or one.port == int(number):
            yield Probe(name, one.port, _kind(one), one)


def _kind(one: Port) -> str:
    if one.port == _ZOOKEEPER:
        return "zookeeper"
    if one.tls:
        return "https" if one.probe else "tls"
    return "http"


def probed(
    hosts: Sequence[str], sleep: Callable[[float], None] = time.sleep
) -> tuple[list[Result], list[dict[str, Any]]]:
    """Send the requests; a result and a row (host, port, TLS, authentication) for each answer."""
    results, rows = [], []
    for place, one in enumerate(planned(hosts)):
        if place:
            sleep(1.0 / RATE_S)
        answer = _SEND[one.kind](one)
        rows.append({"host": one.host, "port": one.port, "purpose": one.entry.purpose, **answer})
        if answer["answers"]:
            results.append(_result(one, answer))
    answered = {one.subject for one in results}
    results += [_silent(host) for host in _hosts(rows) if host not in answered]
    return results, rows


def _hosts(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(row["host"]) for row in rows))


def _none(why: str) -> dict[str, Any]:
    return {"answers": False, "tls": None, "authenticates": None, "said": why}


def _http(one: Probe) -> dict[str, Any]:
    try:
        # the question is who is let in, not whether the certificate is trusted
        with httpx.Client(timeout=TIMEOUT_S, trust_env=False, verify=False) as client:
            answer = client.get(one.url)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return _none(type(error).__name__)
    # 401, 403: authentication or an ACL; a redirect leads to a page of log-in or to TLS
    closed = answer.status_code in (401, 403) or answer.is_redirect
    open_ = answer.status_code == 200
    return {
        "answers": True,
        "tls": one.entry.tls,
        "authenticates": True if closed else False if open_ else None,
        "said": f"HTTP {answer.status_code}{' over TLS' if one.entry.tls else ''}",
    }


def _tls(one: Probe) -> dict[str, Any]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((one.host, one.port), TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=one.host) as secured,
        ):
            said = secured.version() or ""
    except (OSError, ssl.SSLError) as error:
        return _none(type(error).__name__)
    return {"answers": True, "tls": True, "authenticates": None, "said": said}


def _zookeeper(one: Probe) -> dict[str, Any]:
    try:
        with socket.create_connection((one.host, one.port), TIMEOUT_S) as sock:
            sock.settimeout(TIMEOUT_S)
            sock.sendall(b"ruok")
            said = b""
            with contextlib.suppress(TimeoutError):
                said = sock.recv(64)
    except OSError as error:
        return _none(type(error).__name__)
    if said != b"imok":
        return {"answers": bool(said), "tls": False, "authenticates": None, "said": "no 'imok'"}
    return {"answers": True, "tls": False, "authenticates": False, "said": "imok"}


_SEND = {"http": _http, "https": _http, "tls": _tls, "zookeeper": _zookeeper}


def _result(one: Probe, answer: dict[str, Any]) -> Result:
    open_ = answer["authenticates"] is False
    status = Status.FAIL if open_ else Status.UNKNOWN
    if answer["authenticates"] or (answer["tls"] and one.kind == "tls"):
        status = Status.PASS
    said = f"port {one.port} ({one.entry.purpose}): {answer['said']}"
    if open_:
        said += f" without authentication: {one.entry.open}"
    return Result(
        check=PROBED,
        area="surface",
        severity=one.entry.severity,
        subject=one.host,
        about=f"{one.port} {one.entry.probe or one.kind}".strip(),
        status=status,
        question="Does the service reject requests without authentication?",
        observed=said,
        expected="401 or 403",
        reason="The service answered a request without credentials.",
        source="catalogue/audit/ports.yaml",
        remedy=one.entry.remedy if open_ else "",
    )


def _silent(host: str) -> Result:
    return Result(
        check=PROBED,
        area="surface",
        severity="low",
        subject=host,
        about="",
        status=Status.UNKNOWN,
        question="Does the service reject requests without authentication?",
        observed="no well-known port answered",
        expected="401 or 403",
        reason="No service answered, so it is unknown whether services require authentication.",
        source="catalogue/audit/ports.yaml",
        remedy="",
    )
