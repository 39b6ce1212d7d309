"""Memory of a store's server, sized to the machine that all hosts of a deployment share."""

from __future__ import annotations

from collections.abc import Collection

from windtunnel.cluster import Cluster

MIB = 1 << 20
# MiB. All servers together get a sixteenth of the machine's memory: data, containers and the page
# cache need the rest. On a host with its own memory, a server gets a quarter of it. The sizes are
# the same for all stores, because stores are compared.
_LEAST_MB, _MOST_MB, _DIVISOR = 384, 2048, 16
_SMALLEST_MB = 192  # a RegionServer does not start with less
CACHE_MB = 32
"""Default block cache of a server, MiB. HBase's own default, 40 % of the heap, and Kudu's, 512 MiB,
would hold all the data that a small machine can load in a minute."""


def server_mb(memory_bytes: int, servers: int, own_bytes: int | None = None) -> int:
    """Memory of each server, MiB: the heap of a JVM, or the limit of another process.

    Parameters
    ----------
    memory_bytes:
        All memory of the machine.
    servers:
        Servers on it.
    own_bytes:
        Memory of each server's host; None if the hosts share the machine's memory.
    """
    found = max(_LEAST_MB, min(_MOST_MB, memory_bytes // MIB // _DIVISOR // max(servers, 1)))
    return found if own_bytes is None else max(_SMALLEST_MB, min(found, own_bytes // MIB // 4))


def own_memory(cluster: Cluster, hosts: Collection[str]) -> int | None:
    """Smallest described memory of some hosts, bytes; None if the description gives none."""
    known = [
        node.guest.memory if node.guest else cluster.hosts[node.class_name].memory
        for node in cluster.nodes()
        if node.name in hosts
    ]
    return min((memory for memory in known if memory is not None), default=None)
