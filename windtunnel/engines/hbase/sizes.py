"""Memory of HBase's daemons and their block caches."""

from __future__ import annotations

import re
from collections.abc import Mapping

from windtunnel.engines.ycsb.sizes import CACHE_MB, MIB

BLOCK_CACHE, BLOCK_CACHE_SHARE = "hfile.block.cache.memory.size", "hfile.block.cache.size"
# Heaps in MiB; engines/ycsb/sizes.py has that of a RegionServer.
HEAP_MB = {"zookeeper": 128, "hbase-master": 256}
MOST_OF_HEAP = 0.8
MEMSTORES, _MEMSTORES_FRACTION = "hbase.regionserver.global.memstore.size", 0.4
NON_HEAP_MB = 128  # of a JVM: classes, code, threads
_SIZE = re.compile(r"(\d+)([kmg]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def cache_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """HBase's setting for the size of a block cache; empty if the description has one."""
    given = BLOCK_CACHE in settings or BLOCK_CACHE_SHARE in settings
    return {} if given else {BLOCK_CACHE: f"{CACHE_MB}m"}


def memstore_fraction(settings: Mapping[str, str]) -> float:
    """Largest fraction of a heap for memstores; HBase's default if the setting is not a number."""
    try:
        return float(settings.get(MEMSTORES, _MEMSTORES_FRACTION))
    except ValueError:
        return _MEMSTORES_FRACTION


def cache_bytes(settings: Mapping[str, str], heap_mb: int) -> float:
    """Block cache of one RegionServer, bytes; ``settings`` are the description's for HBase.

    An invalid size counts as the full heap: HBase reports the error itself.
    """
    wanted = {**cache_settings(settings), **settings}
    if BLOCK_CACHE in wanted:
        size = _SIZE.fullmatch(wanted[BLOCK_CACHE].strip())
        return float(int(size[1]) * _UNITS[size[2].lower()]) if size else float(heap_mb * MIB)
    try:
        return float(wanted[BLOCK_CACHE_SHARE]) * heap_mb * MIB
    except ValueError:
        return float(heap_mb * MIB)
