"""Mean energy by treatment with its interval, one panel per workload and kind of source."""

from __future__ import annotations

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.cost.energy import energy
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.formatting import energy_unit, quantity
from windtunnel.analysis.observations import TOTAL
from windtunnel.report.charts.parts import Drawing, data, layer, stack
from windtunnel.report.theme import INK, MUTED, TREATMENTS
from windtunnel.results.power import KINDS

TREATMENTS_SHOWN = 24
NARROW = 500


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """None without energy."""
    panels = [_panel(analysis, head, cells, width) for head, cells in _panels(analysis)]
    return stack(*panels, spacing=26) if panels else None


def describe(analysis: Analysis) -> str:
    """The plot in words: each mean."""
    said = [
        f"{head}: " + ", ".join(f"{analysis.name(c.treatment)} {_words(c)}" for c in cells)
        for head, cells in _panels(analysis)
    ]
    return f"Mean energy by treatment with 95 % intervals. {'. '.join(said)}."


def _words(cell: Cell) -> str:
    return quantity(cell.mean, cell.unit)


def _panels(analysis: Analysis) -> list[tuple[str, list[Cell]]]:
    found = []
    for workload in analysis.phases:
        for kind in KINDS:
            cells = [
                analysis.cell(treatment, workload, TOTAL, energy(kind))
                for treatment in analysis.treatments()
            ]
            known = [cell for cell in cells if cell is not None]
            if known:
                found.append((f"{workload}, {kind}", known[:TREATMENTS_SHOWN]))
    return found


def _panel(analysis: Analysis, head: str, cells: list[Cell], width: int) -> Drawing:
    narrow = width < NARROW
    label = 104 if narrow else 170
    top = max(cell.mean for cell in cells)
    unit, scale = energy_unit(top)
    rows = [
        {
            "treatment": analysis.name(cell.treatment),
            "mean": cell.mean / scale,
            "low": (cell.mean if cell.ci_low is None else max(0.0, cell.ci_low)) / scale,
            "high": (cell.mean if cell.ci_high is None else min(cell.ci_high, 3 * top)) / scale,
            "words": _words(cell),
        }
        for cell in cells
    ]
    y = alt.Y(
        "treatment:N",
        sort=None,
        title=None,
        axis=alt.Axis(labelColor=INK, labelLimit=label, minExtent=label),
    )
    x = alt.X(
        "mean:Q",
        title=f"mean energy of all phases, {unit}",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(tickCount=4 if narrow else 7),
    )
    base = alt.Chart(data(rows)).encode(y=y)
    spans = base.mark_rule(strokeWidth=3, strokeCap="round", color=MUTED).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q")
    )
    points = base.mark_point(
        size=90, filled=True, opacity=1, stroke=TREATMENTS[1], fill=TREATMENTS[1]
    ).encode(x=x)
    drawn = [spans, points]
    plot = width - label - (24 if narrow else 110)
    if not narrow:
        drawn.append(
            base.mark_text(align="left", x=plot + 14, color=INK).encode(text=alt.Text("words:N"))
        )
    return layer(*drawn, width=plot, height=30 * len(rows), title=head)
