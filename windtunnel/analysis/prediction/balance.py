"""Balance of a described cluster: utilisation of resources, and the effect of one step of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from windtunnel.analysis.prediction.described import DEFAULTS, SIZES, check_values
from windtunnel.cluster import Cluster, Nic
from windtunnel.cluster.host_counts import Classes, compute_classes, store_classes, with_role
from windtunnel.cluster.host_rates import oversubscription
from windtunnel.errors import UsageError
from windtunnel.model.fit import Batch, Fit
from windtunnel.model.hardware import Hardware, hardware
from windtunnel.model.jobs import WORKLOAD_PHASES, Job, job, kind_of
from windtunnel.model.parts import DEFAULT_NIC_BYTES_S
from windtunnel.model.phases import RESOURCES
from windtunnel.model.predict import LEVEL, alone_s

NOT_USED = 0.30  # of a limit: rule 6 of the rules of trust
STEP = 1.25
_RATES_GBIT_S = (1.0, 10.0, 25.0, 40.0, 100.0, 200.0, 400.0)

Keys = Sequence[tuple[str, str, str, Mapping[str, Any]]]


def balance(name: str, cluster: Cluster, workloads: Sequence[str], fit: Fit) -> dict[str, Any]:
    """Utilisation by phase and the steps, as plain data for JSON.

    ``utilisation`` is the time that a resource, or the start-up, would take alone, divided by the
    predicted time of the phase. ``change`` of a step is the relative change of the time of all
    phases of a workload with an interval of 90 % from the constants of the model.

    Raises
    ------
    UsageError
        If the model has no equations for a workload.
    DescriptionError
        If the model cannot use a value of the cluster.
    """
    check_values(cluster)
    capacity = hardware(cluster)
    keys = keys_of(workloads)
    times = _times(keys, cluster, capacity, fit)
    phases: list[dict[str, Any]] = []
    for at, (workload, phase, _, _) in enumerate(keys):
        elapsed = float(times.elapsed_s[at])
        alone = alone_s(fit, times, at, capacity)
        part = {name: seconds / elapsed for name, seconds in alone.items()}
        row = {"workload": workload, "phase": phase, "elapsed_s": elapsed, "utilisation": part}
        phases.append(row | {"bottleneck": max(part, key=lambda one: part[one])})
    most = {r: max(row["utilisation"][r] for row in phases) for r in RESOURCES}
    return {
        "cluster": name,
        "fit": fit.origin,
        "level": LEVEL,
        "per_host": _per_host(cluster, capacity),
        "phases": phases,
        "never_used": [one for one in RESOURCES if most[one] < NOT_USED],
        "steps": _steps(cluster, capacity, keys, fit),
        "assumed": list(capacity.assumed),
    }


def keys_of(workloads: Sequence[str]) -> Keys:
    """(workload, phase, kind, parameters) of each phase that the model predicts."""
    found = []
    for workload in workloads:
        if workload not in DEFAULTS:
            raise UsageError(
                f"the model has no equations for '{workload}'",
                remedy=f"use {', '.join(DEFAULTS)}.",
            )
        for phase in WORKLOAD_PHASES[workload]:
            kind = kind_of(workload, phase)
            assert kind is not None
            assert any(key in DEFAULTS[workload] for key in SIZES)
            found.append((workload, phase, kind, DEFAULTS[workload]))
    return found


def rows_of(keys: Keys, cluster: Cluster, capacity: Hardware) -> list[tuple[Hardware, Job]]:
    """What the model predicts a phase from: the capacities, and the job on the cluster."""
    return [(capacity, job(kind, dict(given), cluster, capacity)) for _, _, kind, given in keys]


def _batch(keys: Keys, cluster: Cluster, capacity: Hardware) -> Batch:
    return Batch(rows_of(keys, cluster, capacity))


def _times(keys: Keys, cluster: Cluster, capacity: Hardware, fit: Fit) -> Any:
    return _batch(keys, cluster, capacity).times(fit.log)


def _per_host(cluster: Cluster, one: Hardware) -> dict[str, float | None]:
    """The parts of a worker; ``nic_bytes_s`` is the data rate, without the headers of packets."""
    return {
        "cores": one.cores,
        "memory_bytes": one.memory_bytes,
        "disks": one.disk_count,
        "nic_bytes_s": one.nic_bytes_s,
        "oversubscription": oversubscription(cluster),
    }


def _more_disks(one: Hardware, _: Cluster) -> Hardware:
    return replace(
        one,
        spindles=one.spindles * STEP,
        disk_count=one.disk_count * STEP,
        fixed_read_bytes_s=one.fixed_read_bytes_s * STEP,
        fixed_write_bytes_s=one.fixed_write_bytes_s * STEP,
        scratch_spindles=one.scratch_spindles * STEP,
        scratch_fixed_bytes_s=one.scratch_fixed_bytes_s * STEP,
    )


def _faster_nic(one: Hardware, cluster: Cluster) -> Hardware:
    compute, stores = compute_classes(cluster), store_classes(cluster)
    clients = with_role(cluster, "client") or compute
    return replace(
        one,
        nic_bytes_s=one.nic_bytes_s * _next_nics(compute),
        store_nic_bytes_s=one.store_nic_bytes_s * _next_nics(stores),
        client_nic_bytes_s=one.client_nic_bytes_s * _next_nics(clients),
    )


def _next_nics(classes: Classes) -> float:
    """The rate of all ports if each had the next usual rate, relative to the described one."""
    before = after = 0.0
    for _, host, count in classes:
        for nic in host.nics or (Nic(),):
            now = float(nic.rate or nic.measured_rate or DEFAULT_NIC_BYTES_S) * 8e-9
            rate = next((rate for rate in _RATES_GBIT_S if rate > 1.1 * now), 2.0 * now)
            before += now * nic.count * count
            after += rate * nic.count * count
    return after / before


def _more_cores(one: Hardware, _: Cluster) -> Hardware:
    return replace(one, cores=one.cores * STEP, slots=one.slots * STEP)


def _more_memory(one: Hardware, _: Cluster) -> Hardware:
    return replace(
        one,
        memory_bytes=one.memory_bytes * STEP,
        store_memory_bytes=one.store_memory_bytes * STEP,
    )


def _more_hosts(one: Hardware, _: Cluster) -> Hardware:
    stores = one.stores if one.external else one.stores + 1
    return replace(one, hosts=one.hosts + 1, stores=stores)


# name, change, part of the price, fraction of this part on each host (None: a whole host more)
_STEPS: tuple[tuple[str, Callable[[Hardware, Cluster], Hardware], str, float | None], ...] = (
    ("25 % more disks", _more_disks, "disks", 0.25),
    ("the next rate of the NICs", _faster_nic, "nics", 1.0),
    ("25 % more cores", _more_cores, "processors", 0.25),
    ("25 % more memory", _more_memory, "memory", 0.25),
    ("one more worker", _more_hosts, "", None),
)


def _steps(cluster: Cluster, capacity: Hardware, keys: Keys, fit: Fit) -> list[dict[str, Any]]:
    before = _batch(keys, cluster, capacity)
    reach = float(student.ppf(0.5 + LEVEL / 2.0, fit.freedom))
    rows = []
    for name, change, part, fraction in _STEPS:
        after = _batch(keys, cluster, change(capacity, cluster))
        price, currency = _price(cluster, part, fraction)
        for workload in dict.fromkeys(key[0] for key in keys):
            own = [at for at, key in enumerate(keys) if key[0] == workload]
            (old, old_slope), (new, new_slope) = (_total(b, fit, own) for b in (before, after))
            slope = new_slope - old_slope
            wide = reach * math.sqrt(max(float(slope @ fit.covariance @ slope), 0.0))
            ratio = math.log(new / old)
            rows.append(
                {
                    "step": name,
                    "workload": workload,
                    "change": math.expm1(ratio),
                    "low": math.expm1(ratio - wide),
                    "high": math.expm1(ratio + wide),
                    "price": price,
                    "currency": currency,
                }
            )
    return rows


def _total(batch: Batch, fit: Fit, own: list[int]) -> tuple[float, Any]:
    """Time of some phases, and the derivative of its logarithm by the constants' logarithms."""
    times = np.asarray(batch.times(fit.log).elapsed_s)[own]
    slopes = np.asarray(batch.slopes(fit.log))[own]
    total = float(times.sum())
    return total, (times / total) @ slopes


def _price(cluster: Cluster, part: str, fraction: float | None) -> tuple[float | None, str]:
    """The price of a step on all workers, or that of a mean worker more (``fraction`` None).

    None if the description does not state it, or states it in several currencies.
    """
    workers = compute_classes(cluster)
    total, currencies = 0.0, set()
    for _, one, count in workers:
        money = one.host_price if fraction is None else one.price_parts.get(part)
        if money is None:
            return None, ""
        currencies.add(money.currency)
        total += float(money.amount) * count
    if len(currencies) != 1:
        return None, ""
    hosts = sum(count for _, _, count in workers)
    return (total / hosts if fraction is None else total * fraction), currencies.pop()
