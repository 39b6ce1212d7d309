"""The work of a phase as numbers: sizes, tasks, replicas, buffers.

One :class:`Job` is one phase of a workload on one cluster. Its kind selects the equations in
``phases.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from windtunnel.cluster import Cluster
from windtunnel.model.hardware import Hardware, bytes_of, number
from windtunnel.model.refused import block_bytes, refuse

ROW_BYTES = 100
# Bytes of compressed TeraSort rows per byte: 426 of 931 GiB read from local files (Cisco 2014,
# tests 1 to 5, Snappy).
COMPRESSED = 0.46
MERGE_FACTOR = 10.0  # mapreduce.task.io.sort.factor
CONTAINER_BYTES = 2.0**30
# Part of a reduce task's container that holds map output before a merge to disk: heap 0.8 of the
# container, mapreduce.reduce.shuffle.input.buffer.percent 0.7, merge.percent 0.66.
SHUFFLE_SHARE = 0.8 * 0.7 * 0.66

WORKLOAD_PHASES: Mapping[str, tuple[str, ...]] = {
    "terasort": ("teragen", "terasort", "teravalidate"),
    "teragen": ("teragen",),
    "wordcount": ("wordcount",),
    "pi": ("pi",),
    "dfsio": ("write", "read"),
    "transfer": ("put", "get"),
}
PHASE_KINDS: Mapping[str, str] = {
    "teragen": "generate",
    "terasort": "sort",
    "teravalidate": "validate",
    "wordcount": "count",
    "pi": "pi",
    "write": "write",
    "read": "read",
    "testdfsio-write": "write",
    "testdfsio-read": "read",
    "put": "put",
    "get": "get",
}
# Engines of a workload whose phases the equations describe, in addition to MapReduce alone.
PREDICTED_ENGINES: Mapping[str, tuple[str, ...]] = {"wordcount": ("mapreduce", "pig")}

# Engines with the same data and equations, but with times of their own: a fit determines them.
CODED = "erasure-code"
OTHER_SOFTWARE = ("spark", "flink", "tez", "dask")


@dataclass(frozen=True)
class Job:
    """One phase: all sizes in bytes of user data, before replication.

    Attributes
    ----------
    data_bytes, samples:
        The input, or the points of Pi.
    replicas:
        Bytes that are stored for each byte of output.
    tasks, reduces:
        Map tasks and reduce tasks.
    at_once:
        Map tasks that may run at the same time on one host.
    spilled:
        Bytes of map output per byte of input, after compression.
    merge_factor, shuffle_bytes:
        Streams of one merge, and what a reduce task holds before it merges to disk.
    streams:
        Clients that copy at the same time (PUT and GET).
    software:
        Another engine than MapReduce that runs the work, such as ``spark``; empty without.
    coded:
        1 if the cells of an erasure code are stored instead of replicas, otherwise 0.
    """

    kind: str
    data_bytes: float
    samples: float
    replicas: float
    tasks: float
    reduces: float
    at_once: float
    spilled: float
    merge_factor: float
    shuffle_bytes: float
    streams: float
    software: str = ""
    coded: float = 0.0

    @property
    def label(self) -> str:
        """The kind and the software: points with the same label have their errors in common.

        Erasure codes have a label of their own, so that a fit to replicas does not count as one
        to them.
        """
        return f"{self.software_label}/{CODED}" if self.coded else self.software_label

    @property
    def software_label(self) -> str:
        """The kind and the software without the way in which the output is stored."""
        return f"{self.kind}/{self.software}" if self.software else self.kind


def software_of(words: Iterable[str]) -> str:
    """The engine, other than MapReduce, that a workload, a parameter or a level names."""
    for text in words:
        for word in re.split(r"[^a-z]+", text.lower()):
            name = word.removeprefix("py").removesuffix("sql")  # PySpark, SparkSQL
            if name in OTHER_SOFTWARE:
                return name
    return ""


def kind_of(workload: str, phase: str) -> str | None:
    """The kind of a phase; None if the model has no equations for it.

    ``phase`` is empty, or "total", if a table gives only the time of the whole workload; then the
    name of the workload has that of its kind as a word ("terasort-1tb").
    """
    if phase in PHASE_KINDS:
        return PHASE_KINDS[phase]
    if phase in ("", "total", "run"):
        words = re.split(r"[^a-z]+", workload.lower())
        return next((kind for name, kind in PHASE_KINDS.items() if name in words), None)
    return None


def job(kind: str, parameters: Mapping[str, Any], cluster: Cluster, hosts: Hardware) -> Job:
    """The numbers of a phase, from the workload's parameters and the cluster's settings.

    Raises
    ------
    RefusedError
        If the model has no equations for the storage, or a setting cannot work.
    QuantityError
        If a parameter is not a size.
    """
    refuse(kind, parameters, cluster)
    settings = cluster.settings
    data = _data_bytes(parameters, hosts)
    block = block_bytes(cluster)
    container = (number(settings.get("mapreduce.reduce.memory.mb")) or 0.0) * 2**20
    reduces = number(parameters.get("reduces")) or number(settings.get("mapreduce.job.reduces"))
    return Job(
        kind=kind,
        data_bytes=data,
        samples=_samples(parameters, hosts),
        replicas=_replicas(kind, parameters, cluster),
        tasks=_tasks(kind, parameters, cluster, data / block, hosts, reduces),
        reduces=reduces or _reduces(hosts, kind),
        at_once=_at_once(parameters, hosts),
        spilled=_spilled(settings),
        merge_factor=number(settings.get("mapreduce.task.io.sort.factor")) or MERGE_FACTOR,
        shuffle_bytes=(container or CONTAINER_BYTES) * SHUFFLE_SHARE,
        streams=number(parameters.get("streams")) or 1.0,
        coded=float(cluster.storage.code is not None and kind != "pi"),
    )


def assumptions(kind: str, parameters: Mapping[str, Any], cluster: Cluster) -> list[str]:
    """A line for each number of tasks that nothing states, and for what has no equation."""
    settings = cluster.settings
    found = []
    if kind == "count" and parameters.get("engine") != "pig":
        found.append("wordcount with MapReduce: the constants were fitted to Pig")
    if cluster.storage.code is not None and kind != "pi":
        found.append("erasure code: no CPU work for its cells; no fitted time has one")
    if kind in ("generate", "pi") and not (
        parameters.get("maps") or settings.get("mapreduce.job.maps")
    ):
        found.append("map tasks: one for each container")
    if kind in ("sort", "validate") and not (
        parameters.get("reduces") or settings.get("mapreduce.job.reduces")
    ):
        found.append("reduce tasks: half as many as containers")
    if kind == "sort" and cluster.storage.code is None and not _stated_output(parameters, settings):
        found.append("replicas of the sorted data: 1, the default of TeraSort")
    if kind in ("write", "read") and not (parameters.get("files") or parameters.get("maps")):
        found.append("files: one for each container")
    return found


def _data_bytes(parameters: Mapping[str, Any], hosts: Hardware) -> float:
    rows = number(parameters.get("rows"))
    if rows:
        return rows * ROW_BYTES
    if parameters.get("file_size") is not None:
        return bytes_of(parameters["file_size"]) * _files(parameters, hosts)
    return bytes_of(parameters.get("size") or 0)


def _files(parameters: Mapping[str, Any], hosts: Hardware) -> float:
    """Files of DFSIO, each with a task; one for each container by default."""
    given = number(parameters.get("files")) or number(parameters.get("maps"))
    return given or hosts.hosts * hosts.slots


def _samples(parameters: Mapping[str, Any], hosts: Hardware) -> float:
    each = number(parameters.get("samples_per_map"))
    if each:
        return each * (number(parameters.get("maps")) or hosts.hosts * hosts.slots)
    return number(parameters.get("samples")) or 0.0


def _replicas(kind: str, parameters: Mapping[str, Any], cluster: Cluster) -> float:
    """Stored bytes per byte: an erasure code counts as its overhead."""
    code = cluster.storage.code
    if code is not None:
        return code.stored_per_byte
    if kind in ("sort", "validate"):
        return _stated_output(parameters, cluster.settings) or 1.0
    own = number(parameters.get("input_replication")) if kind == "generate" else None
    given = own or number(parameters.get("replication"))
    return given or float(cluster.replication)


def _stated_output(parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> float | None:
    """Replicas of the sorted data, if the workload or a setting of TeraSort states them."""
    keys = ("output_replication", "replication")
    given = [number(parameters.get(key)) for key in keys]
    given.append(number(settings.get("mapreduce.terasort.output.replication")))
    return next((one for one in given if one), None)


def _tasks(
    kind: str,
    parameters: Mapping[str, Any],
    cluster: Cluster,
    blocks: float,
    hosts: Hardware,
    reduces: float | None,
) -> float:
    if kind in ("write", "read"):
        return _files(parameters, hosts)
    if kind == "pi":
        return number(parameters.get("maps")) or hosts.hosts * hosts.slots
    if kind == "generate":
        given = number(parameters.get("maps")) or number(cluster.settings.get("mapreduce.job.maps"))
        return given or hosts.hosts * hosts.slots
    if kind == "validate":
        return reduces or _reduces(hosts, "sort")
    return max(1.0, math.ceil(blocks))


def _reduces(hosts: Hardware, kind: str) -> float:
    """The default where nothing states the number: most of the containers for a sort."""
    return max(1.0, hosts.hosts * hosts.slots * 0.5) if kind == "sort" else 1.0


def _at_once(parameters: Mapping[str, Any], hosts: Hardware) -> float:
    """Slots of MapReduce 1 are a parameter of the published studies, not a setting."""
    given = number(parameters.get("map_slots"))
    return given / hosts.hosts if given else hosts.slots


def _spilled(settings: Mapping[str, Any]) -> float:
    compress = str(settings.get("mapreduce.map.output.compress", "false")).lower() == "true"
    return COMPRESSED if compress else 1.0
