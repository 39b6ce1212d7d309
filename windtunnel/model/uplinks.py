"""Ports, uplinks and switches of a described cluster: what they carry in bytes/s."""

from __future__ import annotations

import math

from windtunnel.cluster import Cluster, HostClass, Nic
from windtunnel.cluster.host_counts import Classes

SWITCH_PORTS = 48  # hosts of one switch: the usual number of ports; more hosts need several


def port_rate(port: Nic) -> float:
    """What the ports carry: headers of Ethernet take 38 bytes of a frame, those of TCP/IP 52."""
    if port.measured_rate:
        return float(port.measured_rate) * port.count
    mtu = port.mtu or 1500
    return float(port.rate or 0.0) * port.count * (mtu - 52) / (mtu + 38)


def total_rate(cluster: Cluster, compute: Classes) -> float:
    """What crosses racks, or the switch: the smallest limit in bytes/s; infinite if none."""
    network = cluster.network
    if network is None:
        return math.inf
    limits = [math.inf]
    switch = network.switch
    if switch is not None and switch.total_rate is not None:
        limits.append(float(switch.total_rate))
    count = _racks(cluster)
    if count > 1:
        own = [rack.uplink or network.uplink for rack in network.racks.values()]
        least = min((float(one) for one in own if one), default=None)
        uplink = least or _common(cluster, compute)
        if uplink is not None:
            # a fraction (count - 1) / count of the traffic of each rack leaves it
            limits.append(uplink * count * count / (count - 1))
    return min(limits)


def client_rate(cluster: Cluster, compute: Classes, clients: Classes, stores: Classes) -> float:
    """What a client outside of the storage hosts copies through the uplink of its own rack.

    Data on the storage hosts of its rack does not use the uplink. Infinite without a limit.
    """
    network, count = cluster.network, _racks(cluster)
    if network is None or count <= 1:
        return math.inf
    name, one, _ = clients[0]
    index = 0 if "client" in one.roles else min(_holders(one, "client"), default=0)
    uplink = _common(cluster, compute)
    near = 1.0 / count
    rack = network.racks.get(cluster.rack_of(name, index) or "")
    if rack is not None:
        uplink = float(rack.uplink) if rack.uplink else uplink
        total = sum(number for _, _, number in stores)
        near = sum(_within(rack.hosts, name, number) for name, _, number in stores) / total
    return math.inf if uplink is None or near >= 1.0 else uplink / (1.0 - near)


def racks_of(cluster: Cluster) -> float:
    """Racks over which HDFS places replicas; 0 if there is one, or if it does not know them."""
    flat = cluster.storage.topology in ("flat", "host")
    guests = any(one.vms for one in cluster.hosts.values()) and cluster.storage.topology is None
    count = _racks(cluster)
    return 0.0 if flat or guests or count <= 1 else float(count)


def no_limit(cluster: Cluster, compute: Classes) -> bool:
    """Whether hosts of several switches have no described limit between them."""
    hosts = sum(one.count for one in cluster.hosts.values())
    several = hosts > SWITCH_PORTS or _racks(cluster) > 1
    return several and math.isinf(total_rate(cluster, compute))


def _racks(cluster: Cluster) -> int:
    network = cluster.network
    return 0 if network is None else network.spread_over or len(network.racks)


def _common(cluster: Cluster, classes: Classes) -> float | None:
    """The uplink of racks that have none of their own; None if it is unknown."""
    network = cluster.network
    assert network is not None
    if network.uplink:
        return float(network.uplink)
    line = sum(port_rate(port) for _, one, _ in classes[:1] for port in one.nics or ())
    total = sum(number for _, _, number in classes)
    over = network.oversubscription
    return line * total / _racks(cluster) / over if over and line else None


def _holders(one: HostClass, role: str) -> list[int]:
    return [index for index, roles in one.extra_roles.items() if role in roles]


def _within(entries: tuple[str, ...], name: str, number: int) -> int:
    """Hosts of a class that are in a rack, which names classes or single hosts."""
    if name in entries:
        return number
    single = [entry.rpartition("-") for entry in entries]
    return sum(head == name and tail.isdigit() for head, _, tail in single)
