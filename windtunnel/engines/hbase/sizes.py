"""Memory of HBase's daemons, sized to the machine that all hosts of a deployment share."""

from __future__ import annotations

import re
from collections.abc import Mapping

MIB = 1 << 20
BLOCK_CACHE, BLOCK_CACHE_SHARE = "hfile.block.cache.memory.size", "hfile.block.cache.size"
# Heaps, MiB. A RegionServer gets a sixteenth of the machine, shared among all of them: data,
# containers and the page cache want the rest. Of a host with memory of its own it gets a quarter.
HEAP_MB = {"zookeeper": 128, "hmaster": 256}
BESIDE_HEAP_MB = 128  # of a JVM: classes, code, threads
_LEAST_MB, _MOST_MB, _SHARE = 384, 2048, 16
_SMALLEST_MB = 192  # with less a RegionServer does not come up
# Block cache of a RegionServer if the description does not say, MiB. HBase's own default, 40 % of
# the heap, would hold all the data that a small machine can load in a minute.
_CACHE_MB = 32
_SIZE = re.compile(r"(\d+)([kmg]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def regionserver_heap_mb(memory_bytes: int, servers: int, own_bytes: int | None = None) -> int:
    """Heap of each RegionServer, MiB.

    Parameters
    ----------
    memory_bytes:
        All memory of the machine.
    servers:
        RegionServers on it.
    own_bytes:
        Memory that each of their hosts has for itself; None where they share the machine's.
    """
    heap = max(_LEAST_MB, min(_MOST_MB, memory_bytes // MIB // _SHARE // max(servers, 1)))
    return heap if own_bytes is None else max(_SMALLEST_MB, min(heap, own_bytes // MIB // 4))


def cache_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The size of a block cache as HBase's setting has it, where the description gives none."""
    given = BLOCK_CACHE in settings or BLOCK_CACHE_SHARE in settings
    return {} if given else {BLOCK_CACHE: f"{_CACHE_MB}m"}


def cache_bytes(settings: Mapping[str, str], heap_mb: int) -> float:
    """Block cache of one RegionServer, bytes; ``settings`` are the description's of HBase.

    A size that is none counts as all of the heap: HBase will say what is wrong with it.
    """
    wanted = {**cache_settings(settings), **settings}
    if BLOCK_CACHE in wanted:
        size = _SIZE.fullmatch(wanted[BLOCK_CACHE].strip())
        return float(int(size[1]) * _UNITS[size[2].lower()]) if size else float(heap_mb * MIB)
    try:
        return float(wanted[BLOCK_CACHE_SHARE]) * heap_mb * MIB
    except ValueError:
        return float(heap_mb * MIB)
