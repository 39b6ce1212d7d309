"""Choosing a cluster: candidates with predicted time, price and power, against a goal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from windtunnel.analysis.cost.price import cluster_price
from windtunnel.analysis.prediction.described import predict_workloads
from windtunnel.cluster import Cluster, Money
from windtunnel.model.fit import Fit
from windtunnel.model.predict import LEVEL


@dataclass(frozen=True)
class Candidate:
    """One cluster that is considered, and the workloads with their parameters."""

    name: str
    cluster: Cluster
    workloads: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Goal:
    """The goal of a cluster: seconds with a probability; limits of price and watts (or None)."""

    within_s: float
    probability: float
    budget: Money | None = None  # without a currency: in that of the candidates
    power_w: float | None = None


def sized(candidates: Sequence[Candidate], goal: Goal, fit: Fit) -> dict[str, Any]:
    """All candidates as plain data for JSON: by the number of missed goals, the cheapest first.

    ``dominated`` states that another candidate is at most as expensive and at most as slow, and
    better in one of both.
    """
    rows = [_row(one, goal, fit) for one in candidates]
    for row, dominated in zip(rows, _dominated(rows), strict=True):
        row["dominated"] = dominated
    rows.sort(key=lambda row: (len(row["misses"]), row["price"] or math.inf, row["elapsed_s"]))
    return {
        "fit": fit.origin,
        "goal": {
            "within_s": goal.within_s,
            "probability": goal.probability,
            "budget": None if goal.budget is None else str(goal.budget).strip(),
            "power_w": goal.power_w,
        },
        "candidates": rows,
    }


def _row(one: Candidate, goal: Goal, fit: Fit) -> dict[str, Any]:
    found = predict_workloads(one.name, one.cluster, one.workloads, fit)
    phases = found["predictions"]
    total, low, high = (sum(row[key] for row in phases) for key in ("elapsed_s", "low_s", "high_s"))
    # the errors of the phases count as one: they come from the same constants
    reach = float(student.ppf(0.5 + LEVEL / 2.0, fit.freedom))
    deviation = math.log(high / low) / 2.0 / reach
    chance = float(student.cdf(math.log(goal.within_s / total) / deviation, fit.freedom))
    priced = cluster_price(one.name, one.cluster)
    # a class without a price would make its cluster the cheapest
    price = None if priced.lacking else priced.amount
    watts = _peak_w(one.cluster)
    longest = max(phases, key=lambda row: float(row["elapsed_s"]))
    misses = []
    if chance < goal.probability:
        misses.append(f"time: {longest['phase']} is bound by {longest['bottleneck']}")
    if goal.budget is not None:
        wanted = goal.budget.currency
        if price is None or wanted not in ("", price.currency):
            misses.append(f"price in {wanted} unknown" if wanted else "price unknown")
        elif price.amount > goal.budget.amount:
            misses.append("price")
    if goal.power_w is not None and (watts is None or watts > goal.power_w):
        misses.append("power unknown" if watts is None else "power")
    return {
        "name": one.name,
        "elapsed_s": total,
        "low_s": low,
        "high_s": high,
        "probability": chance,
        "price": None if price is None else price.amount,
        "currency": None if price is None else price.currency,
        "power_w": watts,
        "bottleneck": longest["bottleneck"],
        "next_bottleneck": longest["next_bottleneck"],
        "inside_fitted_range": all(row["inside_fitted_range"] for row in phases),
        "meets": not misses,
        "misses": misses,
    }


def _peak_w(cluster: Cluster) -> float | None:
    """Peak power of all hosts in watts; None unless each class has it."""
    total = 0.0
    for host in cluster.hosts.values():
        if host.power is None or host.power.peak is None:
            return None
        total += host.count * float(host.power.peak)
    return total


def _dominated(rows: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Whether another row is at most as expensive and as slow, and better in one of both."""
    known = [row["price"] is not None for row in rows]
    price = np.array(
        [row["price"] if has else np.nan for row, has in zip(rows, known, strict=True)]
    )
    time = np.array([row["elapsed_s"] for row in rows])
    found = []
    for cost, elapsed in zip(price, time, strict=True):
        better = (price <= cost) & (time <= elapsed) & ((price < cost) | (time < elapsed))
        found.append(bool(better.any()))
    return found
