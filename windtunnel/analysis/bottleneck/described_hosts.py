"""The hosts of a stored cluster description, with their limits.

The description of a published study may be incomplete. Then the hosts of a class are alike: what a
class states counts, and degraded parts, switches and arrays do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from windtunnel.cluster import Cluster, host_rates
from windtunnel.cluster.hosts import HostClass
from windtunnel.cluster.quantity import QuantityError, parse_bytes, parse_rate
from windtunnel.cluster.roles import ROLES


@dataclass(frozen=True, slots=True)
class HostLimits:
    """The limits of one host: hardware threads, bytes, bytes/s; None if unknown."""

    threads: float | None = None
    memory: float | None = None
    disk_read: float | None = None
    disk_write: float | None = None
    network: float | None = None
    worker: bool = True


@dataclass(slots=True)
class HostGroup:
    """Equal hosts of a class: the limits of each, what they do, and their names in host samples.

    ``local_read`` and ``local_write`` are the rates of the disks for files outside of the
    storage, in bytes/s: the disks of the system if a host has no others.
    """

    class_name: str
    limits: HostLimits
    runs_tasks: bool
    holds_data: bool
    local_read: float | None
    local_write: float | None
    names: list[str] = field(default_factory=list)


def described_hosts(
    cluster: Cluster | Mapping[str, Any], smt_gain: float | None = None
) -> list[HostGroup]:
    """All hosts of a description; those that are alike are one group.

    Tasks run on the hosts with NodeManagers, else on those with data, else on all. Data is on the
    hosts with the role of the storage, else on those that run tasks. ``smt_gain`` is the work of a
    core with several threads, relative to one; by default each hardware thread is one core.
    """
    if isinstance(cluster, Cluster):
        return _of_cluster(cluster, smt_gain)
    try:
        return _of_cluster(Cluster.model_validate(cluster), smt_gain)
    except ValidationError:
        return _of_mapping(cluster, smt_gain)


def _of_cluster(cluster: Cluster, smt_gain: float | None) -> list[HostGroup]:
    holder = ROLES.holder(cluster.storage.kind)
    found: list[HostGroup] = []
    for name, host in cluster.hosts.items():
        known: dict[Any, HostGroup] = {}
        for index in range(host.count):
            roles = host.common_roles | {*host.extra_roles.get(index, ())}
            does = ("nodemanager" in roles, holder in roles)
            slower = tuple(one for one in host.degraded if one.host == index)
            key = (*does, slower, host_rates.port_bytes_s(cluster, name, index))
            if key not in known:
                known[key] = _group(cluster, name, index, does, smt_gain)
            known[key].names.append(host.host_name(name, index))
        found += known.values()
    return _with_tasks(found)


def _group(
    cluster: Cluster, name: str, index: int, does: tuple[bool, bool], smt_gain: float | None
) -> HostGroup:
    host = cluster.hosts[name]
    read, write = local = host_rates.disk_bytes_s(host, index)
    if not any(disk.use == "data" for disk in host.disks or ()):
        local = host_rates.disk_bytes_s(host, index, uses=("os",))
    limits = HostLimits(
        threads=_threads(host, index, smt_gain),
        memory=None if host.memory is None else float(host.memory),
        disk_read=read,
        disk_write=write,
        network=host_rates.nic_bytes_s(cluster, name, index),
    )
    return HostGroup(name, limits, *does, *local)


def _threads(host: HostClass, index: int, smt_gain: float | None) -> float | None:
    """Hardware threads of one host; in a scale model the work that its CPU quota permits."""
    if host.cpu is None or host.cpu.cores is None:
        return None
    work = _work(host.cpu.cores, host.cpu.threads_per_core, smt_gain)
    return work * host_rates.remaining(host, index, "cpu") if smt_gain else work


def _work(cores: int, threads_per_core: int | None, smt_gain: float | None) -> float:
    """The hardware threads of cores, or their work with ``smt_gain``."""
    threads = threads_per_core or 1
    return float(cores * (smt_gain if smt_gain and threads > 1 else threads))


def _with_tasks(groups: list[HostGroup]) -> list[HostGroup]:
    """The groups with the hosts that run tasks or hold data by default, and their workers."""
    named = [one for one in groups if one.class_name == "worker"] or groups
    if not any(one.runs_tasks for one in groups):
        for one in [one for one in groups if one.holds_data] or named:
            one.runs_tasks = True
    if not any(one.holds_data for one in groups):
        for one in groups:
            one.holds_data = one.runs_tasks
    for one in groups:
        one.limits = replace(one.limits, worker=one.runs_tasks or one.holds_data)
    return groups


def _of_mapping(cluster: Mapping[str, Any], smt_gain: float | None) -> list[HostGroup]:
    """The hosts of an incomplete description. Numbers are taken as bytes, bytes/s.

    Texts such as ``"10 Gb/s"`` or ``"64 GiB"`` are read. A role ``worker`` means both roles.
    """
    hosts, storage = cluster.get("hosts"), cluster.get("storage")
    own = storage if isinstance(storage, Mapping) else {}
    kind, external = own.get("kind"), own.get("external") or ()
    holder = ROLES.holder(str(kind or "hdfs"))
    found = []
    for name, host in hosts.items() if isinstance(hosts, Mapping) else ():
        if not isinstance(host, Mapping):
            continue
        roles, count = _roles(host), int(_count(host))
        limits = HostLimits(
            threads=_mapped_threads(host.get("cpu"), smt_gain),
            memory=number(host.get("memory")),
            disk_read=_rate(host, "disks", "read_rate"),
            disk_write=_rate(host, "disks", "write_rate"),
            network=_rate(host, "nics", "rate"),
        )
        does = (
            bool(roles & {"nodemanager", "worker"}),
            name in external or bool(roles & {holder, "worker"}),
        )
        names = [str(name)] if count == 1 else [f"{name}-{i + 1}" for i in range(count)]
        disks = (limits.disk_read, limits.disk_write)
        found.append(HostGroup(str(name), limits, *does, *disks, names))
    return _with_tasks(found)


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


def _roles(host: Mapping[str, Any]) -> set[str | None]:
    roles = host.get("roles")
    return {str(role).lower() for role in roles} if isinstance(roles, list | tuple) else set()


def _count(host: Mapping[str, Any]) -> float:
    count = host.get("count", 1)
    return float(count) if isinstance(count, int | float) else 1.0


def _mapped_threads(cpu: Any, smt_gain: float | None) -> float | None:
    if not isinstance(cpu, Mapping):
        return None
    sockets, cores = cpu.get("sockets"), cpu.get("cores_per_socket")
    if not isinstance(sockets, int) or not isinstance(cores, int):
        return None
    return _work(sockets * cores, cpu.get("threads_per_core"), smt_gain)


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
        if rate is None:
            return None
        total = rate * _count(item)
        rates.append(total if cap is None else min(total, cap))
    return sum(rates) if rates else None
