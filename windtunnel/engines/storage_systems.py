"""The storage systems by ``storage.kind``. A new one is one module or folder here and one line."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import engine_of
from windtunnel.engines.storage_system import StorageSystem
from windtunnel.errors import NotRealisableError

_HERE = "windtunnel.engines"
HDFS = "hdfs"
STORAGE_SYSTEMS = {
    HDFS: f"{_HERE}.hadoop.hdfs:Hdfs",
    "local": f"{_HERE}.hadoop.local_files:LocalFiles",
    "cephfs": f"{_HERE}.ceph.cephfs:CephFs",
    "ceph-fuse": f"{_HERE}.ceph.fuse:CephFuse",
    "s3a": f"{_HERE}.ceph.gateway:ObjectGateway",
    "ozone": f"{_HERE}.ozone.ozone:Ozone",
    "existing-s3": f"{_HERE}.ceph.existing_s3:ExistingS3",
    "existing-cephfs": f"{_HERE}.ceph.existing_cephfs:ExistingCephFs",
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


def unsupported_engines(cluster: Cluster, workload: str, engines: Iterable[str]) -> list[str]:
    """A sentence for each engine of a workload that does not run on the storage of a cluster."""
    found = storage_system(cluster.storage.kind)
    if found is None or found.engines is None:
        return []
    return [
        f"workloads.{workload} runs on {engine}, which is not supported on storage of kind "
        f"{cluster.storage.kind}"
        for engine in sorted({*engines} - found.engines)
    ]


def outside_of(cluster: Cluster) -> str:
    """The storage in words if Windtunnel did not start it, otherwise empty."""
    found = storage_system(cluster.storage.kind)
    return found.outside(cluster) if found else ""


def needs_new_storage(old: Cluster, new: Cluster) -> bool:
    """Whether a running storage system cannot be changed to that of another description.

    HDFS can be changed while it runs, except for the number of NameNodes; the testbed changes its
    settings.
    """
    if old.storage.kind == new.storage.kind == HDFS:
        return bool(old.storage.ha) != bool(new.storage.ha)
    return old.storage != new.storage or _own_settings(old) != _own_settings(new)


def _own_settings(cluster: Cluster) -> dict[str, object]:
    """The settings that the daemons of the storage read, without those of Hadoop."""
    found = storage_system(cluster.storage.kind)
    owner = found.owner if found else None
    return {name: value for name, value in cluster.settings.items() if engine_of(name) == owner}


def storage_system(kind: str) -> type[StorageSystem] | None:
    """The storage system of a kind, imported at its first use; None if there is none."""
    if kind not in STORAGE_SYSTEMS:
        return None
    module, _, name = STORAGE_SYSTEMS[kind].partition(":")
    found: type[StorageSystem] = getattr(import_module(module), name)
    return found
