"""Ports of the daemons of engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.engines.hadoop.layout import free_ports
from windtunnel.hosts.base import Host

Ports = Mapping[tuple[str, str, str], int]
"""(role, host name, name of the port) -> its number."""


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
