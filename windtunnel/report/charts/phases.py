"""Mean elapsed time by treatment, its phases stacked."""

from __future__ import annotations

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import quantity
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.report.charts.parts import Drawing, Key, data, layer, stack
from windtunnel.report.theme import INK, PAPER, PHASES, colour

BARS_SHOWN = 24
NARROW = 500


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """One group of bars per workload; None without timed phases."""
    groups = []
    for workload, phases in analysis.phases.items():
        rows = _rows(analysis, workload, _stacked(analysis, workload, phases))
        if rows:
            bars = _bars(rows, width)
            groups.append({**bars, "title": workload} if len(analysis.phases) > 1 else bars)
    return stack(*groups, spacing=26) if groups else None


def describe(analysis: Analysis) -> str:
    """The plot in words: the total of each bar."""
    totals = [c for c in analysis.cells if c.metric == ELAPSED and c.phase == TOTAL]
    said = [f"{analysis.name(c.treatment)} {quantity(c.mean, c.unit)}" for c in totals[:BARS_SHOWN]]
    return f"Stacked bars of mean elapsed time by phase. Totals: {', '.join(said)}."


def key(analysis: Analysis) -> list[Key]:
    """The colours of the phases in the order of the stack; each workload starts again."""
    pairs: dict[str, str] = {}
    for workload, phases in analysis.phases.items():
        for index, phase in enumerate(_stacked(analysis, workload, phases)):
            pairs.setdefault(phase, colour(PHASES, index))
    return [Key("square", ink, phase) for phase, ink in pairs.items()]


def _stacked(analysis: Analysis, workload: str, phases: list[str]) -> list[str]:
    """The phases whose sum is the total."""
    return [p for p in phases if p != TOTAL and (workload, p) not in analysis.beside]


def _rows(analysis: Analysis, workload: str, phases: list[str]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for treatment in analysis.treatments()[:BARS_SHOWN]:
        start = 0.0
        for index, phase in enumerate(phases):
            cell = analysis.cell(treatment, workload, phase, ELAPSED)
            if cell is None:
                continue
            end = start + cell.mean
            rows.append(
                {
                    "treatment": analysis.name(treatment),
                    "start": start,
                    "end": end,
                    "ink": colour(PHASES, index),
                    "words": "",
                }
            )
            start = end
        if start > 0:
            rows[-1]["words"] = quantity(start, "s")
    return rows


def _bars(rows: list[dict[str, object]], width: int) -> Drawing:
    narrow = width < NARROW
    label = 110 if narrow else 220
    names = len({row["treatment"] for row in rows})
    y = alt.Y(
        "treatment:N",
        sort=None,
        title=None,
        axis=alt.Axis(labelColor=INK, labelLimit=label, minExtent=label),
    )
    x = alt.X("start:Q", title="mean elapsed time, s", axis=alt.Axis(tickCount=4 if narrow else 8))
    base = alt.Chart(data(rows)).encode(y=y)
    bars = base.mark_bar(height={"band": 0.66}, stroke=PAPER, strokeWidth=1.5).encode(
        x=x, x2=alt.X2("end:Q"), color=alt.Color("ink:N", scale=None)
    )
    ends = [row for row in rows if row["words"]]
    words = (
        alt.Chart(data(ends))
        .mark_text(align="left", dx=6, color=INK)
        .encode(y=y, x=alt.X("end:Q"), text=alt.Text("words:N"))
    )
    return layer(bars, words, width=width - label - 74, height=38 * names)
