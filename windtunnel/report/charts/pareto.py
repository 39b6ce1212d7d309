"""Pareto front of time and price, or of time and energy: filled points are not dominated."""

from __future__ import annotations

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.cost.pareto_front import Front, Point, fronts
from windtunnel.analysis.formatting import energy_unit, quantity
from windtunnel.report.charts.parts import Drawing, data, layer, stack
from windtunnel.report.theme import INK, MUTED, PAPER, TREATMENTS

LABELS_SHOWN = 12
NARROW = 500


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """One panel per workload; None without a Pareto front."""
    panels = [_panel(analysis, front, width) for front in analysis.once(fronts)]
    return stack(*panels, spacing=30) if panels else None


def describe(analysis: Analysis) -> str:
    """The plot in words: the treatments on each front."""
    said = [
        f"{front.workload}: the Pareto front contains "
        + ", ".join(analysis.name(p.treatment) for p in _on(front))
        for front in analysis.once(fronts)
    ]
    return f"Time against price or energy, one point per treatment. {'. '.join(said)}."


def _on(front: Front) -> list[Point]:
    return [point for point in front.points if not point.beaten_by]


def _panel(analysis: Analysis, front: Front, width: int) -> Drawing:
    narrow = width < NARROW
    priced = "price" in front.objectives
    rows = [_row(analysis, point, priced) for point in front.points]
    title = f"price, {front.currency}" if priced else f"mean energy, {_unit(front)[0]}"
    if not priced:
        for row, point in zip(rows, front.points, strict=True):
            row["y"] = point.energy.mean / _unit(front)[1] if point.energy is not None else 0.0
    x = alt.X(
        "x:Q",
        title="mean time of all phases, s",
        scale=alt.Scale(zero=False, padding=40 if narrow else 70),
        axis=alt.Axis(tickCount=4 if narrow else 8),
    )
    y = alt.Y(
        "y:Q",
        title=title,
        scale=alt.Scale(zero=False, padding=26),
        axis=alt.Axis(tickCount=5, format="~s" if priced else ""),
    )
    base = alt.Chart(data(rows))
    spans = base.mark_rule(strokeWidth=2, color=MUTED, clip=True).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y
    )
    points = base.mark_point(size=90, strokeWidth=2, opacity=1).encode(
        x=x,
        y=y,
        stroke=alt.Stroke("ink:N", scale=None),
        fill=alt.Fill("fill:N", scale=None),
    )
    drawn = [spans, points]
    if len(rows) <= LABELS_SHOWN:
        drawn.append(base.mark_text(dy=-14, color=INK).encode(x=x, y=y, text=alt.Text("words:N")))
    plot = width - (74 if narrow else 110)
    return layer(*drawn, width=plot, height=220, title=front.workload)


def _row(analysis: Analysis, point: Point, priced: bool) -> dict[str, object]:
    time, free = point.time, not point.beaten_by
    ink = TREATMENTS[1] if free else MUTED
    words = analysis.name(point.treatment)
    if priced and point.energy is not None:
        words += f", {quantity(point.energy.mean, point.energy.unit)}"
    reach = 0.5 * time.mean  # very wide intervals of few trials are cut
    return {
        "x": time.mean,
        "y": point.price,
        "low": time.mean if time.ci_low is None else max(time.ci_low, time.mean - reach),
        "high": time.mean if time.ci_high is None else min(time.ci_high, time.mean + reach),
        "ink": ink,
        "fill": ink if free else PAPER,
        "words": words,
    }


def _unit(front: Front) -> tuple[str, float]:
    top = max((p.energy.mean for p in front.points if p.energy is not None), default=0.0)
    return energy_unit(top)
