"""The limits of the hardware: of all workers together, and of single hosts.

The limits come from the cluster description that is stored with the study. If the testbed does not
provide the described hardware, they come from the machine that the study ran on. A limit that the
source does not state is unknown and reported as unknown (rule of trust 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from windtunnel.analysis.bottleneck.described_hosts import (
    HostGroup,
    HostLimits,
    described_hosts,
    number,
)
from windtunnel.analysis.observations import counts
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster
from windtunnel.cluster.erasure_code import ErasureCode
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
    for each byte; None with replication. ``external``: no host with data runs tasks. Then the
    rates of disks and NICs are those of the hosts that run tasks, and those with ``store_`` are of
    the hosts with data; else these are None.
    """

    workers: int | None
    cores: float | None
    memory: float | None
    disk_read: float | None
    disk_write: float | None
    network: float | None
    stored_per_byte: float | None = None
    external: bool = False
    store_disk_read: float | None = None
    store_disk_write: float | None = None
    store_network: float | None = None


_RATES = ("disk_read", "disk_write", "network")
_STORE_RATES = tuple(f"store_{name}" for name in _RATES)


def capacity(cluster: Cluster | Mapping[str, Any], smt_gain: float | None = None) -> Capacity:
    """The workers' limits from a cluster description, which may be a stored one.

    ``smt_gain`` is the work of a core with several threads, relative to one; by default each
    hardware thread is one core, as counters of CPU time count them.
    """
    groups = [one for one in described_hosts(cluster, smt_gain) if one.limits.worker]
    if not groups:
        return Capacity(None, None, None, None, None, None)
    computing = [one for one in groups if one.runs_tasks]
    storing = [one for one in groups if one.holds_data]
    external = not any(one.runs_tasks for one in storing)
    near = computing if external else groups
    found = Capacity(
        workers=sum(len(one.names) for one in computing),
        cores=_sum(computing, lambda one: one.limits.threads),
        memory=_sum(groups, lambda one: one.limits.memory),
        disk_read=_sum(near, lambda one: one.local_read if external else one.limits.disk_read),
        disk_write=_sum(near, lambda one: one.local_write if external else one.limits.disk_write),
        network=_sum(near, lambda one: one.limits.network),
        stored_per_byte=_stored_per_byte(cluster),
        external=external,
    )
    if not external:
        return found
    return replace(
        found,
        store_disk_read=_sum(storing, lambda one: one.limits.disk_read),
        store_disk_write=_sum(storing, lambda one: one.limits.disk_write),
        store_network=_sum(storing, lambda one: one.limits.network),
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
    unknown: dict[str, Any] = dict.fromkeys(("memory", *_RATES, *_STORE_RATES))
    return replace(described, **unknown, cores=_machine_fact(results, "cpu_threads"))


def limits_by_treatment(results: Results) -> dict[str, Capacity]:
    """The limits as in :func:`limits_of`, of each treatment's own cluster."""
    base, shared = limits_of(results), shares_machine(results.study)
    clusters, found = ClusterOf(results.study), dict[str, Capacity]()
    for treatment in {trial.treatment.id: trial.treatment for trial in results.trials}.values():
        cluster = clusters.of(treatment)
        own = base
        if cluster is not None:
            own = _in_model(capacity(cluster, _smt(results)), results.study)
        if shared:
            names = ("cores", "memory", *_RATES, *_STORE_RATES)
            own = replace(own, **{name: getattr(base, name) for name in names})
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
        groups = described_hosts(clusters.of(treatment) or results.study.cluster, _smt(results))
        limits: dict[str, HostLimits] = {}
        for group in groups:
            limits |= dict.fromkeys(group.names, _in_model(group.limits, results.study))
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
    names = ("cores", "threads", *_RATES, *_STORE_RATES)
    known = {name: getattr(limits, name, None) for name in names}
    rates = {name: value * study.scale.rate for name, value in known.items() if value is not None}
    for name in ("cores", "threads"):
        if name in rates:
            rates[name] /= study.scale.core_speed or 1.0
    return replace(limits, memory=None, **rates)


def _machine_fact(results: Results, name: str) -> float | None:
    """A number of the machine from the provenance; None if it is missing or not unique."""
    stored = {trial.provenance: trial for trial in results.trials if counts(trial)}
    found = set()
    for trial in stored.values():
        machine = results.known_provenance(trial).get("machine")
        value = machine.get(name) if isinstance(machine, Mapping) else None
        if isinstance(value, int) and value > 0:
            found.add(float(value))
    return found.pop() if len(found) == 1 else None


def _or_else(host: HostLimits, other: HostLimits) -> HostLimits:
    """The limits of a host; unknown ones are those of another."""
    names = ("threads", "memory", *_RATES)
    missing = {name: getattr(other, name) for name in names if getattr(host, name) is None}
    return replace(host, **missing)


def _monitored(results: Results) -> dict[str, HostLimits]:
    """The hosts whose facts the provenance of the counted trials states; the last one counts."""
    found: dict[str, HostLimits] = {}
    for trial in {t.provenance: t for t in results.trials if counts(t)}.values():
        software = results.known_provenance(trial).get("software")
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


def _stored_per_byte(cluster: Cluster | Mapping[str, Any]) -> float | None:
    if isinstance(cluster, Cluster):
        return cluster.storage.code.stored_per_byte if cluster.storage.code else None
    storage = cluster.get("storage")
    name = storage.get("erasure_code") if isinstance(storage, Mapping) else None
    try:
        return ErasureCode.parse(name).stored_per_byte if isinstance(name, str) else None
    except ValueError:  # of a study that another program wrote
        return None


def _sum(groups: Iterable[HostGroup], value: Callable[[HostGroup], float | None]) -> float | None:
    """The sum of a value over all hosts of groups; None if it is unknown for one of them."""
    total = 0.0
    for one in groups:
        each = value(one)
        if each is None:
            return None
        total += each * len(one.names)
    return total
