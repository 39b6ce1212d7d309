"""All effects on the total in one chart on one scale, the largest first."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.effects.findings import LOWEST, effect_size
from windtunnel.analysis.effects.overview import (
    ROWS_SHOWN,
    TOGETHER,
    Row,
    common_baseline,
    overview,
    totals,
    worthwhile,
)
from windtunnel.analysis.formatting import percent, percent_interval
from windtunnel.analysis.names import level_words
from windtunnel.report.charts.parts import Drawing, Key, data, layer
from windtunnel.report.theme import GRID, INK, MUTED, PAPER, TREATMENTS, colour

NARROW = 500
TICKS = (
    -0.9,
    -0.8,
    -0.67,
    -0.5,
    -0.3,
    -0.2,
    -0.1,
    -0.05,
    *(0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 9.0, 19.0, 49.0, 99.0),
)
HIGHEST = 200.0
"""Larger ratios are drawn at the end of the scale."""


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """A row for each level, a point with its interval for each workload; None with few effects."""
    if not worthwhile(analysis):
        return None
    rows = overview(analysis)[:ROWS_SHOWN]
    narrow = width < NARROW
    inks = _inks(analysis)
    low, high = _domain([e for _, effects in rows for e in effects])
    points = []
    step = min(
        0.16 if narrow else 0.24,
        (0.5 if narrow else 0.72) / max(len(effects) for _, effects in rows),
    )
    for place, (_, effects) in enumerate(rows):
        for number, e in enumerate(effects):
            at = place + step * (number - (len(effects) - 1) / 2) + (0.2 if narrow else 0)
            points.append(_point(e, at, inks[e.workload], low, high))
    heads = [{"y": i - 0.26, "words": head} for i, (head, _) in enumerate(rows)]
    label = 0 if narrow else 250
    plot = width - label - (24 if narrow else 40)
    height = (52 if narrow else 30) * len(rows)
    down = alt.Scale(domain=[-0.6, len(rows) - 0.4], reverse=True, nice=False)
    y = alt.Y("y:Q", scale=down, title=None, axis=None if narrow else _names(rows, label))
    zero = alt.Chart(data([{"x": 1.0}])).mark_rule(color=MUTED, strokeWidth=1.5)
    base = alt.Chart(data(points))
    spans = base.mark_rule(strokeWidth=3, strokeCap="round").encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=alt.Color("ink:N", scale=None)
    )
    dots = base.mark_point(size=70, strokeWidth=2, opacity=1).encode(
        x=_axis(low, high, _title(analysis, narrow=narrow), narrow=narrow),
        y=y,
        stroke=alt.Stroke("ink:N", scale=None),
        fill=alt.Fill("fill:N", scale=None),
    )
    parts = [zero.encode(x=alt.X("x:Q")), spans, dots]
    if narrow:  # above the marks, with an outline that separates the words from lines behind
        words = alt.Chart(data(heads)).encode(y=y, text=alt.Text("words:N"))
        parts.append(words.mark_text(align="left", x=0, limit=plot, stroke=PAPER, strokeWidth=4))
        parts.append(words.mark_text(align="left", x=0, limit=plot, color=INK))
    return layer(*parts, width=plot, height=height)


def _names(rows: Sequence[Row], room: int) -> alt.Axis:
    """The rows' names in a column of a fixed width."""
    return alt.Axis(
        values=list(range(len(rows))),
        labelExpr=f"{json.dumps([name for name, _ in rows])}[datum.value]",
        grid=False,
        labelColor=INK,
        labelLimit=room,
        minExtent=room,
    )


def _title(analysis: Analysis, *, narrow: bool) -> str:
    """The title of the axis: quantity, baseline, and the number of rows if not all are shown."""
    shared = common_baseline(totals(analysis))
    base = "the baseline" if shared is None else level_words(*shared)
    count = len(overview(analysis))
    most = f"; the {ROWS_SHOWN} largest of {count}" if count > ROWS_SHOWN else ""
    return f"{'change' if narrow else 'change of elapsed time'} against {base}{most}"


def describe(analysis: Analysis) -> str:
    """The chart in words: the effects of each row."""
    said = []
    for head, effects in overview(analysis)[:ROWS_SHOWN]:
        each = [
            percent(e.relative)
            + (
                f" {percent_interval(e.ci_low, e.ci_high, e.relative)}"
                if e.ci_low is not None
                else ""
            )
            + (f" on {e.workload}" if len(effects) > 1 else "")
            for e in effects
        ]
        said.append(f"{head}: {', '.join(each)}")
    return f"Effects on elapsed time on one scale, the largest first. {'. '.join(said)}."


def key(analysis: Analysis) -> list[Key]:
    """The colours of the workloads, if rows have several."""
    inks = _inks(analysis)
    return (
        [Key("dot", ink, name) for name, ink in inks.items()] if len(set(inks.values())) > 1 else []
    )


def _inks(analysis: Analysis) -> dict[str, str]:
    """A colour for each workload; one colour if each workload has rows of its own."""
    names = [name for name in analysis.phases if name in {e.workload for e in totals(analysis)}]
    if len(names) > TOGETHER:
        return dict.fromkeys(names, TREATMENTS[1])
    return {name: colour(TREATMENTS, place + 1) for place, name in enumerate(names)}


def _domain(effects: Sequence[Effect]) -> tuple[float, float]:
    """Ratios from the lowest to the highest bound; intervals much wider than effects are cut."""
    points = [1 + (e.relative or 0.0) for e in effects]
    reach = max([effect_size(e) for e in effects] + [math.log(1.05)])
    bounds = [1 + b for e in effects for b in (e.ci_low, e.ci_high) if b is not None]
    low = max(min([1.0, *points, *bounds]), math.exp(-1.6 * reach), LOWEST)
    high = min(max([1.0, *points, *bounds]), math.exp(1.6 * reach), HIGHEST)
    margin = (high / low) ** 0.04
    return low / margin, high * margin


def _point(e: Effect, y: float, ink: str, low: float, high: float) -> dict[str, object]:
    x = min(max(1 + (e.relative or 0.0), low), high)
    known = e.ci_low is not None and e.ci_high is not None
    shown = ink if known or e.distinguishable is None else MUTED
    return {
        "x": x,
        "y": y,
        "low": min(max(1 + (e.ci_low or 0.0), low), high) if known else x,
        "high": min(max(1 + (e.ci_high or 0.0), low), high) if known else x,
        "ink": shown,
        "fill": shown if e.distinguishable else PAPER,
    }


def _axis(low: float, high: float, title: str, *, narrow: bool) -> alt.X:
    inside = [tick for tick in TICKS if low <= 1 + tick <= high]
    least = math.log(high / low) / (5 if narrow else 9)  # so that labels do not touch
    kept = [0.0]
    for tick in sorted(inside, key=abs):
        if all(abs(math.log((1 + tick) / (1 + other))) >= least for other in kept):
            kept.append(tick)
    label = "datum.value == 1 ? '0' : replace(format(datum.value - 1, '+.0%'), '%', ' %')"
    return alt.X(
        "x:Q",
        title=title,
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=[1 + tick for tick in sorted(kept)], labelExpr=label, gridColor=GRID),
    )
