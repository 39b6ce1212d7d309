"""Candidates of ``size`` as text, and their Pareto front of time and price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import altair as alt

from windtunnel.errors import ResultsError
from windtunnel.report.accuracy import ALONE
from windtunnel.report.atomic import write_bytes
from windtunnel.report.charts.parts import data, layer
from windtunnel.report.svg import svg
from windtunnel.report.theme import INK, MUTED

SHOWN = 20
LABELS = 1  # the cheapest candidate that meets the goal; more would overlap


def sizing_text(found: Mapping[str, Any]) -> Iterator[str]:
    """The answer, then a line for each candidate: those that meet the goal first."""
    rows, goal = found["candidates"], found["goal"]
    meeting = [row for row in rows if row["meets"]]
    wanted = f"{goal['within_s']:,.0f} s with a probability of {goal['probability']:.0%}"
    if meeting:
        yield f"cheapest of {len(rows)} candidates that need at most {wanted}: {rows[0]['name']}"
    else:
        yield f"none of {len(rows)} candidates meets the goal: at most {wanted}"
    for row in rows[:SHOWN]:
        price = "price unknown"
        if row["price"] is not None:
            price = f"{row['price']:,.0f} {row['currency']}"
        power = "" if row["power_w"] is None else f", {row['power_w'] / 1000.0:.1f} kW"
        line = (
            f"{'*' if not row['dominated'] else ' '} {row['name']}: {row['elapsed_s']:,.0f} s "
            f"[{row['low_s']:,.0f}, {row['high_s']:,.0f}], {row['probability']:.0%} in time, "
            f"{price}{power}; {row['bottleneck']}, then {row['next_bottleneck']}"
        )
        line += f"; misses {', '.join(row['misses'])}" if row["misses"] else ""
        yield line if row["inside_fitted_range"] else f"{line} (outside what was fitted)"
    if len(rows) > SHOWN:
        yield f"{len(rows) - SHOWN} more candidates: see --json"
    yield "* not dominated: no other candidate is as fast and cheaper"
    yield f"constants: {found['fit']}"


def write_front(found: Mapping[str, Any], path: Path) -> None:
    """Write time against price as SVG; errors also as those of ``write_bytes``.

    Raises
    ------
    ResultsError
        If no candidate has a price.
    """
    front = [row for row in found["candidates"] if row["price"] and not row["dominated"]]
    named = [row["name"] for row in front if row["meets"]][:LABELS]
    named = named or [row["name"] for row in front[:LABELS]]
    rows = [
        {
            "x": row["elapsed_s"],
            "low": row["low_s"],
            "high": row["high_s"],
            "y": row["price"],
            "words": row["name"] if row["name"] in named else "",
            "kind": "dominated" if row["dominated"] else "Pareto front",
        }
        for row in found["candidates"]
        if row["price"] is not None
    ]
    if not rows:
        raise ResultsError(
            "no candidate has a price", remedy="describe 'price' or 'price_parts' of the hosts."
        )
    ends = [min(row["low"] for row in rows) * 0.9, max(row["high"] for row in rows) * 1.3]
    scale = alt.Scale(type="log", nice=False, domain=ends)
    x = alt.X("x:Q", title="predicted time of all phases, s", scale=scale)
    currency = found["candidates"][0]["currency"]
    y = alt.Y(
        "y:Q", title=f"price, {currency}", scale=alt.Scale(zero=False), axis=alt.Axis(format="~s")
    )
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=["Pareto front", "dominated"], range=[INK, MUTED]),
        legend=alt.Legend(orient="top", symbolOpacity=1, symbolType="circle"),
    )
    dots = alt.Chart(data(rows))
    goal = alt.Chart(data([{"x": found["goal"]["within_s"]}]))
    drawing = layer(
        goal.mark_rule(strokeDash=[4, 4], color=MUTED).encode(x=x),
        dots.mark_rule(opacity=0.4).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=colour
        ),
        dots.mark_point(filled=True, size=50, opacity=1).encode(x=x, y=y, color=colour),
        dots.mark_text(align="left", dx=8, dy=-8, fontSize=11).encode(x=x, y=y, text="words:N"),
        width=640,
        height=420,
        title="Time against price",
    )
    text = svg(drawing).replace("<svg ", f"<svg {ALONE} ", 1)
    write_bytes(path, text.encode())
