"""Interaction plots: one factor along the axis, a line for each level of the other."""

from __future__ import annotations

import json

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.interactions import Interaction
from windtunnel.analysis.formatting import quantity
from windtunnel.report.charts.parts import Drawing, data, grid, layer
from windtunnel.report.theme import INK, MUTED, TREATMENTS, colour

NARROW = 500
STEP = 0.07
"""Distance of the lines as a fraction of a level's width, so that their intervals are visible."""


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """The strongest interactions of each workload; None if none can be estimated."""
    shown = _shown(analysis)
    if not shown:
        return None
    narrow = width < NARROW
    panel = width - 70 if narrow else (width - 60) // 2 - 60
    plots = [_panel(each, panel, clear=clear) for each, clear in shown]
    own_colours = {"scale": {"color": "independent"}}
    return grid(*plots, columns=1 if narrow else 2, spacing=36, resolve=own_colours)


def describe(analysis: Analysis) -> str:
    """The plots in words: every mean."""
    said = []
    for each, _ in _shown(analysis):
        means = [
            f"{each.across} {c.across}, {each.line} {c.line}: {quantity(c.mean, 's')}"
            for c in each.corners
        ]
        said.append(f"{each.workload}: {'; '.join(means)}")
    return f"Interaction plots of elapsed time. {'. '.join(said)}."


def _shown(analysis: Analysis) -> list[tuple[Interaction, bool]]:
    """Each interaction to draw, and whether it was detected."""
    return [
        (
            each,
            any(
                e.clear and e.term and set(e.term.factors) == {each.across, each.line}
                for e in r.entries
            ),
        )
        for r in analysis.rankings
        for each in r.interactions
        if each.corners
    ]


def _panel(found: Interaction, width: int, *, clear: bool) -> Drawing:
    levels = list(dict.fromkeys(c.across for c in found.corners))
    lines = list(dict.fromkeys(c.line for c in found.corners))
    middle = (len(lines) - 1) / 2
    rows = [
        {
            "x": levels.index(c.across) + STEP * (lines.index(c.line) - middle),
            "y": c.mean,
            "low": c.mean if c.low is None else c.low,
            "high": c.mean if c.high is None else c.high,
            "line": c.line,
        }
        for c in found.corners
    ]
    x = alt.X(
        "x:Q",
        title=found.across,
        scale=alt.Scale(domain=[-0.4, len(levels) - 0.6], nice=False),
        axis=alt.Axis(
            values=list(range(len(levels))),
            labelExpr=f"{json.dumps(levels)}[datum.value]",
            grid=False,
            labelColor=INK,
        ),
    )
    y = alt.Y(
        "y:Q",
        title=f"{found.phase}, s",
        scale=alt.Scale(zero=False, padding=14),
        axis=alt.Axis(tickCount=5),
    )
    legend = alt.Legend(
        title=found.line,
        orient="top",
        labelColor=INK,
        titleColor=MUTED,
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight="normal",
        symbolType="circle",
        symbolStrokeWidth=0,
        columns=3,
    )
    ink = alt.Color(
        "line:N",
        sort=None,
        scale=alt.Scale(domain=lines, range=[colour(TREATMENTS, i) for i in range(len(lines))]),
        legend=legend,
    )
    base = alt.Chart(data(rows))
    drawn = [
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=ink
        ),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=ink),
        base.mark_point(size=60, filled=True, opacity=1).encode(x=x, y=y, color=ink),
    ]
    head = f"{found.workload}: {found.across} x {found.line}{'' if clear else ', not detected'}"
    return layer(*drawn, width=width, height=210, title=head)
