"""Predictions for workloads on a described cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.analysis.cost.price import cluster_price
from windtunnel.analysis.cost.tariff import Tariff
from windtunnel.cluster import Cluster
from windtunnel.errors import UsageError
from windtunnel.model.energy import energy_j
from windtunnel.model.fit import Fit
from windtunnel.model.hardware import Hardware, hardware, on_this_machine
from windtunnel.model.jobs import WORKLOAD_PHASES, Job, assumptions, job, kind_of
from windtunnel.model.predict import Prediction, predict

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

    ``this_machine``: the hosts are processes of this machine, as on the testbed 'local'.

    Raises
    ------
    UsageError
        If the model has no equations for a workload.
    """
    capacity = on_this_machine(hardware(cluster)) if this_machine else hardware(cluster)
    keys: list[tuple[str, str]] = []
    rows: list[tuple[Hardware, Job]] = []
    assumed = list(capacity.assumed)
    for workload, given in workloads.items():
        parameters = dict(given)
        for phase in _phases(workload, parameters):
            kind = kind_of(workload, phase)
            assert kind is not None
            if not any(parameters.get(key) for key in SIZES):
                default = DEFAULTS[workload]
                parameters.update(default)
                assumed += [f"{workload}: {key} {value}" for key, value in default.items()]
            lacking = assumptions(kind, parameters, cluster)
            assumed += [line for line in lacking if line not in assumed]
            keys.append((workload, phase))
            rows.append((capacity, job(kind, parameters, cluster, capacity)))
    found = predict(fit, rows)
    return {
        "cluster": name,
        "fit": fit.origin,
        "level": 0.9,
        "predictions": [
            as_data(one)
            | {"workload": workload, "phase": phase}
            | {"energy_wh": (wh := energy_wh(cluster, one, capacity))}
            | cost(cluster, one.elapsed_s, wh)
            for (workload, phase), one in zip(keys, found, strict=True)
        ],
        "assumed": assumed,
    }


def _phases(workload: str, parameters: Mapping[str, Any]) -> list[str]:
    if workload not in WORKLOAD_PHASES:
        raise UsageError(
            f"the model has no equations for the workload '{workload}'",
            remedy=f"it predicts: {', '.join(WORKLOAD_PHASES)}.",
        )
    phases = list(WORKLOAD_PHASES[workload])
    if parameters.get("reuse_input"):
        phases.remove("teragen")
    if parameters.get("time_validation") is False:
        phases.remove("teravalidate")
    return phases


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
