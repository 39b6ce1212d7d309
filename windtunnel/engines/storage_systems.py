"""The storage systems by ``storage.kind``. A new one is one module or folder here and one line."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from windtunnel.cluster import Cluster
from windtunnel.engines.storage_system import StorageSystem
from windtunnel.errors import NotRealisableError

_HERE = "windtunnel.engines"
STORAGE_SYSTEMS = {
    "hdfs": f"{_HERE}.hadoop.hdfs:Hdfs",
    "local": f"{_HERE}.hadoop.local_files:LocalFiles",
    "cephfs": f"{_HERE}.ceph.cephfs:CephFs",
}


def storage_of(cluster: Cluster) -> type[StorageSystem]:
    """The storage system of a cluster, imported at its first use.

    Raises
    ------
    NotRealisableError
        If none is supported of that kind.
    """
    found = storage_system(cluster.storage.kind)
    if found is None:
        raise NotRealisableError(
            f"storage of kind '{cluster.storage.kind}' is not supported",
            remedy=f"use one of: {', '.join(STORAGE_SYSTEMS)}.",
        )
    return found


def unsupported_engines(cluster: Cluster, engines: Iterable[str]) -> list[str]:
    """Those of some engines that do not run on the storage of a cluster here."""
    found = storage_system(cluster.storage.kind)
    if found is None or found.engines is None:
        return []
    return sorted({*engines} - found.engines)


def storage_system(kind: str) -> type[StorageSystem] | None:
    """The storage system of a kind, imported at its first use; None if there is none."""
    if kind not in STORAGE_SYSTEMS:
        return None
    module, _, name = STORAGE_SYSTEMS[kind].partition(":")
    found: type[StorageSystem] = getattr(import_module(module), name)
    return found
