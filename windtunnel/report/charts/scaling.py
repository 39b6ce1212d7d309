"""Speed-up by the amount of resources: points with intervals, both laws, and the ideal line."""

from __future__ import annotations

import altair as alt
import numpy as np

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits, percent
from windtunnel.analysis.observations import TOTAL
from windtunnel.analysis.scaling.laws import Fit
from windtunnel.analysis.scaling.speedup import Scaling, scalings
from windtunnel.report.charts.parts import Drawing, data, layer, panels
from windtunnel.report.theme import INK, MUTED, TREATMENTS

PANELS = 6
BEYOND = 1.25
"""The curves end at this multiple of the largest level."""
LAWS = {"Amdahl": TREATMENTS[1], "USL": TREATMENTS[2]}


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """A panel of the total time for each factor that is an amount; None without one."""
    return panels(_chosen(analysis), _panel, width)


def describe(analysis: Analysis) -> str:
    """The plot in words: the largest level of each panel."""
    said = []
    for scaling in _chosen(analysis):
        last = scaling.points[-1]
        times, efficiency = digits(last.speed_up), percent(last.efficiency, signed=False)
        said.append(
            f"{scaling.factor} on {scaling.workload}: {last.level} is {times} times as fast as "
            f"{scaling.base.level}, efficiency {efficiency}"
        )
    return f"Speed-up against the count with the ideal line and fitted laws. {'. '.join(said)}."


def _chosen(analysis: Analysis) -> list[Scaling]:
    return [s for s in analysis.once(scalings) if s.phase == TOTAL][:PANELS]


def _panel(scaling: Scaling, width: int) -> Drawing:
    base, last = scaling.base.count, scaling.points[-1].count
    points = [
        {"x": p.count, "y": p.speed_up, "low": p.low or p.speed_up, "high": p.high or p.speed_up}
        for p in scaling.points
    ]
    top = max(last / base, *(p["high"] for p in points))
    unit = f", times {scaling.base.level}" if scaling.amount else ""
    x = alt.X(
        "x:Q",
        title=f"{scaling.factor}{unit}",
        scale=alt.Scale(domain=[0, last * BEYOND], nice=False),
        axis=alt.Axis(values=[p["x"] for p in points], grid=False, format="~g"),
    )
    y = alt.Y("y:Q", title="speed-up", scale=alt.Scale(domain=[0, top * 1.05], nice=False))
    ideal = [{"x": base, "y": 1.0}, {"x": last, "y": last / base}]
    fits = [fit for fit in (scaling.amdahl, scaling.usl) if fit is not None]
    drawn: list[alt.Chart] = [
        alt.Chart(data(ideal)).mark_line(strokeDash=[4, 4], color=MUTED).encode(x=x, y=y),
        alt.Chart(data([{**ideal[1], "words": "ideal"}]))
        .mark_text(align="right", dx=-8, color=MUTED)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("words:N")),
    ]
    for place, fit in enumerate(fits):
        drawn += _curve(scaling, fit, place)
    dots = alt.Chart(data(points))
    drawn.append(
        dots.mark_rule(strokeWidth=2, color=INK).encode(
            x=alt.X("x:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
        )
    )
    drawn.append(dots.mark_point(filled=True, size=60, color=INK, opacity=1).encode(x=x, y=y))
    others = ", ".join(f"{factor} {level}" for factor, level in scaling.others.items())
    head = scaling.workload + (f", {others}" if others else "")
    return layer(*drawn, width=width, height=240, title=head)


def _curve(scaling: Scaling, fit: Fit, place: int) -> list[alt.Chart]:
    """A fitted law with its name at the end of its line: the first above, the second below."""
    base, end = scaling.base.count, scaling.points[-1].count * BEYOND
    ink = LAWS[fit.law]
    rows = [{"x": x, "y": fit.speed_up(x, base)} for x in np.linspace(base, end, 60).tolist()]
    label = [{**rows[-1], "words": fit.law}]
    return [
        alt.Chart(data(rows))
        .mark_line(strokeWidth=2, color=ink)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q")),
        alt.Chart(data(label))
        .mark_text(align="right", dy=14 if place else -10, color=ink)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("words:N")),
    ]
