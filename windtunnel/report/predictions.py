"""Predictions and fits as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from windtunnel.analysis.cost.tariff import Tariff
from windtunnel.analysis.formatting import plural
from windtunnel.model.constants import CONSTANTS
from windtunnel.model.fit import Fit

WEAK = 0.1
AT_LIMIT = 0.01  # of the logarithm: a fitted constant so near to a bound of its range is at it
OUTSIDE = "outside the fitted range"


def as_text(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines of ``predict``: a line for each phase, then assumptions and errors."""
    rows = found["predictions"]
    names = [_name(row) for row in rows]
    width = max((len(name) for name in names), default=0)
    for name, row in zip(names, rows, strict=True):
        low, high = _seconds(row["low_s"]), _seconds(row["high_s"])
        line = f"{name:{width}}  {_seconds(row['elapsed_s']):>9} [{low}, {high}]"
        if row.get("timeout"):
            line += f"  not finished after {_seconds(row['measured_s'])}"
            line += ", fitted" if row["fitted"] else ""
        elif "measured_s" in row:
            error = row["elapsed_s"] / row["measured_s"] - 1.0
            line += f"  measured {_seconds(row['measured_s'])}, error {error:+.1%}"
            line += ", fitted" if row["fitted"] else ""
        line += f"  bottleneck: {row['bottleneck']}, next: {row['next_bottleneck']}"
        if row.get("energy_wh"):
            line += f"  {row['energy_wh']:.0f} Wh (modelled)"
        if row.get("cost"):
            line += f"  {row['cost']:.2f} {row['currency']}"
        yield line if row["inside_fitted_range"] else f"{line}  ({OUTSIDE})"
    for line in found.get("warnings", ()):
        yield f"warning: {line}"
    yield from _no_effect(found)
    yield f"intervals: 90 %; constants: {found['fit']}"
    for key, title in (("fitted", "fitted"), ("not_fitted", "not fitted")):
        errors = found.get("errors", {}).get(key)
        if errors and errors["points"]:
            yield (
                f"{title}: {errors['points']} elapsed times, mean absolute error "
                f"{errors['mean_absolute_error']:.1%}, largest {errors['largest']:+.1%}, "
                f"{errors['covered']:.0%} within the interval"
            )
    if any(row.get("cost") for row in rows):
        yield f"costs: the price of the hosts over {Tariff().span} of use, and known electricity"
    for line in found["assumed"]:
        yield f"assumed: {line}"


def what_if_text(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines of ``whatif``: the measured time and the predicted one, with the ratio's interval."""
    rows = found["predictions"]
    yield from _no_effect(found)
    if not any(row["changed"] for row in rows):
        return
    names = [_name(row) for row in rows]
    width = max((len(name) for name in names), default=0)
    for name, row in zip(names, rows, strict=True):
        if not row["changed"]:
            yield f"{name:{width}}  {_seconds(row['measured_s']):>9}  no effect in the model"
            continue
        low, high = row["ratio_low"] - 1.0, row["ratio_high"] - 1.0
        line = (
            f"{name:{width}}  {_seconds(row['measured_s']):>9} -> {_seconds(row['elapsed_s']):>9}  "
            f"{row['ratio'] - 1.0:+.1%} [{low:+.1%}, {high:+.1%}]  "
            f"bottleneck: {row['bottleneck']}, next: {row['next_bottleneck']}"
        )
        yield line if row["inside_fitted_range"] else f"{line}  ({OUTSIDE})"
    if found.get("timeouts"):
        yield f"omitted, because they did not finish: {plural(found['timeouts'], 'job')}"
    yield (
        "intervals: 90 %; constants: those of the published studies, then fitted to these results"
    )
    for line in found["assumed"]:
        yield f"assumed: {line}"


def _no_effect(found: Mapping[str, Any]) -> Iterator[str]:
    for path, why in found.get("no_effect", {}).items():
        yield f"no effect in the model: {path}: {why}"


def _name(row: Mapping[str, Any]) -> str:
    return " / ".join(row[key] for key in ("treatment", "workload", "phase") if key in row)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


def fit_text(fit: Fit) -> Iterator[str]:
    """Lines of ``fit``: a line for each constant with its bounds, and the model's error."""
    spread = np.sqrt(np.diag(fit.covariance))
    known = fit.determined()
    yield f"fitted to {len(fit.names)} elapsed times: {fit.origin}"
    for place, one in enumerate(CONSTANTS):
        value = np.exp(fit.log[place])
        low, high = (np.exp(fit.log[place] + sign * 1.645 * spread[place]) for sign in (-1, 1))
        line = f"  {one.name:17} {value:9.4g} [{low:.4g}, {high:.4g}] {one.unit}"
        ends = (np.log(one.low), np.log(one.high))
        if any(abs(fit.log[place] - end) < AT_LIMIT for end in ends):
            line += "  (at its limit)"
        yield line if known[one.name] > WEAK else f"{line}  (not determined by these data)"
    for label, (log, deviation) in fit.offsets.items():
        low, high = (np.exp(log + sign * 1.645 * deviation) for sign in (-1, 1))
        yield f"  {label}: {np.exp(log):.3g} [{low:.3g}, {high:.3g}] times that of the equations"
    yield f"error of the model: {fit.error:.1%} (one standard deviation)"
