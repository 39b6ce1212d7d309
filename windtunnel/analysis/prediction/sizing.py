"""Choosing a cluster: candidates with predicted time, price and power, against a goal."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from windtunnel.analysis.cost.price import cluster_price
from windtunnel.analysis.prediction.capacity import capacity_text
from windtunnel.analysis.prediction.described import predict_workloads
from windtunnel.cluster import Cluster, Money
from windtunnel.model.fit import Fit
from windtunnel.model.predict import LEVEL


@dataclass(frozen=True)
class Candidate:
    """One cluster that is considered, and the workloads with their parameters.

    ``refused`` are the reasons why the workloads cannot run on it; then no time is predicted.
    """

    name: str
    cluster: Cluster
    workloads: Mapping[str, Mapping[str, Any]]
    refused: Sequence[str] = ()


@dataclass(frozen=True)
class Goal:
    """The goal of a cluster: seconds with a probability; limits of price and watts (or None)."""

    within_s: float
    probability: float
    budget: Money | None = None  # without a currency: in that of the candidates
    power_w: float | None = None


def sized(candidates: Sequence[Candidate], goal: Goal, fit: Fit) -> dict[str, Any]:
    """All candidates as plain data for JSON: by the number of missed goals, the cheapest first.

    Candidates that cannot run, or whose disks cannot hold the data, are the last. ``minimised``
    are the objectives of the Pareto front: price (if one is known), time, and power if the goal
    limits it. ``dominated`` is False for the candidates of the front: no other candidate is at
    least as good in all objectives, and better in one. ``assumed`` has the values that the
    candidates do not state, with the number of candidates if these are not all.
    """
    rows = [_row(one, goal, fit) for one in candidates]
    minimised = ["price"] if any(row["price"] is not None for row in rows) else []
    minimised += ["time"] if goal.power_w is None else ["time", "power"]
    for row, dominated in zip(rows, _dominated(rows, power="power" in minimised), strict=True):
        row["dominated"] = dominated
    rows.sort(key=_order)
    return {
        "fit": fit.origin,
        "goal": {
            "within_s": goal.within_s,
            "probability": goal.probability,
            "budget": None if goal.budget is None else str(goal.budget).strip(),
            "power_w": goal.power_w,
        },
        "minimised": minimised,
        "candidates": rows,
        "assumed": _assumed(rows),
    }


def _assumed(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    counted = Counter(line for row in rows for line in row["assumed"])
    total = sum(row["elapsed_s"] is not None for row in rows)
    return [
        line if count == total else f"{line} ({count} of {total} candidates)"
        for line, count in counted.items()
    ]


def _order(row: Mapping[str, Any]) -> tuple[object, ...]:
    """A candidate without a price is after those with one; then the fastest is the first."""
    unpriced = row["price"] is None
    elapsed = math.inf if row["elapsed_s"] is None else row["elapsed_s"]
    price = (unpriced, row["currency"] or "", 0.0 if unpriced else row["price"])
    return not row["possible"], len(row["misses"]), *price, elapsed


def _row(one: Candidate, goal: Goal, fit: Fit) -> dict[str, Any]:
    priced = cluster_price(one.name, one.cluster)
    # a class without a price would make its cluster the cheapest
    price = None if priced.lacking else priced.amount
    watts = _peak_w(one.cluster)
    times = _NOT_PREDICTED if one.refused else _times(one, goal, fit)
    misses = [f"cannot run: {line}" for line in one.refused]
    if times["full"]:
        misses.append(times["full"])
    # a comparison with a value that is no number is false
    if not one.refused and not times["probability"] >= goal.probability:
        misses.append(f"time: {times['longest']} is bound by {times['bottleneck']}")
    misses += _limits(price, watts, goal)
    return {
        "name": one.name,
        **{key: value for key, value in times.items() if key not in ("longest", "full")},
        "price": None if price is None else price.amount,
        "currency": None if price is None else price.currency,
        "power_w": watts,
        "possible": not one.refused and not times["full"],
        "meets": not misses,
        "misses": misses,
    }


_NOT_PREDICTED: Mapping[str, Any] = {
    "elapsed_s": None,
    "low_s": None,
    "high_s": None,
    "probability": None,
    "bottleneck": None,
    "next_bottleneck": None,
    "inside_fitted_range": None,
    "capacity": None,
    "assumed": [],
    "longest": None,
    "full": "",
}


def _times(one: Candidate, goal: Goal, fit: Fit) -> Mapping[str, Any]:
    """The sum of the times with its interval, and ``full`` if the data does not fit."""
    found = predict_workloads(one.name, one.cluster, one.workloads, fit)
    phases = found["predictions"]
    total, low, high = (sum(row[key] for row in phases) for key in ("elapsed_s", "low_s", "high_s"))
    # the errors of the phases count as one: they come from the same constants
    reach = float(student.ppf(0.5 + LEVEL / 2.0, fit.freedom))
    deviation = math.log(high / low) / 2.0 / reach
    longest = max(phases, key=lambda row: float(row["elapsed_s"]))
    return {
        "elapsed_s": total,
        "low_s": low,
        "high_s": high,
        "probability": float(student.cdf(math.log(goal.within_s / total) / deviation, fit.freedom)),
        "bottleneck": longest["bottleneck"],
        "next_bottleneck": longest["next_bottleneck"],
        "inside_fitted_range": all(row["inside_fitted_range"] for row in phases),
        "capacity": found["capacity"],
        "assumed": found["assumed"],
        "longest": longest["phase"],
        "full": capacity_text(found["capacity"]),
    }


def _limits(price: Money | None, watts: float | None, goal: Goal) -> list[str]:
    """The missed limits of price and power."""
    misses = []
    if goal.budget is not None:
        wanted = goal.budget.currency
        if price is not None and wanted not in ("", price.currency):
            misses.append(f"price in {price.currency}, not in {wanted}")
        elif price is None:
            misses.append(f"price in {wanted} unknown" if wanted else "price unknown")
        elif price.amount > goal.budget.amount:
            misses.append("price")
    if goal.power_w is not None and (watts is None or watts > goal.power_w):
        misses.append("power unknown" if watts is None else "power")
    return misses


def _peak_w(cluster: Cluster) -> float | None:
    """Peak power of all hosts in watts; None unless each class has it."""
    total = 0.0
    for host in cluster.hosts.values():
        if host.power is None or host.power.peak is None:
            return None
        total += host.count * float(host.power.peak)
    return total


def _dominated(rows: Sequence[Mapping[str, Any]], *, power: bool) -> list[bool]:
    """Whether another row is at most as expensive and as slow, and better in one objective.

    With ``power``, it is the third objective. Rows are compared with rows of the same currency;
    rows without a price, or without power, are compared among themselves by what is known. A row
    that is not possible is not on the front and keeps no other row from it.
    """
    groups: dict[tuple[str | None, bool], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row["possible"]:
            groups[row["currency"], power and row["power_w"] is not None].append(place)
    found = [True] * len(rows)
    for places in groups.values():
        keys = ("price", "elapsed_s", *(["power_w"] if power else []))
        values = np.array([[rows[place][key] or 0.0 for key in keys] for place in places])
        for place, own in zip(places, values, strict=True):
            better = (values <= own).all(axis=1) & (values < own).any(axis=1)
            found[place] = bool(better.any())
    return found
