"""Predictions for workloads on a described cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.analysis.cost.price import cluster_price
from windtunnel.analysis.cost.tariff import Tariff
from windtunnel.analysis.prediction.capacity import capacity_text, room_of
from windtunnel.analysis.prediction.no_effect import reason
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.cluster.schema_paths import nearest
from windtunnel.errors import DescriptionError, UsageError
from windtunnel.model.energy import energy_j
from windtunnel.model.fit import Fit
from windtunnel.model.hardware import Hardware, hardware, on_this_machine
from windtunnel.model.jobs import WORKLOAD_PHASES, Job, assumptions, job, kind_of
from windtunnel.model.predict import Prediction, predict
from windtunnel.model.understood import misunderstood

# what a workload runs on if nothing states its size
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "terasort": {"size": "1 TB"},
    "teragen": {"size": "1 TB"},
    "wordcount": {"size": "100 GB"},
    "pi": {"samples": 10**12},
    "dfsio": {"size": "1 TB"},
    "transfer": {"size": "100 GB"},
}
SIZES = ("size", "rows", "file_size", "samples", "samples_per_map")


def predict_workloads(
    name: str,
    cluster: Cluster,
    workloads: Mapping[str, Mapping[str, Any]],
    fit: Fit,
    *,
    this_machine: bool = False,
) -> dict[str, Any]:
    """Predictions of each phase of each workload, as plain data for JSON.

    ``this_machine``: the hosts are processes of this machine, as on the testbed 'local'. Then the
    prices, the power and the disks of the described hosts have no meaning.

    Raises
    ------
    UsageError
        If the model has no equations for a workload, or no finite time.
    DescriptionError
        If the model cannot use a value of the cluster.
    """
    check_values(cluster)
    capacity = on_this_machine(cluster) if this_machine else hardware(cluster)
    keys: list[tuple[str, str]] = []
    rows: list[tuple[Hardware, Job]] = []
    assumed = list(capacity.assumed)
    sizes: dict[str, dict[str, Any]] = {}
    for workload, given in workloads.items():
        phases = phases_of(workload, given)
        parameters = sizes[workload] = dict(given)
        if phases and not any(parameters.get(key) for key in SIZES):
            default = DEFAULTS[workload]
            parameters.update(default)
            assumed += [f"{workload}: {key} {value}" for key, value in default.items()]
        for phase in phases:
            kind = kind_of(workload, phase)
            assert kind is not None
            lacking = assumptions(kind, parameters, cluster)
            assumed += [line for line in lacking if line not in assumed]
            keys.append((workload, phase))
            rows.append((capacity, job(kind, parameters, cluster, capacity)))
    found = predict(fit, rows)
    check_finite(keys, found)
    room = None if this_machine else room_of(sizes, cluster, capacity)
    return {
        "cluster": name,
        "fit": fit.origin,
        "level": 0.9,
        "predictions": [
            as_data(one)
            | {"workload": workload, "phase": phase}
            | _resources(None if this_machine else cluster, one, capacity)
            for (workload, phase), one in zip(keys, found, strict=True)
        ],
        "capacity": room,
        "warnings": [line for line in [capacity_text(room or {})] if line],
        "assumed": assumed,
    }


def unread(
    before: Cluster, changes: Mapping[str, Any], workloads: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Path -> why a changed setting or storage changes no number of the model.

    Other changes are not examined: they may change the price or the power.
    """
    try:
        old = _numbers(before, workloads)
    except DescriptionError:
        return {}  # the changes make the cluster possible
    found = {}
    for path, value in changes.items():
        if path.startswith(("settings.", "storage.")):
            try:
                after = apply_overrides(before, {path: value})
                new = _numbers(after, workloads)
            except DescriptionError:
                continue  # possible only together with another change
            if old == new:
                found[path] = reason(path, before, after, workloads)
    return found


def _numbers(
    cluster: Cluster, workloads: Mapping[str, Mapping[str, Any]]
) -> list[tuple[Hardware, Job]]:
    """What the model predicts the phases of workloads from."""
    capacity = hardware(cluster)
    return [
        (capacity, job(kind, {**DEFAULTS[name], **given}, cluster, capacity))
        for name, given in workloads.items()
        for phase in phases_of(name, given)
        if (kind := kind_of(name, phase)) is not None
    ]


def check_values(cluster: Cluster) -> None:
    """Refuse values of a cluster that the model reads and cannot use.

    Raises
    ------
    DescriptionError
        For the first of these values.
    """
    for path, why in misunderstood(cluster).items():
        raise DescriptionError(why, key=path, remedy="change the value, or remove it.")


def check_finite(keys: Sequence[tuple[str, ...]], found: Sequence[Prediction]) -> None:
    """Refuse predictions that are no numbers.

    Raises
    ------
    UsageError
        For the first of these predictions.
    """
    for key, one in zip(keys, found, strict=True):
        if not all(map(math.isfinite, (one.elapsed_s, one.low_s, one.high_s, one.cpu_s))):
            raise UsageError(
                f"the model has no finite time for {' / '.join(key)}",
                remedy="check the sizes, the rates and the settings of the cluster.",
            )


def _resources(cluster: Cluster | None, one: Prediction, capacity: Hardware) -> dict[str, Any]:
    """Energy and cost of a phase; None if the described hosts are not those that run."""
    if cluster is None:
        return {"energy_wh": None, "cost": None, "currency": None}
    energy = energy_wh(cluster, one, capacity)
    return {"energy_wh": energy} | cost(cluster, one.elapsed_s, energy)


def phases_of(workload: str, parameters: Mapping[str, Any]) -> list[str]:
    """The phases of a workload that are predicted.

    Raises
    ------
    UsageError
        If the model has no equations for the workload.
    """
    if workload not in WORKLOAD_PHASES:
        raise _unknown_workload(workload)
    phases = list(WORKLOAD_PHASES[workload])
    if parameters.get("reuse_input"):
        phases.remove("teragen")
    if parameters.get("time_validation") is False:
        phases.remove("teravalidate")
    return phases


def _unknown_workload(name: str) -> UsageError:
    """The error for a workload without equations: a phase of another, a misspelt name."""
    whole = next((key for key, phases in WORKLOAD_PHASES.items() if name in phases), None)
    if whole is not None:
        return UsageError(
            f"{name} is a phase of {whole}, not a workload",
            remedy=f"predict {whole}: each of its phases has its own line.",
        )
    near = nearest(name, WORKLOAD_PHASES)
    meant = f"did you mean {near}? " if near else ""
    return UsageError(
        f"the model has no equations for the workload '{name}'",
        remedy=f"{meant}it predicts: {', '.join(WORKLOAD_PHASES)}.",
    )


def as_data(one: Prediction) -> dict[str, Any]:
    """A prediction as plain data."""
    return {
        "elapsed_s": one.elapsed_s,
        "low_s": one.low_s,
        "high_s": one.high_s,
        "cpu_s": one.cpu_s,
        "bottleneck": one.bottleneck,
        "next_bottleneck": one.next_bottleneck,
        "inside_fitted_range": one.inside,
        "resources_s": one.resources_s,
    }


def cost(cluster: Cluster, elapsed_s: float, energy: float | None) -> dict[str, Any]:
    """The ``cost`` of a phase and its ``currency``; None unless all hosts have a price.

    The hardware costs its price divided by the hours of the default tariff; electricity is added
    if ``energy`` in Wh is known and its tariff has the same currency.
    """
    priced, tariff = cluster_price("", cluster), Tariff()
    if priced.amount is None or priced.lacking:
        return {"cost": None, "currency": None}
    amount = priced.amount.amount / tariff.busy_hours * elapsed_s / 3600.0
    if energy is not None and tariff.electricity.currency == priced.amount.currency:
        amount += energy / 1000.0 * tariff.electricity.amount * tariff.pue
    return {"cost": amount, "currency": priced.amount.currency}


def energy_wh(cluster: Cluster, one: Prediction, capacity: Hardware) -> float | None:
    """Modelled energy of a phase in Wh; None unless all hosts have idle and peak power."""
    joules = energy_j(cluster, one.elapsed_s, one.cpu_s, capacity)
    return None if joules is None else joules / 3600.0
