"""Memory of a store's server, sized to the machine that all hosts of a deployment share."""

from __future__ import annotations

from collections.abc import Collection

from windtunnel.cluster import Cluster

MIB = 1 << 20
# MiB. A server gets a sixteenth of the machine, shared among all of them: data, containers and
# the page cache want the rest. Of a host with memory of its own it gets a quarter. The same for
# every store: they are compared.
_LEAST_MB, _MOST_MB, _SHARE = 384, 2048, 16
_SMALLEST_MB = 192  # with less a RegionServer does not come up
CACHE_MB = 32
"""Block cache of a server if the description does not say, MiB. HBase's own default, 40 % of the
heap, and Kudu's, 512 MiB, would hold all the data that a small machine can load in a minute."""


def server_mb(memory_bytes: int, servers: int, own_bytes: int | None = None) -> int:
    """Memory of each server, MiB: the heap of a JVM, or the limit of another process.

    Parameters
    ----------
    memory_bytes:
        All memory of the machine.
    servers:
        Servers on it.
    own_bytes:
        Memory that each of their hosts has for itself; None where they share the machine's.
    """
    found = max(_LEAST_MB, min(_MOST_MB, memory_bytes // MIB // _SHARE // max(servers, 1)))
    return found if own_bytes is None else max(_SMALLEST_MB, min(found, own_bytes // MIB // 4))


def own_memory(cluster: Cluster, hosts: Collection[str]) -> int | None:
    """Memory of the smallest of some hosts by the description, bytes; None: not given."""
    known = [
        node.guest.memory if node.guest else cluster.hosts[node.class_name].memory
        for node in cluster.nodes()
        if node.name in hosts
    ]
    return min((memory for memory in known if memory is not None), default=None)
