"""Factor ranking: the variance that each factor and interaction explains, with intervals."""

from __future__ import annotations

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.ranking import Entry, Ranking, share
from windtunnel.analysis.formatting import percent
from windtunnel.report.charts.parts import Drawing, data, layer, stack
from windtunnel.report.theme import GRID, INK, MUTED, TREATMENTS

ROW = 30
NARROW = 500
SHOWN = 14


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """Bars by workload, strongest first; None if fewer than two factors were varied."""
    plots = [_bars(ranking, width) for ranking in analysis.rankings if _values(ranking)]
    return stack(*plots, spacing=28) if plots else None


def describe(analysis: Analysis) -> str:
    """The plot in words: each bar with its interval."""
    said = []
    for ranking in analysis.rankings:
        names = [f"{entry.name} {_words(entry)}" for entry in ranking.entries[:SHOWN]]
        said.append(f"{ranking.workload}, {_axis(ranking)}: {', '.join(names)}")
    return f"Bars of the factor ranking. {'. '.join(said)}."


def _axis(ranking: Ranking) -> str:
    return (
        "fraction of the variance of the total"
        if ranking.tables
        else "slowest level against fastest level, total"
    )


def _words(entry: Entry) -> str:
    if entry.term is not None:
        return share(entry.term)
    return percent(entry.range)


def _values(ranking: Ranking) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for entry in ranking.entries[:SHOWN]:
        term = entry.term
        size = term.share if term is not None else entry.range
        if size is None:
            continue
        low = term.share_low if term is not None else None
        high = term.share_high if term is not None else None
        rows.append(
            {
                "name": entry.name,
                "zero": 0.0,
                "size": size,
                "low": size if low is None else low,
                "high": size if high is None else high,
                "ink": TREATMENTS[1] if entry.clear else MUTED,
                "words": _words(entry) + ("" if entry.clear else ", not detected"),
            }
        )
    return rows


def _bars(ranking: Ranking, width: int) -> Drawing:
    narrow = width < NARROW
    label = 120 if narrow else 190
    values = _values(ranking)
    y = alt.Y(
        "name:N",
        sort=None,
        title=None,
        axis=alt.Axis(labelColor=INK, labelLimit=label, minExtent=label),
    )
    top = 1.0 if ranking.tables else max(_number(row["high"]) for row in values) * 1.05 or 1.0
    x = alt.X(
        "zero:Q",
        title=_axis(ranking),
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(
            labelExpr="replace(format(datum.value, '.0%'), '%', ' %')",
            tickCount=4 if narrow else 6,
            gridColor=GRID,
        ),
    )
    base = alt.Chart(data(values)).encode(y=y)
    ink = alt.Color("ink:N", scale=None)
    bars = base.mark_bar(height={"band": 0.5}, opacity=0.45).encode(
        x=x, x2=alt.X2("size:Q"), color=ink
    )
    spans = base.mark_rule(strokeWidth=2.5, strokeCap="round").encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=ink
    )
    points = base.mark_point(size=50, filled=True, opacity=1).encode(x=alt.X("size:Q"), color=ink)
    drawn = [bars, spans, points]
    plot = width - label - (24 if narrow else 200)
    if not narrow:
        words = base.mark_text(align="left", x=plot + 14, color=INK).encode(
            text=alt.Text("words:N")
        )
        drawn.append(words)
    return layer(*drawn, width=plot, height=ROW * len(values), title=ranking.workload)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
