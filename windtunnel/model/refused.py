"""Descriptions that the model refuses: storage without equations, settings that cannot work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from windtunnel.cluster import Cluster, QuantityError
from windtunnel.cluster.containers import CONTAINERS, NODE_MB, never_started, too_large
from windtunnel.cluster.host_counts import compute_classes
from windtunnel.cluster.settings import hadoop_bytes
from windtunnel.errors import DescriptionError
from windtunnel.model.hardware import DEFAULT_CONTAINER_MIB

BLOCK_BYTES = 128 * 2.0**20  # dfs.blocksize
LEAST_BLOCK_BYTES = 2.0**20  # dfs.namenode.fs-limits.min-block-size, hdfs-default.xml
PREDICTED_STORAGE = ("hdfs", "cephfs")
COPIES = ("put", "get")  # phases without containers
SORTS = ("sort", "validate")  # phases whose reduce tasks write, or wrote, the sorted files
_BLOCK = "dfs.blocksize"
_REDUCES = "mapreduce.job.reduces"
_LEAST_BLOCK = "dfs.namenode.fs-limits.min-block-size"
_MAP = "mapreduce.map.memory.mb"
READ = (_BLOCK, _LEAST_BLOCK, "dfs.replication")
"""Settings that the model reads, in addition to those of ``understood.py``."""
_LARGEST = 2.0**63  # a size of Hadoop is a long


class RefusedError(DescriptionError, QuantityError):
    """A description that the model cannot predict.

    Commands report it as an error of the description. Readers of results skip its times, as they do
    for a parameter that is not a size.
    """


def refuse(kind: str, parameters: Mapping[str, Any], cluster: Cluster) -> None:
    """Refuse a description for a kind of phase.

    Raises
    ------
    RefusedError
        The first of :func:`refusals`.
    """
    for one in refusals(kind, parameters, cluster):
        raise one


def refusals(kind: str, parameters: Mapping[str, Any], cluster: Cluster) -> list[RefusedError]:
    """The reasons why the model cannot predict a kind of phase with parameters on a cluster."""
    found = [_storage(cluster), _blocks(cluster)]
    if kind in SORTS and not parameters.get("reduces"):
        found.append(_reduces(cluster))
    if kind not in COPIES:
        found += _containers(kind, cluster)
    return [one for one in found if one is not None]


def block_bytes(cluster: Cluster) -> float:
    """The block size of files, as described or Hadoop's default.

    Raises
    ------
    RefusedError
        If ``dfs.blocksize`` is not a size.
    """
    if cluster.storage.block_size is not None:
        return float(cluster.storage.block_size)
    given = cluster.settings.get(_BLOCK)
    if given is None:
        return BLOCK_BYTES
    found = hadoop_bytes(given)
    if found is None or found <= 0:
        raise RefusedError(
            f"'{given}' is not a block size",
            key=f"settings.{_BLOCK}",
            remedy="write bytes, or a whole number with k, m, g or t, such as 134217728 or 128m.",
        )
    return found


def _storage(cluster: Cluster) -> RefusedError | None:
    kind = cluster.storage.kind
    if kind in PREDICTED_STORAGE:
        return None
    return RefusedError(
        f"the model has no equations for the storage {kind}",
        key="storage.kind",
        remedy=f"it predicts: {', '.join(PREDICTED_STORAGE)}.",
    )


def _blocks(cluster: Cluster) -> RefusedError | None:
    try:
        size = block_bytes(cluster)
    except RefusedError as error:
        return error
    least = hadoop_bytes(cluster.settings.get(_LEAST_BLOCK))
    least = LEAST_BLOCK_BYTES if least is None else least
    if size >= least or cluster.storage.kind != "hdfs":
        return None
    described = cluster.storage.block_size is not None
    unit = "byte" if size == 1 else "bytes"
    return RefusedError(
        f"HDFS refuses blocks of {size:.0f} {unit}: {_LEAST_BLOCK} is {least:.0f}",
        key="storage.block_size" if described else f"settings.{_BLOCK}",
        remedy="use blocks of at least this size, or lower this setting.",
    )


def _reduces(cluster: Cluster) -> RefusedError | None:
    """TeraSort without reduce tasks: its map tasks write files that are not sorted."""
    if _number(cluster, _REDUCES) != 0.0:
        return None
    return RefusedError(
        "TeraSort does not sort without reduce tasks",
        key=f"settings.{_REDUCES}",
        remedy="set at least 1, or the parameter 'reduces' of the workload.",
    )


def _containers(kind: str, cluster: Cluster) -> Iterator[RefusedError]:
    """Containers of a kind of phase that YARN never starts, by the settings or by the hosts."""
    without_reduces = "reduce" if kind == "generate" else None
    needed = [name for name in CONTAINERS if without_reduces not in name.split(".")]
    for setting, message, remedy in never_started(cluster.settings):
        if setting in (NODE_MB, *needed):
            yield RefusedError(message, key=f"settings.{setting}", remedy=remedy)
    room = _largest_mib(cluster)
    if room is None or cluster.settings.get(NODE_MB) is not None:
        return
    for name in needed:
        wanted = _mebibytes(cluster, name)
        if wanted is None and name == _MAP:
            wanted = DEFAULT_CONTAINER_MIB
        if wanted is not None and wanted > room:
            _, message, _ = too_large(name, int(wanted), int(room), f"a host has {int(room):,} MB")
            remedy = "lower it to at most the memory of a host, or describe hosts with more memory."
            yield RefusedError(message, key=f"settings.{name}", remedy=remedy)


def _largest_mib(cluster: Cluster) -> float | None:
    """The memory of the largest host or VM that runs tasks, MiB; None if one is not described."""
    known = [
        memory
        for _, one, _ in compute_classes(cluster)
        for memory in ([guest.memory for guest in one.vms] or [one.memory])
    ]
    stated = [memory for memory in known if memory is not None]
    return max(stated) / 2**20 if len(stated) == len(known) else None


def _mebibytes(cluster: Cluster, name: str) -> float | None:
    """A setting that is a positive number; YARN finds out the memory itself for -1."""
    found = _number(cluster, name)
    return found if found is not None and 0.0 < found < _LARGEST else None


def _number(cluster: Cluster, name: str) -> float | None:
    try:
        return float(str(cluster.settings.get(name)))
    except ValueError:
        return None
