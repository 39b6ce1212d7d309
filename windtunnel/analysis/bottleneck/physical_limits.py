"""The limits of the hardware: of all workers together, and of single hosts.

The limits come from the cluster description that is stored with the study. If the testbed does not
provide the described hardware, they come from the machine that the study ran on. A limit that the
source does not state is unknown and reported as unknown (rule of trust 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from windtunnel.analysis.observations import counts
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster.erasure_code import ErasureCode
from windtunnel.cluster.quantity import QuantityError, parse_bytes, parse_rate
from windtunnel.cluster.roles import HADOOP, ROLES
from windtunnel.errors import ResultsError
from windtunnel.results.folder import Results
from windtunnel.results.record import StudyRecord

SHARED_HOST = "this-machine"
"""The name in host samples of the machine that all hosts share."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The limits of all workers together; None if the description does not state them.

    ``cores`` is a count, ``memory`` bytes, the others bytes/s. ``workers`` and ``cores`` are those
    of the hosts that run tasks, the others include storage hosts. ``network`` is the sum of the
    NICs in one direction. ``stored_per_byte`` is the number of bytes that the erasure code stores
    for each byte; None with replication. ``external``: no host with data runs tasks.
    """

    workers: int | None
    cores: float | None
    memory: float | None
    disk_read: float | None
    disk_write: float | None
    network: float | None
    stored_per_byte: float | None = None
    external: bool = False


@dataclass(frozen=True, slots=True)
class HostLimits:
    """The limits of one host: hardware threads, bytes, bytes/s; None if unknown."""

    threads: float | None = None
    memory: float | None = None
    disk_read: float | None = None
    disk_write: float | None = None
    network: float | None = None
    worker: bool = True


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
    computing = [(c, n) for c, n in classes if "nodemanager" in _roles(c)] or classes
    return Capacity(
        workers=int(sum(count for _, count in computing)),
        cores=_sum((_cores(c, smt_gain), n) for c, n in computing),
        memory=_sum((number(c.get("memory")), n) for c, n in classes),
        disk_read=_sum((_rate(c, "disks", "read_rate"), n) for c, n in classes),
        disk_write=_sum((_rate(c, "disks", "write_rate"), n) for c, n in classes),
        network=_sum((_rate(c, "nics", "rate"), n) for c, n in classes),
        stored_per_byte=_stored_per_byte(cluster),
        external=bool(_storage(cluster).get("external")),
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
    return replace(
        described, cores=threads, memory=None, disk_read=None, disk_write=None, network=None
    )


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
        if shared:
            own = replace(
                own,
                cores=base.cores,
                memory=base.memory,
                disk_read=base.disk_read,
                disk_write=base.disk_write,
                network=base.network,
            )
        found[treatment.id] = own
    return found


def limits_by_host(results: Results) -> dict[str, dict[str, HostLimits]]:
    """Limits of single hosts by treatment and by the host's name in host samples.

    If all hosts share one machine, the only host is ``this-machine``, with the threads and the
    memory from the provenance of the trials. The limits of hosts that a monitoring system knows are
    those that it reports; what it does not report is that of the description, if all workers of
    the description are alike.
    """
    if shares_machine(results.study):
        machine = HostLimits(
            _machine_fact(results, "cpu_threads"), _machine_fact(results, "memory_bytes")
        )
        return {trial.treatment.id: {SHARED_HOST: machine} for trial in results.trials}
    clusters, found = ClusterOf(results.study), dict[str, dict[str, HostLimits]]()
    monitored = _monitored(results)
    for treatment in {trial.treatment.id: trial.treatment for trial in results.trials}.values():
        cluster = clusters.of(treatment)
        described = results.study.cluster if cluster is None else cluster.model_dump(mode="json")
        hosts = _hosts(described, _smt(results))
        limits = {n: _in_model(host, results.study) for n, host in hosts.items()}
        alike = {host for host in limits.values() if host.worker}
        worker = alike.pop() if len(alike) == 1 else HostLimits()
        for name, host in monitored.items():
            limits[name] = _or_else(host, worker) if host.worker else host
        found[treatment.id] = limits
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
    for name in ("cores", "threads"):
        if name in rates:
            rates[name] /= study.scale.core_speed or 1.0
    return replace(limits, memory=None, **rates)


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


def _or_else(host: HostLimits, other: HostLimits) -> HostLimits:
    """The limits of a host; unknown ones are those of another."""
    names = ("threads", "memory", "disk_read", "disk_write", "network")
    missing = {name: getattr(other, name) for name in names if getattr(host, name) is None}
    return replace(host, **missing)


def _monitored(results: Results) -> dict[str, HostLimits]:
    """The hosts whose facts the provenance of the counted trials states; the last one counts."""
    found: dict[str, HostLimits] = {}
    for trial in {t.provenance: t for t in results.trials if counts(t)}.values():
        try:
            software = results.provenance(trial).get("software")
        except ResultsError:
            continue
        hosts = software.get("hosts") if isinstance(software, Mapping) else None
        for name, facts in hosts.items() if isinstance(hosts, Mapping) else ():
            if not isinstance(facts, Mapping):
                continue
            found[str(name)] = HostLimits(
                threads=number(facts.get("cpu_threads")),
                memory=number(facts.get("memory_bytes")),
                network=number(facts.get("network_bytes_s")),
                worker=bool(facts.get("worker", True)),
            )
    return found


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


def _storage(cluster: Mapping[str, Any]) -> Mapping[str, Any]:
    found = cluster.get("storage")
    return found if isinstance(found, Mapping) else {}


def _stored_per_byte(cluster: Mapping[str, Any]) -> float | None:
    name = _storage(cluster).get("erasure_code")
    try:
        return ErasureCode.parse(name).stored_per_byte if isinstance(name, str) else None
    except ValueError:  # of a study that another program wrote
        return None


def _workers(cluster: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    hosts = cluster.get("hosts")
    if not isinstance(hosts, Mapping):
        return []
    classes = {n: c for n, c in hosts.items() if isinstance(c, Mapping)}
    named = [c for name, c in classes.items() if _is_worker(str(name), c)]
    return named or list(classes.values())


def _is_worker(name: str, host: Mapping[str, Any]) -> bool:
    return name == "worker" or bool(_roles(host) & {"worker", *ROLES.workers(HADOOP)})


def _roles(host: Mapping[str, Any]) -> set[str]:
    roles = host.get("roles")
    return {str(role).lower() for role in roles} if isinstance(roles, list | tuple) else set()


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
