"""Physical-limit check: the rates of a phase against the limits of the hardware.

The limits come from the cluster description stored with the study; if the testbed does not
provide the described hardware, they come from the machine that it ran on. A limit that they do
not state is unknown and reported as unknown (rule of trust 6). The rates are the minimum that
the job's counters imply. The effect of caches is not subtracted, so a rate above the limit
indicates a cache or an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal, TypeVar

from windtunnel.analysis.observations import counts
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster.erasure_code import ErasureCode
from windtunnel.cluster.quantity import QuantityError, parse_bytes, parse_rate
from windtunnel.cluster.roles import HADOOP, ROLES
from windtunnel.errors import ResultsError
from windtunnel.results.folder import Results
from windtunnel.results.record import Phase, StudyRecord, Trial

IDLE_BELOW = 0.30
"""A resource below this fraction of its limit is "not the bottleneck" (rule 6)."""
TOLERANCE = 1.05
"""A rate is above a limit if it exceeds it by more than 5 %: counters and clocks have errors."""

SHARED_HOST = "this-machine"
"""The name in host samples of the machine that all hosts share."""

State = Literal["above limit", "not the bottleneck", "possible", "unknown"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The limits of all workers together; None if the description does not state them.

    ``cores`` is a count, ``memory`` bytes, the others bytes/s. ``network`` is the sum of the
    workers' NICs in one direction. ``stored_per_byte`` is the number of bytes that the erasure code
    stores for each byte; None with replication.
    """

    workers: int | None
    cores: float | None
    memory: float | None
    disk_read: float | None
    disk_write: float | None
    network: float | None
    stored_per_byte: float | None = None


@dataclass(frozen=True, slots=True)
class HostLimits:
    """The limits of one host: hardware threads, bytes, bytes/s; None if unknown."""

    threads: float | None = None
    memory: float | None = None
    disk_read: float | None = None
    disk_write: float | None = None
    network: float | None = None
    worker: bool = True


@dataclass(frozen=True, slots=True)
class Usage:
    """Mean use of one resource in one phase over the counted trials.

    ``used`` and ``limit`` are in ``unit``; ``share`` is used / limit, ``peak`` the maximum over
    the trials.
    """

    workload: str
    treatment: str
    phase: str
    resource: str
    unit: str
    used: float
    limit: float | None
    share: float | None
    peak: float | None

    @property
    def state(self) -> State:
        """Verdict on this resource alone."""
        if self.share is None or self.peak is None:
            return "unknown"
        if self.peak > TOLERANCE:
            return "above limit"
        return "not the bottleneck" if self.share < IDLE_BELOW else "possible"


def capacity(cluster: Mapping[str, Any], smt_gain: float | None = None) -> Capacity:
    """The workers' limits from a stored cluster description.

    ``smt_gain`` is the work of a core with several threads, relative to one; by default each
    hardware thread is one core, as counters of CPU time count them.

    Host classes are the entries of ``hosts``; workers are those with a role ``worker``,
    ``datanode`` or ``nodemanager`` or of that name, else all classes. Numbers are taken as
    bytes, bytes/s; texts such as ``"10 Gb/s"`` or ``"64 GiB"`` are read.
    """
    classes = [(c, _count(c)) for c in _workers(cluster)]
    if not classes:
        return Capacity(None, None, None, None, None, None)
    return Capacity(
        workers=int(sum(count for _, count in classes)),
        cores=_sum((_cores(c, smt_gain), n) for c, n in classes),
        memory=_sum((number(c.get("memory")), n) for c, n in classes),
        disk_read=_sum((_rate(c, "disks", "read_rate"), n) for c, n in classes),
        disk_write=_sum((_rate(c, "disks", "write_rate"), n) for c, n in classes),
        network=_sum((_rate(c, "nics", "rate"), n) for c, n in classes),
        stored_per_byte=_stored_per_byte(cluster),
    )


def shares_machine(study: StudyRecord) -> bool:
    """Whether all hosts shared one machine, so that no described CPU, disk or NIC was used."""
    return study.kind == "measured" and study.testbed == "local"


def limits_of(results: Results) -> Capacity:
    """The limits of a study: from the description, at the rate of a scale model, or from the
    machine that all hosts shared.

    Of a shared machine only the threads are known, if the provenance of the counted trials
    states them consistently; its disks were not measured and its network is the loopback.
    """
    described = _in_model(capacity(results.study.cluster, _smt(results)), results.study)
    if not shares_machine(results.study):
        return described
    threads = _machine_fact(results, "cpu_threads")
    unknown = dict.fromkeys(("memory", "disk_read", "disk_write", "network"))
    return replace(described, cores=threads, **unknown)


def limits_by_treatment(results: Results) -> dict[str, Capacity]:
    """The limits as in :func:`limits_of`, of each treatment's own cluster."""
    base, shared = limits_of(results), shares_machine(results.study)
    clusters, found = ClusterOf(results.study), dict[str, Capacity]()
    for treatment in {trial.treatment.id: trial.treatment for trial in results.trials}.values():
        cluster = clusters.of(treatment)
        own = base
        if cluster is not None:
            described = cluster.model_dump(mode="json")
            own = _in_model(capacity(described, _smt(results)), results.study)
        found[treatment.id] = replace(base, workers=own.workers) if shared else own
    return found


def limits_by_host(results: Results) -> dict[str, dict[str, HostLimits]]:
    """Limits of single hosts by treatment and by the host's name in host samples.

    If all hosts share one machine, the only host is ``this-machine``, with the threads and the
    memory from the provenance of the trials.
    """
    if shares_machine(results.study):
        machine = HostLimits(
            _machine_fact(results, "cpu_threads"), _machine_fact(results, "memory_bytes")
        )
        return {trial.treatment.id: {SHARED_HOST: machine} for trial in results.trials}
    clusters, found = ClusterOf(results.study), dict[str, dict[str, HostLimits]]()
    for treatment in {trial.treatment.id: trial.treatment for trial in results.trials}.values():
        cluster = clusters.of(treatment)
        described = results.study.cluster if cluster is None else cluster.model_dump(mode="json")
        hosts = _hosts(described, _smt(results))
        found[treatment.id] = {n: _in_model(host, results.study) for n, host in hosts.items()}
    return found


_Limits = TypeVar("_Limits", Capacity, HostLimits)


def _in_model(limits: _Limits, study: StudyRecord) -> _Limits:
    """The limits of a scale model: rates and processors are a fraction of the described ones.

    The memory is unknown here: the scale does not apply to it, because a JVM does not need less.
    """
    if study.scale is None:
        return limits
    names = ("cores", "threads", "disk_read", "disk_write", "network")
    known = {name: getattr(limits, name, None) for name in names}
    rates = {name: value * study.scale.rate for name, value in known.items() if value is not None}
    return replace(limits, memory=None, **rates)


def usages(trials: Iterable[Trial], limits: Mapping[str, Capacity]) -> list[Usage]:
    """Use of every resource that has counters, by workload, treatment and phase.

    ``limits`` are those of each treatment, by its id.
    """
    seen: dict[tuple[str, str, str, str], list[float]] = {}
    for trial in trials:
        if not counts(trial):
            continue
        for phase in trial.phases:
            for resource, used in _used(trial, phase, limits[trial.treatment.id]):
                key = (trial.workload, trial.treatment.id, phase.name, resource)
                seen.setdefault(key, []).append(used)
    rows = []
    for (workload, treatment, phase_name, resource), values in seen.items():
        bound = limits[treatment]
        unit, limit = {
            "CPU": ("cores", bound.cores),
            "disk read": ("bytes/s", bound.disk_read),
            "disk write": ("bytes/s", bound.disk_write),
            "network": ("bytes/s", bound.network),
        }[resource]
        mean, top = fmean(values), max(values)
        share, peak = (mean / limit, top / limit) if limit else (None, None)
        rows.append(
            Usage(workload, treatment, phase_name, resource, unit, mean, limit, share, peak)
        )
    return rows


def number(value: Any) -> float | None:
    """A quantity in bytes or bytes/s, from a number or a text with a unit; else None."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    for parse in (parse_rate, parse_bytes):
        try:
            return float(parse(value))
        except QuantityError:
            continue
    return None


def _machine_fact(results: Results, name: str) -> float | None:
    """A number of the machine from the provenance; None if it is missing or not unique."""
    stored = {trial.provenance: trial for trial in results.trials if counts(trial)}
    found = set()
    for trial in stored.values():
        try:
            machine = results.provenance(trial).get("machine")
        except ResultsError:
            continue
        value = machine.get(name) if isinstance(machine, Mapping) else None
        if isinstance(value, int) and value > 0:
            found.add(float(value))
    return found.pop() if len(found) == 1 else None


def _smt(results: Results) -> float | None:
    """The work of a core with several threads in a scale model; None in other results."""
    return results.study.scale.smt_gain if results.study.scale else None


def _hosts(cluster: Mapping[str, Any], smt_gain: float | None) -> dict[str, HostLimits]:
    hosts = cluster.get("hosts")
    classes = hosts if isinstance(hosts, Mapping) else {}
    workers = [id(c) for c in _workers(cluster)]
    found = {}
    for name, host in classes.items():
        if not isinstance(host, Mapping):
            continue
        count = int(_count(host))
        limits = HostLimits(
            threads=_cores(host, smt_gain),
            memory=number(host.get("memory")),
            disk_read=_rate(host, "disks", "read_rate"),
            disk_write=_rate(host, "disks", "write_rate"),
            network=_rate(host, "nics", "rate"),
            worker=id(host) in workers,
        )
        names = [str(name)] if count == 1 else [f"{name}-{i + 1}" for i in range(count)]
        found.update(dict.fromkeys(names, limits))
    return found


def _used(trial: Trial, phase: Phase, limits: Capacity) -> Iterator[tuple[str, float]]:
    if phase.elapsed_s <= 0:
        return
    value = {name: metric.value for name, metric in phase.metrics.items()}
    copies = limits.stored_per_byte or _replication(trial, phase.name)
    volumes = {
        "CPU": value.get("cpu_time"),
        "disk read": _add(value.get("hdfs_bytes_read"), value.get("file_bytes_read")),
        "disk write": _add(
            _times(value.get("hdfs_bytes_written"), copies), value.get("file_bytes_written")
        ),
        "network": _network(value, copies, limits),
    }
    for resource, volume in volumes.items():
        if volume is not None:
            yield resource, volume / phase.elapsed_s


def _network(value: Mapping[str, float], copies: float, limits: Capacity) -> float | None:
    """Shuffle between hosts, (N-1)/N of all of it, plus what is written to other hosts.

    These are the additional replicas of the output, or (N-1)/N of the cells of an erasure code,
    which are on as many hosts as there are cells.
    """
    shuffle, workers = value.get("reduce_shuffle_bytes"), limits.workers
    remote = (workers - 1) / workers if workers else None
    sent = copies - 1
    if limits.stored_per_byte:
        sent = copies * (remote or 1)
    written = _times(value.get("hdfs_bytes_written"), sent)
    away = None if shuffle is None or remote is None else shuffle * remote
    if away is None and not written:
        return None  # The shuffle is unknown, not 0.
    return _add(away, written)


def _stored_per_byte(cluster: Mapping[str, Any]) -> float | None:
    storage = cluster.get("storage")
    name = storage.get("erasure_code") if isinstance(storage, Mapping) else None
    try:
        return ErasureCode.parse(name).stored_per_byte if isinstance(name, str) else None
    except ValueError:  # of a study that another program wrote
        return None


def _replication(trial: Trial, phase: str) -> float:
    """Replicas written: the parameter for input or output; 1 if the trial does not state it."""
    names = ["input_replication"] if phase == "teragen" else ["output_replication"]
    for name in [*names, "replication"]:
        copies = trial.parameters.get(name)
        if isinstance(copies, int | float) and copies >= 1:
            return float(copies)
    return 1.0


def _workers(cluster: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    hosts = cluster.get("hosts")
    if not isinstance(hosts, Mapping):
        return []
    classes = {n: c for n, c in hosts.items() if isinstance(c, Mapping)}
    named = [c for name, c in classes.items() if _is_worker(str(name), c)]
    return named or list(classes.values())


def _is_worker(name: str, host: Mapping[str, Any]) -> bool:
    roles = host.get("roles")
    words = {str(role).lower() for role in roles} if isinstance(roles, list | tuple) else set()
    return name == "worker" or bool(words & {"worker", *ROLES.workers(HADOOP)})


def _count(host: Mapping[str, Any]) -> float:
    count = host.get("count", 1)
    return float(count) if isinstance(count, int | float) else 1.0


def _cores(host: Mapping[str, Any], smt_gain: float | None) -> float | None:
    """Hardware threads of one host, or the work of its cores with ``smt_gain``."""
    cpu = host.get("cpu")
    if not isinstance(cpu, Mapping):
        return None
    sockets, cores = cpu.get("sockets"), cpu.get("cores_per_socket")
    if not isinstance(sockets, int) or not isinstance(cores, int):
        return None
    threads = cpu.get("threads_per_core") or 1
    return float(sockets * cores * (smt_gain if smt_gain and threads > 1 else threads))


def _rate(host: Mapping[str, Any], part: str, name: str) -> float | None:
    """Summed rate of a host's data disks or NICs; None if one of them does not state it."""
    items = host.get(part)
    if not isinstance(items, Sequence) or not items:
        return None
    rates = []
    for item in items:
        if not isinstance(item, Mapping):
            return None
        if item.get("use", "data") != "data":
            continue
        rate, cap = number(item.get(name)), number(item.get("controller_rate"))
        total = None if rate is None else rate * _count(item)
        rates.append((min(total, cap) if total is not None and cap is not None else total, 1.0))
    return _sum(rates) if rates else None


def _sum(parts: Iterable[tuple[float | None, float]]) -> float | None:
    total = 0.0
    for value, count in parts:
        if value is None:
            return None
        total += value * count
    return total


def _add(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
