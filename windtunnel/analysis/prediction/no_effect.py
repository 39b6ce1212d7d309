"""Changes of a cluster that change no number of the model, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import unknown_settings
from windtunnel.model.refused import READ
from windtunnel.model.understood import SETTINGS

_SETTINGS = "settings."
_REPLICATION = ("input_replication", "output_replication", "replication")
# path -> parameters of workloads that the model reads first
_FIRST: Mapping[str, tuple[str, ...]] = {
    "storage.replication": _REPLICATION,
    "settings.dfs.replication": _REPLICATION,
    "settings.mapreduce.terasort.output.replication": ("output_replication",),
    "settings.mapreduce.job.maps": ("maps",),
    "settings.mapreduce.job.reduces": ("reduces",),
}


def reason(
    path: str, before: Cluster, after: Cluster, workloads: Mapping[str, Mapping[str, Any]]
) -> str:
    """Why a change of one path changes no number of the model, as far as this can be known."""
    if before == after:
        return "the value is the same as before"
    if path == "storage.replication" and after.storage.code is not None:
        return "the files have an erasure code"
    parameters = {
        name: None
        for given in workloads.values()
        for name in _FIRST.get(path, ())
        if given.get(name)
    }
    if parameters:
        return f"the workloads set {', '.join(parameters)}"
    if path == "settings.dfs.blocksize" and after.storage.block_size is not None:
        return "the cluster sets storage.block_size"
    name = path.removeprefix(_SETTINGS)
    if path.startswith(_SETTINGS) and name not in {*SETTINGS, *READ}:
        unknown = unknown_settings({name: ""}, after.software.hadoop)
        return "; ".join(["the model has no term for this setting", *unknown])
    return "the capacities and the tasks of the model are the same with it"
