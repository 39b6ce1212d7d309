"""Storage formats: records per second by format, with those of DuckDB for comparison."""

from __future__ import annotations

from typing import Any

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.subjects.formats import Entry, Formats, beside, formats, rows_per_s, times
from windtunnel.report.charts.parts import Drawing, data, layer, stack
from windtunnel.report.sections.formats import intervals_known, ratio_words
from windtunnel.report.theme import GRID, INK, TREATMENTS

ROW = 44
NARROW = 500
PANELS = 6
_ENGINE, _DUCKDB = TREATMENTS[1], TREATMENTS[2]


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """A panel for each workload and engine, with DuckDB's points; None without data.

    All panels have the same scale, so that engines can be compared.
    """
    chosen = _chosen(analysis)
    values = [_value(e, "") for pair in chosen for found in pair if found for e in found.entries]
    if not values:
        return None
    ends = (min(v["low"] for v in values), max(v["high"] for v in values))
    return stack(*(_panel(one, other, ends, width) for one, other in chosen), spacing=28)


def describe(analysis: Analysis) -> str:
    """The plot in words: each point, and its ratio to the row format."""
    said = []
    known = intervals_known(analysis.once(formats))
    for one, other in _chosen(analysis):
        for found in (one, other):
            if found is not None:
                points = ", ".join(
                    f"{e.name} {rows_per_s(e.rate.mean)}"
                    + (
                        f" ({ratio_words(e.ratio, known=known)} times {found.base})"
                        if e.ratio
                        else ""
                    )
                    for e in found.entries
                )
                said.append(f"{found.workload} by {found.engine}: {points}")
    return f"Records per second by format. {'. '.join(said)}."


def _chosen(analysis: Analysis) -> list[tuple[Formats, Formats | None]]:
    """Each phase with its reference phase."""
    found = analysis.once(formats)
    shown = [f for f in found if (f.workload, f.phase) not in analysis.beside]
    return [(f, beside(found, f)) for f in shown][:PANELS]


def _panel(one: Formats, other: Formats | None, ends: tuple[float, float], width: int) -> Drawing:
    narrow = width < NARROW
    label = 96 if narrow else 130
    rows = [_value(e, _ENGINE) for e in one.entries]
    if other is not None:
        rows += [_value(e, _DUCKDB) for e in other.entries]
    y = alt.Y(
        "name:N",
        sort=None,
        title=None,
        axis=alt.Axis(labelColor=INK, labelLimit=label, minExtent=label),
    )
    x = alt.X(
        "rate:Q",
        title="records per second",
        scale=alt.Scale(type="log", nice=True, domain=ends),
        axis=alt.Axis(format="~s", tickCount=4 if narrow else 8, gridColor=GRID),
    )
    base = alt.Chart(data(rows)).encode(y=y)
    ink = alt.Color("ink:N", scale=None)
    spans = base.mark_rule(strokeWidth=3, strokeCap="round").encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=ink
    )
    points = base.mark_point(size=80, filled=True, opacity=1).encode(x=x, color=ink)
    words = base.mark_text(dy=-13).encode(x=x, text=alt.Text("words:N"), color=ink)
    others = ", ".join(f"{factor} {level}" for factor, level in one.others.items())
    head = one.workload + (f", {others}" if others else "")
    names = [(one.engine, _ENGINE)] + ([(other.engine, _DUCKDB)] if other is not None else [])
    legend = [
        alt.Chart(data([{"words": f"\N{BLACK CIRCLE} {engine}"}]))
        .mark_text(align="right", x=width - label - 30 - 110 * place, y=-10, color=colour)
        .encode(text=alt.Text("words:N"))
        for place, (engine, colour) in enumerate(reversed(names))
    ]
    count = len({row["name"] for row in rows})
    drawn = (spans, points, words, *legend)
    return layer(*drawn, width=width - label - 30, height=ROW * count, title=head)


def _value(entry: Entry, ink: str) -> dict[str, Any]:
    rate = entry.rate
    known = rate.ci_low is not None and rate.ci_high is not None and rate.ci_low > 0
    ratio = entry.ratio
    return {
        "name": entry.name,
        "rate": rate.mean,
        "low": rate.ci_low if known else rate.mean,
        "high": rate.ci_high if known else rate.mean,
        "ink": ink,
        "words": "" if ratio is None else f"\N{MULTIPLICATION SIGN} {times(ratio).split(' ')[0]}",
    }
