"""Described clusters against the first of them: price, capacity, time of each workload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from windtunnel.analysis.cost.price import cluster_price
from windtunnel.analysis.prediction.balance import Keys, keys_of, rows_of
from windtunnel.analysis.prediction.capacity import disk_bytes
from windtunnel.analysis.prediction.ratios import ratios
from windtunnel.cluster import Cluster, Money
from windtunnel.model.fit import Fit
from windtunnel.model.hardware import hardware
from windtunnel.model.predict import LEVEL, predict


def alternatives(
    clusters: Mapping[str, Cluster], workloads: Sequence[str], fit: Fit
) -> dict[str, Any]:
    """What each cluster costs, and what it brings per workload, as plain data for JSON.

    Parameters
    ----------
    clusters:
        Name -> description; the first one is the reference of all others.
    workloads:
        Names; each runs with the sizes of :data:`DEFAULTS` on all clusters.

    Returns
    -------
    dict
        ``clusters``: price (None unless all hosts have one) and capacity in bytes. ``workloads``:
        predicted seconds of all phases, and for clusters after the first the relative ``change``
        of the time with an interval of 90 %, the relative change of price times time
        (``price_time_change``), and ``equal_price``: the price at which price times time equals
        that of the reference. ``inside`` is whether the model was fitted on such values.

    Raises
    ------
    UsageError
        If the model has no equations for a workload.
    """
    keys = keys_of(workloads)
    names = list(clusters)
    described = [_described(name, clusters[name]) for name in names]
    rows = []
    for workload in dict.fromkeys(key[0] for key in keys):
        own = [key for key in keys if key[0] == workload]
        rows += _workload(workload, own, clusters, described, fit)
    return {
        "reference": names[0],
        "fit": fit.origin,
        "level": LEVEL,
        "clusters": described,
        "workloads": rows,
    }


def _described(name: str, cluster: Cluster) -> dict[str, Any]:
    """Hosts, price and raw capacity of a cluster; None for what the description does not state."""
    price = _price(cluster)
    return {
        "cluster": name,
        "hosts": sum(one.count for one in cluster.hosts.values()),
        "workers": cluster.role_counts().get("nodemanager", 0),
        "capacity_bytes": disk_bytes(cluster),
        "price": None if price is None else float(price.amount),
        "currency": "" if price is None else price.currency,
    }


def _price(cluster: Cluster) -> Money | None:
    """The price of all hosts; None if one has none, for a sum without it would mislead."""
    found = cluster_price("", cluster)
    return None if found.lacking else found.amount


def _workload(
    workload: str,
    keys: Keys,
    clusters: Mapping[str, Cluster],
    described: Sequence[Mapping[str, Any]],
    fit: Fit,
) -> list[dict[str, Any]]:
    sides = [rows_of(keys, one, hardware(one)) for one in clusters.values()]
    made = [predict(fit, side) for side in sides]
    times = [sum(one.elapsed_s for one in side) for side in made]
    against = ratios(fit, [(side, sides[0]) for side in sides[1:]])
    rows = [_row(workload, described[0], times[0], all(one.inside for one in made[0]))]
    for place, ratio in enumerate(against, 1):
        row = _row(workload, described[place], times[place], ratio.inside)
        middle, (low, high) = ratio.log.estimate, ratio.log.interval(LEVEL) or (-inf, inf)
        row |= {"change": math.expm1(middle), "low": math.expm1(low), "high": math.expm1(high)}
        row |= _worth(described[0], described[place], math.exp(middle))
        rows.append(row)
    return rows


def _row(workload: str, one: Mapping[str, Any], elapsed: float, inside: bool) -> dict[str, Any]:
    return {
        "workload": workload,
        "cluster": one["cluster"],
        "elapsed_s": elapsed,
        "inside": inside,
    }


def _worth(
    reference: Mapping[str, Any], one: Mapping[str, Any], ratio: float
) -> dict[str, float | None]:
    """Price times time against the reference, and the price at which the two are equal."""
    base, own = reference["price"], one["price"]
    comparable = base and own and reference["currency"] == one["currency"]
    return {
        "price_time_change": own * ratio / base - 1.0 if comparable else None,
        "equal_price": base / ratio if base else None,
    }
