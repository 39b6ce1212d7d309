"""Hadoop's sizes that scale with the data (blocks, buffers, containers) at full size and in models.

A task needs a JVM independent of its data, so that containers have at least :data:`TASK_MIB`. The
memory that YARN allocates scales with them, which keeps the number of slots. Buffers within a
container are set separately.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from windtunnel.cluster import Cluster
from windtunnel.cluster.description import Setting
from windtunnel.cluster.erasure_code import CELL_BYTES
from windtunnel.cluster.setting_values import (
    CALCULATOR,
    HEAP_RATIO,
    INCREMENT,
    LEAST_MB,
    OLD_INCREMENT_MB,
    SCHEDULER,
    counts_vcores,
    granted_mib,
    heap_ratio,
    is_fair,
    whole,
)
from windtunnel.cluster.settings import default_of
from windtunnel.testbeds.scaled.scale import Scale

MIB = 1 << 20
# The resident memory of a small JVM of Hadoop is 190-260 MiB (field notes, Java 17). The heap of a
# task is 0.8 of its container (mapreduce.job.heap.memory-mb.ratio): 256 of 320 MiB.
TASK_MIB = 320
MASTER_MIB = 512
# Resident memory of an application master outside its heap: 110 MiB of a warm one (Java 17).
_MASTER_OUTSIDE_HEAP_MIB = 144
# The fallbacks of Hadoop 3 for a default of -1, which means "automatic"
# (YarnConfiguration.DEFAULT_NM_PMEM_MB and DEFAULT_NM_VCORES, JobConf's 1024 MB per task).
_NODEMANAGER_MIB = 8192
_NODEMANAGER_VCORES = 8
_CONTAINER_MIB = 1024
_MASTER = "yarn.app.mapreduce.am.resource.mb"
_MASTER_FULL_MIB = 1536  # its default (MRJobConfig.DEFAULT_MR_AM_VMEM_MB)
_STEP_MIB = 16
_SORT_AT_MOST_MIB = 2047  # a Java array (MapTask)
_CHECKSUM_BYTES = 512  # dfs.bytes-per-checksum: a block is a multiple of it
_BLOCK_FLOOR = 64 * 1024  # one packet of the write pipeline
_XMX = re.compile(r"-Xmx(\d+)([kKmMgG]?)")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_KINDS = ("map", "reduce")
_NUMBER = re.compile(r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)([kmgtpe]?)")
# Other settings that are amounts of data: name -> (unit in bytes, minimum).
AMOUNTS: dict[str, tuple[int, int]] = {
    "mapreduce.input.fileinputformat.split.minsize": (1, 0),
    "mapreduce.input.fileinputformat.split.maxsize": (1, _CHECKSUM_BYTES),
    "mapreduce.job.ubertask.maxbytes": (1, 1),
    # The part of a disk that DataNodes do not use, of all disks or of those of a storage type: a
    # model has smaller disks, which it could fill.
    **{
        f"dfs.datanode.du.reserved{kind}": (1, 0)
        for kind in ("", ".disk", ".ssd", ".archive", ".ram_disk", ".nvdimm")
    },
}


@dataclass(frozen=True)
class Tasks:
    """The sizes that determine tasks: containers and sort buffer in MiB, the others in bytes.

    ``slots`` is the number of map containers of a NodeManager; ``reduce_buffer`` is the memory of a
    reducer for the shuffle. ``nodemanager_vcores`` is None if YARN counts only memory. The
    application master is that of MapReduce.
    """

    block_bytes: int
    map_mib: int
    reduce_mib: int
    nodemanager_mib: int
    sort_mib: int
    spill_share: float
    reduce_buffer: float
    map_vcores: int = 1
    nodemanager_vcores: int | None = None
    master_mib: int = 0
    master_vcores: int = 1

    @property
    def slots(self) -> int:
        """Number of map containers of a host at the same time."""
        fit = self.nodemanager_mib // self.map_mib
        if self.nodemanager_vcores is not None:
            fit = min(fit, self.nodemanager_vcores // self.map_vcores)
        return max(1, fit)

    @property
    def master_slots(self) -> int:
        """Number of map containers that do not fit on the host of an application master."""
        fit = (self.nodemanager_mib - self.master_mib) // self.map_mib
        if self.nodemanager_vcores is not None:
            fit = min(fit, (self.nodemanager_vcores - self.master_vcores) // self.map_vcores)
        return self.slots - min(self.slots, max(0, fit))


def number(cluster: Cluster, name: str, otherwise: float) -> float:
    """A setting as a number: its value, Hadoop's default, or ``otherwise`` (for -1 and none).

    Sizes can have Hadoop's binary prefixes: 256m are 256 MiB.
    """
    found = _parsed(str(cluster.settings.get(name)))
    if found is None:
        found = _parsed(str(default_of(name, cluster.software.hadoop)))
    return otherwise if found is None else found


@lru_cache(1024)
def _parsed(text: str) -> float | None:
    match = _NUMBER.fullmatch(text.strip().lower())
    if match is None:
        found = whole(text)  # hexadecimal
        return None if found is None or found < 0 else float(found)
    return float(match[1]) * 1024.0 ** (" kmgtpe".index(match[2] or " "))


def small_blocks(model: Cluster) -> str:
    """Why a model cannot use its erasure code, whose cells do not scale; empty if it can."""
    if tasks_of(model).block_bytes >= CELL_BYTES:
        return ""
    return (
        "storage.erasure_code: the blocks of the model are smaller than a cell of 1 MiB, and HDFS "
        "refuses this: choose a larger 'data' or a larger storage.block_size"
    )


def uber_tasks(cluster: Cluster) -> str:
    """Why tasks would run without the CPU quota of their host; empty if none do."""
    uber = str(cluster.settings.get("mapreduce.job.ubertask.enable", "false")).lower()
    if cluster.software.task_start == "stock" or uber != "true":
        return ""
    return (
        "settings.mapreduce.job.ubertask.enable: with 'software.task_start: warm', the CPU quota "
        "of a host does not limit application masters, and with this setting they run the tasks "
        "of small jobs: set it to false, or use 'task_start: stock'"
    )


def tasks_of(cluster: Cluster) -> Tasks:
    """The sizes of a description, with Hadoop's defaults for missing settings."""
    shuffle = number(cluster, "mapreduce.reduce.shuffle.input.buffer.percent", 0.70)
    heap = reduce_heap_bytes(cluster)
    return Tasks(
        block_bytes=_block_bytes(cluster),
        map_mib=_container_mib(cluster, "map"),
        reduce_mib=_container_mib(cluster, "reduce"),
        nodemanager_mib=int(
            number(cluster, "yarn.nodemanager.resource.memory-mb", _NODEMANAGER_MIB)
        ),
        sort_mib=int(number(cluster, "mapreduce.task.io.sort.mb", 100)),
        spill_share=number(cluster, "mapreduce.map.sort.spill.percent", 0.80),
        reduce_buffer=heap * shuffle,
        map_vcores=max(1, int(number(cluster, "mapreduce.map.cpu.vcores", 1))),
        nodemanager_vcores=_vcores(cluster),
        master_mib=_allocated_mib(cluster, number(cluster, _MASTER, _MASTER_FULL_MIB)),
        master_vcores=max(1, int(number(cluster, "yarn.app.mapreduce.am.resource.cpu-vcores", 1))),
    )


def _vcores(cluster: Cluster) -> int | None:
    scheduler, calculator = (str(cluster.settings.get(n, "")) for n in (SCHEDULER, CALCULATOR))
    if not counts_vcores(scheduler, calculator):
        return None
    return int(number(cluster, "yarn.nodemanager.resource.cpu-vcores", _NODEMANAGER_VCORES))


def reduce_heap_bytes(cluster: Cluster) -> float:
    """The memory of a reduce task of which the shuffle gets its fraction, in bytes."""
    return number(cluster, "mapreduce.reduce.memory.totalbytes", _heap_bytes(cluster, "reduce"))


def model_settings(cluster: Cluster, scale: Scale) -> dict[str, Setting]:
    """The settings of the model: those of the description, with scaled amounts of data.

    Values are at least Hadoop's minimum; the similarity report shows the deviation.
    """
    full = tasks_of(cluster)
    shrink = container_factor(full, scale)
    sizes = {kind: _step(getattr(full, f"{kind}_mib") * shrink) for kind in _KINDS}
    held = max(full.nodemanager_mib * sizes["map"] // full.map_mib, full.slots * sizes["map"])
    heap = reduce_heap_bytes(cluster)
    master = max(min(full.master_mib, MASTER_MIB), _step(full.master_mib * shrink))
    block = model_block(full.block_bytes, scale)
    if scale.combine.slots > 1:  # a part of a combined slot: the application master takes none
        master = min(master, max(sizes["map"], TASK_MIB) - _STEP_MIB)
        held += master
    else:
        held, master = _with_master(full, sizes["map"], held, master)
    held = max(held, master)  # the first application master must fit
    found: dict[str, Setting] = {
        **cluster.settings,
        **dict(_amounts(cluster, scale)),
        "mapreduce.map.memory.mb": sizes["map"],
        "mapreduce.reduce.memory.mb": sizes["reduce"],
        "mapreduce.task.io.sort.mb": min(
            _SORT_AT_MOST_MIB, max(1, round(full.sort_mib * scale.data))
        ),
        # it determines the memory of a reducer for the shuffle (MergeManagerImpl)
        "mapreduce.reduce.memory.totalbytes": max(MIB, round(heap * scale.data)),
        _MASTER: master,
        "yarn.app.mapreduce.am.command-opts": _master_options(cluster, master),
        "yarn.nodemanager.resource.memory-mb": held,
        LEAST_MB: _STEP_MIB,
        "yarn.scheduler.maximum-allocation-mb": max(held, *sizes.values()),
        "dfs.namenode.fs-limits.min-block-size": min(block, MIB),
    }
    found.pop("dfs.blocksize", None)  # the description has it as storage.block_size
    if is_fair(str(cluster.settings.get(SCHEDULER, ""))):
        found.pop(OLD_INCREMENT_MB, None)
        found[INCREMENT] = _STEP_MIB
    return {**found, **dict(_heaps(cluster, shrink))}


def _with_master(full: Tasks, map_mib: int, held: int, master: int) -> tuple[int, int]:
    """Memory of a NodeManager and of the application master in a model, in MiB.

    The application master takes as many slots of its host as at full size, although its JVM does
    not become smaller with the data. The number of slots does not change.
    """
    by_memory = replace(full, nodemanager_vcores=None)
    slots, taken = by_memory.slots, by_memory.master_slots
    free = held - slots * map_mib
    needed = master - taken * map_mib
    free = max(free, min(needed, map_mib - _STEP_MIB))
    master = min(master, taken * map_mib + free)
    if taken:
        master = max(master, (taken - 1) * map_mib + free + _STEP_MIB)
    return slots * map_mib + free, master


def _master_options(cluster: Cluster, master_mib: int) -> str:
    """Options of the application master with a heap that fits its container."""
    name = "yarn.app.mapreduce.am.command-opts"
    given = str(cluster.settings.get(name) or default_of(name, cluster.software.hadoop) or "")
    match = _XMX.search(given)
    heap = float(match[1]) * _UNITS[match[2].lower()] / MIB if match else math.inf
    fitting = f"-Xmx{int(min(heap, master_mib - _MASTER_OUTSIDE_HEAP_MIB))}m"
    return _XMX.sub(fitting, given) if match else f"{given} {fitting}".strip()


def model_block(block_bytes: int, scale: Scale) -> int:
    """Block size of the model in bytes: a multiple of checksum chunks, at least a packet."""
    wanted = round(block_bytes * scale.data / _CHECKSUM_BYTES) * _CHECKSUM_BYTES
    return min(block_bytes, max(_BLOCK_FLOOR, wanted))


def container_factor(full: Tasks, scale: Scale) -> float:
    """The factor of containers: that of the data, limited by the memory that a JVM needs."""
    least = min(full.map_mib, full.reduce_mib)
    return min(1.0, max(scale.data, TASK_MIB / least))


def _step(mib: float) -> int:
    return math.ceil(mib / _STEP_MIB) * _STEP_MIB


def _block_bytes(cluster: Cluster) -> int:
    if cluster.storage.block_size is not None:
        return int(cluster.storage.block_size)
    return int(number(cluster, "dfs.blocksize", 128 * MIB))


def _container_mib(cluster: Cluster, kind: str) -> int:
    """The memory that YARN allocates to a task."""
    wanted = number(cluster, f"mapreduce.{kind}.memory.mb", 0)
    if not wanted:
        heap = _given_heap(cluster, kind)
        ratio = heap_ratio(str(cluster.settings.get(HEAP_RATIO)))
        wanted = _CONTAINER_MIB if heap is None else heap / MIB / ratio
    return _allocated_mib(cluster, wanted)


def _allocated_mib(cluster: Cluster, wanted: float) -> int:
    """The memory that YARN allocates to a request."""
    return math.ceil(granted_mib(wanted, lambda name: str(cluster.settings.get(name, ""))))


def _heap_bytes(cluster: Cluster, kind: str) -> float:
    """Heap of a task: ``-Xmx`` if set, otherwise Hadoop's fraction of the container."""
    given = _given_heap(cluster, kind)
    if given is not None:
        return given
    ratio = heap_ratio(str(cluster.settings.get(HEAP_RATIO)))
    return number(cluster, f"mapreduce.{kind}.memory.mb", _CONTAINER_MIB) * MIB * ratio


def _given_heap(cluster: Cluster, kind: str) -> float | None:
    for name in (f"mapreduce.{kind}.java.opts", "mapred.child.java.opts"):
        match = _XMX.search(str(cluster.settings.get(name, "")))
        if match:
            return float(match[1]) * _UNITS[match[2].lower()]
    return None


def _heaps(cluster: Cluster, shrink: float) -> Iterator[tuple[str, Setting]]:
    """Options of tasks with a heap that fits the containers of the model."""
    for name in (*(f"mapreduce.{kind}.java.opts" for kind in _KINDS), "mapred.child.java.opts"):
        given = str(cluster.settings.get(name, ""))
        match = _XMX.search(given)
        if match:
            heap = int(match[1]) * _UNITS[match[2].lower()]
            least = min(heap, TASK_MIB * MIB * 8 // 10)
            yield name, _XMX.sub(f"-Xmx{max(least, int(heap * shrink)) // MIB}m", given)


def _amounts(cluster: Cluster, scale: Scale) -> Iterator[tuple[str, Setting]]:
    for name, (_, least) in AMOUNTS.items():
        if name in cluster.settings:
            yield name, max(least, round(number(cluster, name, 0) * scale.data))
