"""Candidates of ``size``: time against price, the Pareto front labelled where labels fit.

Every point has a title, which a browser shows as a tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from windtunnel.report.charts.labels import FONT_SIZE, Box, Label, place
from windtunnel.report.charts.parts import Drawing, data, layer
from windtunnel.report.theme import INK, MUTED, PAPER, TREATMENTS

WIDTH, HEIGHT = 860, 520
# kind -> colour of the outline, colour of the area
_KINDS = {
    "Pareto front, meets the goal": (TREATMENTS[1], TREATMENTS[1]),
    "Pareto front, misses the goal": (INK, INK),
    "dominated": (MUTED, PAPER),
}
_RADIUS = 5.0  # px around a point that labels leave free
_STEPS = (1, 2, 3, 5, 7)  # of each power of ten


def front(found: Mapping[str, Any]) -> Drawing:
    """The drawing of a result of ``sized`` with at least one price; both axes are logarithmic.

    Intervals are those of the Pareto front only. The dashed lines are the limits of the goal.
    """
    rows = [row for row in found["candidates"] if row["price"]]
    goal, currency = found["goal"], rows[0]["currency"]
    within, best = goal["within_s"], [row for row in rows if not row["dominated"]]
    times = _domain([within, *(row["elapsed_s"] for row in rows), *(r["low_s"] for r in best)])
    prices = _domain([row["price"] for row in rows])
    x = alt.X("x:Q", title="predicted time of all phases, s", **_log(times))
    y = alt.Y("y:Q", title=f"price of the hosts, {currency}", **_log(prices))
    points = alt.Chart(data([_point(row) for row in sorted(rows, key=_drawn_last)]))
    spans = alt.Chart(data([_point(row) for row in best]))
    limit = alt.Chart(data([{"x": within, "words": f"goal: {within:,.0f} s"}]))
    drawn = [
        limit.mark_rule(strokeDash=[4, 4], color=MUTED).encode(x=x),
        limit.mark_text(align="left", dx=5, y=8, color=MUTED).encode(x=x, text=alt.Text("words:N")),
        spans.mark_rule(opacity=0.5, clip=True).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=_colour("stroke")
        ),
        points.mark_point(size=45, strokeWidth=1.3, opacity=1, aria=True).encode(
            x=x,
            y=y,
            stroke=_colour("stroke"),
            fill=_colour("fill"),
            description=alt.Description("words:N"),
        ),
        *_texts(labels(rows, within, times, prices)),
    ]
    return layer(*drawn, width=WIDTH, height=HEIGHT, title="Time against price")


def labels(
    rows: Sequence[Mapping[str, Any]],
    within: float,
    times: tuple[float, float],
    prices: tuple[float, float],
) -> list[Label]:
    """Names of candidates of the Pareto front, in px: the cheapest that meets the goal first.

    ``within`` is the time of the goal in s, ``times`` and ``prices`` are the ends of the axes;
    ``rows`` are candidates with a price, those that meet the goal first, the cheapest first.
    """
    line = _across(within, times)
    taken = [Box(line - 1.0, 0.0, line + 1.0, HEIGHT)]
    for row in rows:
        x, y = _across(row["elapsed_s"], times), HEIGHT - _across(row["price"], prices, HEIGHT)
        taken.append(Box(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS))
        if not row["dominated"]:
            low, high = (_across(row[key], times) for key in ("low_s", "high_s"))
            taken.append(Box(low, y - 1.0, high, y + 1.0))
    named = [
        (
            _across(row["elapsed_s"], times),
            HEIGHT - _across(row["price"], prices, HEIGHT),
            str(row["name"]),
        )
        for row in rows
        if not row["dominated"]
    ]
    return place(named, taken, Box(0.0, 0.0, WIDTH, HEIGHT))


def _point(row: Mapping[str, Any]) -> dict[str, object]:
    kind = "dominated"
    if not row["dominated"]:
        kind = f"Pareto front, {'meets' if row['meets'] else 'misses'} the goal"
    words = (
        f"{row['name']}: {row['elapsed_s']:,.0f} s [{row['low_s']:,.0f}, {row['high_s']:,.0f}], "
        f"{row['price']:,.0f} {row['currency']}; "
        f"bottleneck: {row['bottleneck']}, next: {row['next_bottleneck']}"
    )
    return {
        "x": row["elapsed_s"],
        "low": row["low_s"],
        "high": row["high_s"],
        "y": row["price"],
        "kind": kind,
        "words": words,
    }


def _drawn_last(row: Mapping[str, Any]) -> bool:
    """Points of the Pareto front cover dominated ones."""
    return not row["dominated"]


def _texts(found: Sequence[Label]) -> Iterator[alt.Chart]:
    """A layer for each alignment: it is a property of the mark."""
    for align in ("left", "right"):
        rows = [{"x": one.x, "y": one.y, "words": one.text} for one in found if one.align == align]
        if rows:
            yield (
                alt.Chart(data(rows))
                .mark_text(align=align, baseline="middle", fontSize=FONT_SIZE)
                .encode(
                    x=alt.X("x:Q", scale=None),
                    y=alt.Y("y:Q", scale=None),
                    text=alt.Text("words:N"),
                )
            )


def _colour(channel: str) -> Any:
    inks = [pair[channel == "fill"] for pair in _KINDS.values()]
    made = alt.Fill if channel == "fill" else alt.Stroke
    return made(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=list(_KINDS), range=inks),
        # browsers without Arial have wider letters: the columns need room
        legend=alt.Legend(
            orient="top", symbolOpacity=1, symbolType="circle", labelLimit=300, columnPadding=40
        ),
    )


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """The ends of a logarithmic axis, with a margin on both sides."""
    low, high = math.log(min(values)), math.log(max(values))
    margin = max(0.05, 0.06 * (high - low))
    return math.exp(low - margin), math.exp(high + margin)


def _log(ends: tuple[float, float]) -> dict[str, Any]:
    """A logarithmic scale between ``ends``, with round ticks."""
    powers = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1)
    ticks = [step * 10.0**power for power in powers for step in _STEPS]
    return {
        "scale": alt.Scale(type="log", nice=False, domain=list(ends)),
        "axis": alt.Axis(
            values=[tick for tick in ticks if ends[0] <= tick <= ends[1]],
            format=",.3~r",
            labelOverlap="greedy",
        ),
    }


def _across(value: float, ends: tuple[float, float], length: float = WIDTH) -> float:
    """The place of a value on a logarithmic axis, in px from its start."""
    low, high = math.log(ends[0]), math.log(ends[1])
    return length * (math.log(value) - low) / (high - low)
