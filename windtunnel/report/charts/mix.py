"""Slowdown of each part of a mix, with its interval; 1 means as fast as alone."""

from __future__ import annotations

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits
from windtunnel.analysis.subjects.mix import PartInMix, parts_in_mix
from windtunnel.report.charts.parts import Drawing, data, layer
from windtunnel.report.theme import INK, MUTED

ROW = 34


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """A row for each part; None without a mix."""
    found = _known(analysis)
    if not found:
        return None
    several = len({part.treatment for part in found}) > 1
    rows = [
        {
            "part": f"{part.part}, {analysis.name(part.treatment)}" if several else part.part,
            "x": part.slowdown.ratio,
            "low": part.slowdown.low or part.slowdown.ratio,
            "high": part.slowdown.high or part.slowdown.ratio,
        }
        for part in found
    ]
    order = [str(row["part"]) for row in rows]
    y = alt.Y("part:N", title=None, sort=order)
    x = alt.X("x:Q", title="slowdown (times as long as alone)", scale=alt.Scale(zero=False))
    dots = alt.Chart(data(rows))
    one = alt.Chart(data([{"x": 1.0}])).mark_rule(strokeDash=[4, 4], color=MUTED)
    return layer(
        one.encode(x=x),
        dots.mark_rule(strokeWidth=2, color=INK).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y),
        dots.mark_point(filled=True, size=70, color=INK, opacity=1).encode(x=x, y=y),
        width=min(width - 150, 560),
        height=ROW * len(rows) + 20,
    )


def describe(analysis: Analysis) -> str:
    """The plot in words."""
    said = [f"{part.part} {digits(part.slowdown.ratio or 0.0)}" for part in _known(analysis)]
    return f"Slowdown of each part when all run together (1: as fast as alone): {', '.join(said)}."


def _known(analysis: Analysis) -> list[PartInMix]:
    return [p for p in analysis.once(parts_in_mix) if p.slowdown.ratio is not None]
