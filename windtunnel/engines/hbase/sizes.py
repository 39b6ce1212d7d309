"""Memory of HBase's daemons, sized to the machine that all hosts of a deployment share."""

from __future__ import annotations

from collections.abc import Mapping

MIB = 1 << 20
BLOCK_CACHE = "hfile.block.cache.size"
# Heaps, MiB. A RegionServer gets a sixteenth of the machine, shared among all of them: data,
# containers and the page cache want the rest.
HEAP_MB = {"zookeeper": 128, "hmaster": 256}
_LEAST_MB, _MOST_MB, _SHARE = 384, 2048, 16
# Block cache of a RegionServer if the description does not say, MiB. HBase's own default, 40 % of
# the heap, would hold all the data that a small machine can load in a minute.
_CACHE_MB = 32


def regionserver_heap_mb(memory_bytes: int, servers: int) -> int:
    """Heap of each RegionServer, MiB.

    Parameters
    ----------
    memory_bytes:
        All memory of the machine.
    servers:
        RegionServers on it.
    """
    return max(_LEAST_MB, min(_MOST_MB, memory_bytes // MIB // _SHARE // max(servers, 1)))


def cache_share(heap_mb: int) -> str:
    """The part of a RegionServer's heap that is block cache, as HBase's setting has it."""
    return f"{_CACHE_MB / heap_mb:.4f}"


def cache_bytes(settings: Mapping[str, str], heap_mb: int) -> float:
    """Block cache of one RegionServer, bytes; ``settings`` are the description's of HBase.

    A share that is no number counts as all of the heap: HBase will say what is wrong with it.
    """
    given = settings.get(BLOCK_CACHE, cache_share(heap_mb))
    try:
        return float(given) * heap_mb * MIB
    except ValueError:
        return float(heap_mb * MIB)
