"""Ports of the daemons of engines."""

from __future__ import annotations

import random
import socket
from collections import deque
from collections.abc import Mapping, Sequence

from windtunnel.engines.sockets import OpenSocket
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host

Ports = Mapping[tuple[str, str, str], int]
"""(role, host name, name of the port) -> its number."""

_PORTS = range(20000, 32000)
_recent_ports: deque[int] = deque(maxlen=1000)


def plan_ports(
    hosts: Mapping[str, Sequence[Host]],
    usual: Mapping[str, Mapping[str, int]],
    *,
    own_networks: bool,
) -> Ports:
    """Give every daemon its default ports or, if hosts share a network, free ports.

    Parameters
    ----------
    hosts:
        Role -> the hosts with this role.
    usual:
        Role -> its default ports, by their names.
    """
    wanted = {
        (role, host.name, name): port
        for role, players in hosts.items()
        for host in players
        for name, port in usual[role].items()
    }
    if own_networks or not wanted:
        return wanted
    host = next(host for players in hosts.values() for host in players)
    return dict(zip(wanted, free_ports(len(wanted), host.open_socket), strict=True))


def free_ports(count: int, open_socket: OpenSocket = socket.socket) -> list[int]:
    """``count`` unused ports, below the range that outgoing connections use.

    ``open_socket`` creates a socket of the network that is examined. All sockets stay open until
    the last port is found, so the ports differ. Ports of recent calls come last: a deployment calls
    this several times before its daemons listen.

    Raises
    ------
    DeploymentError
        If the machine has too few unused ports.
    """
    held: list[socket.socket] = []
    recent = set(_recent_ports)
    try:
        for port in sorted(random.sample(_PORTS, len(_PORTS)), key=recent.__contains__):
            sock = open_socket()
            held.append(sock)
            try:
                sock.bind(("", port))
            except OSError:
                held.pop().close()
            if len(held) == count:
                found = [sock.getsockname()[1] for sock in held]
                _recent_ports.extend(found)
                return found
    finally:
        for sock in held:
            sock.close()
    raise DeploymentError(
        f"fewer than {count} ports are free between {_PORTS.start} and {_PORTS.stop}",
        remedy="end programs that listen there, such as clusters that still run.",
    )
