"""Memory and cores of an application on a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from windtunnel.cluster.setting_values import allocation_step_mib, granted_mib, whole
from windtunnel.engines.hadoop.layout import Layout
from windtunnel.errors import TrialInvalidError

_MASTER_MB, _MASTER_OVERHEAD_MB = 256, 256
_OVERHEAD_MB = 384
"""Spark's own minimum for a JVM's memory outside its heap (spark.executor.memoryOverhead)."""
_LEAST_EXECUTOR_MB = 480
"""Spark refuses heaps below 450 MiB."""
_DRIVER_MB = 768
_NODE_MB = 8192
"""Hadoop's default of yarn.nodemanager.resource.memory-mb."""


@dataclass(frozen=True)
class Sizes:
    """Heap and overhead in MiB; ``cores`` are those of one executor.

    ``local_mb`` is the heap of a driver that does all the work: its own plus that of all executors.
    """

    executors: int
    cores: int
    executor_mb: int
    overhead_mb: int = _OVERHEAD_MB
    master_mb: int = _MASTER_MB
    master_overhead_mb: int = _MASTER_OVERHEAD_MB
    driver_mb: int = _DRIVER_MB

    @property
    def local_mb(self) -> int:
        """Heap of a driver that is its own executor, MiB."""
        return self.driver_mb + self.executors * self.executor_mb


def sizes_of(layout: Layout, executors: int | None, cores: int | None) -> Sizes:
    """Executors that fill the NodeManagers, together with one application master.

    Parameters
    ----------
    executors, cores:
        The requested numbers; by default one executor per NodeManager, with the machine's cores
        divided among them.

    Raises
    ------
    TrialInvalidError
        If the NodeManagers cannot hold the executors: Spark would run with fewer. YARN rounds
        their memory up.
    """
    text_of = layout.properties().get
    step = max(1, int(allocation_step_mib(text_of)))

    def allocated(mib: int) -> int:
        return int(granted_mib(mib, text_of))

    nodes = [p.host for p in layout.placements if "nodemanager" in p.roles]
    name = "yarn.nodemanager.resource.memory-mb"
    offered = min(whole(layout.properties(node)[name]) or _NODE_MB for node in nodes)
    master = allocated(_MASTER_MB + _MASTER_OVERHEAD_MB)
    least = allocated(_LEAST_EXECUTOR_MB + _OVERHEAD_MB)
    most = max(0, offered - master) // least + (len(nodes) - 1) * (offered // least)
    count = executors or len(nodes)
    if count > most:
        raise TrialInvalidError(
            f"{count} executors of at least {least} MiB and an application master of {master} "
            f"MiB do not fit in {len(nodes)} NodeManagers of {offered} MiB; at most {most} "
            f"executors fit: request fewer executors, or raise settings.{name}"
        )
    on_a_node = -(-count // len(nodes))
    heap = (offered - master) // on_a_node // step * step - _OVERHEAD_MB
    each = max(1, (psutil.cpu_count() or 1) // count)
    return Sizes(count, cores or each, max(heap, _LEAST_EXECUTOR_MB))
