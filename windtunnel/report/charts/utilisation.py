"""Utilisation of each resource by phase and treatment, with the threshold of a bottleneck."""

from __future__ import annotations

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.causes import BUSY
from windtunnel.analysis.bottleneck.verdicts import Verdict, bottlenecks
from windtunnel.analysis.formatting import percent
from windtunnel.report.charts.parts import Drawing, data, grid, layer
from windtunnel.report.theme import ALERT, INK, TREATMENTS

ROWS_SHOWN = 24
NARROW = 500
PANELS = 4


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """A panel for each resource with a known limit; None without one."""
    verdicts = analysis.once(bottlenecks)[:ROWS_SHOWN]
    names = resources(verdicts)[:PANELS]
    if not names:
        return None
    narrow = width < NARROW
    label = 104 if narrow else 190
    each = width - label - 60 if narrow else (width - label - 40) // len(names) - 24
    panels = [
        _panel(analysis, verdicts, name, each, label if narrow or place == 0 else 0)
        for place, name in enumerate(names)
    ]
    return grid(*panels, columns=1 if narrow else PANELS, spacing=20)


def describe(analysis: Analysis) -> str:
    """The plot in words: the most used resource of each row."""
    said = []
    for verdict in analysis.once(bottlenecks)[:ROWS_SHOWN]:
        known = [(load.share, load.resource) for load in verdict.loads if load.share is not None]
        if known:
            share, name = max(known)
            said.append(f"{_label(analysis, verdict)} {name} {percent(share, signed=False)}")
    return f"Bars of utilisation by phase and treatment. Most used: {', '.join(said)}."


def resources(verdicts: list[Verdict]) -> list[str]:
    """Resources with a known utilisation, the highest first."""
    top: dict[str, float] = {}
    for load in (load for verdict in verdicts for load in verdict.loads):
        if load.share is not None:
            top[load.resource] = max(load.share, top.get(load.resource, 0.0))
    return sorted(top, key=lambda name: -top[name])


def _label(analysis: Analysis, verdict: Verdict) -> str:
    return f"{verdict.phase}, {analysis.name(verdict.treatment)}"


def _panel(
    analysis: Analysis, verdicts: list[Verdict], resource: str, width: int, label: int
) -> Drawing:
    rows = [
        {
            "row": _label(analysis, verdict),
            "share": load.share,
            "words": percent(load.share, signed=False),
        }
        for verdict in verdicts
        for load in verdict.loads
        if load.resource == resource and load.share is not None
    ]
    top = max(1.0, *(float(str(row["share"])) for row in rows))
    axis = alt.Axis(labelColor=INK, labelLimit=label, minExtent=label) if label else None
    order = [_label(analysis, verdict) for verdict in verdicts]
    y = alt.Y("row:N", sort=order, scale=alt.Scale(domain=order), title=None, axis=axis)
    x = alt.X(
        "share:Q",
        title=None,
        scale=alt.Scale(domain=[0, top * 1.25], nice=False),
        axis=alt.Axis(values=[0, 0.5, 1], labelExpr="datum.value * 100 + ' %'"),
    )
    base = alt.Chart(data(rows)).encode(y=y)
    bars = base.mark_bar(height={"band": 0.6}, color=TREATMENTS[1]).encode(x=x)
    words = base.mark_text(align="left", dx=4, color=INK).encode(
        x=alt.X("share:Q"), text=alt.Text("words:N")
    )
    drawn = [bars, words]
    if resource.split()[0] in ("CPU", "disk", "network"):
        limit = alt.Chart(data([{"limit": BUSY}])).mark_rule(color=ALERT, strokeDash=[4, 3])
        drawn.append(limit.encode(x=alt.X("limit:Q")))
    return layer(*drawn, width=width, height=22 * len(order), title=resource)
