"""Memory of Trino's servers."""

from __future__ import annotations

import psutil

from windtunnel.cluster import Cluster
from windtunnel.engines.hadoop.layout import Layout, container_memory_mb
from windtunnel.engines.spark.sizes import sizes_of

MIB = 1 << 20
COORDINATOR_MB = 512
_NON_HEAP_MB = 256
# A worker gets the heap of a Spark executor on the same cluster, on which no other job runs
# meanwhile; at most this much, because its queries need little memory.
_MOST_MB = 2048
_LEAST_MB = 512


def worker_mb(layout: Layout) -> int:
    """Heap of each worker, MiB."""
    return _within(sizes_of(layout, None, None).executor_mb)


def planned_bytes(cluster: Cluster, workers: int, memory_bytes: int) -> int:
    """Planned memory of all servers on a machine with ``memory_bytes``, bytes."""
    nodes = cluster.role_counts().get("nodemanager", 0)
    each = container_memory_mb(psutil.cpu_count() or 1, memory_bytes, max(nodes, 1))
    heaps = [COORDINATOR_MB, *[_within(each)] * workers]
    return sum(heap + _NON_HEAP_MB for heap in heaps) * MIB


def _within(heap_mb: int) -> int:
    return max(_LEAST_MB, min(_MOST_MB, heap_mb))
