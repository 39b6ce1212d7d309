"""A forest plot: one row per effect, a point with its interval, and a line at no difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.formatting import percent, percent_interval
from windtunnel.report.charts.parts import Drawing, data, layer
from windtunnel.report.theme import GRID, INK, MUTED, PAPER, TREATMENTS

ROW = 30
NARROW = 500


@dataclass(frozen=True, slots=True)
class Change:
    """A relative change with its interval, None if the interval is unknown."""

    relative: float
    ci_low: float | None
    ci_high: float | None

    @property
    def distinguishable(self) -> bool:
        """Whether the interval excludes zero."""
        if self.ci_low is None or self.ci_high is None:
            return False
        return not self.ci_low <= 0 <= self.ci_high


Row = tuple[str, Effect | Change]


def forest(
    rows: Sequence[Row], width: int, title: str, scale: tuple[float, float] | None = None
) -> Drawing:
    """Draw ``rows`` (label, effect) in a chart of about ``width`` px.

    A filled point is a detected effect, a hollow point an effect that was not detected. Intervals
    are cut at the ends of the axis. ``scale`` is the domain of the axis if several plots share it.
    """
    narrow = width < NARROW
    low, high = scale or domain([effect for _, effect in rows])
    values = [_value(label, effect, low, high) for label, effect in rows]
    plot = width - (128 if narrow else 380)
    y = alt.Y(
        "label:N",
        sort=None,
        title=None,
        scale=alt.Scale(paddingInner=0, paddingOuter=0.25),
        axis=alt.Axis(
            labelColor=INK, labelLimit=104 if narrow else 170, minExtent=104 if narrow else 170
        ),
    )
    decimals = 0 if high - low > 0.08 else 1
    axis = alt.Axis(
        labelExpr=f"datum.value ? replace(format(datum.value, '+.{decimals}%'), '%', ' %') : '0'",
        tickCount=4 if narrow else 7,
        gridColor=GRID,
    )
    x = alt.X("relative:Q", title=title, scale=alt.Scale(domain=[low, high], nice=False), axis=axis)
    base = alt.Chart(data(values)).encode(y=y)
    zero = alt.Chart(data([{"z": 0}])).mark_rule(color=MUTED, strokeWidth=1.5)
    bars = base.mark_rule(strokeWidth=3, strokeCap="round", clip=True).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=alt.Color("ink:N", scale=None)
    )
    points = base.mark_point(size=90, strokeWidth=2, opacity=1, filled=False).encode(
        x=x, stroke=alt.Stroke("ink:N", scale=None), fill=alt.Fill("fill:N", scale=None)
    )
    drawn = [zero.encode(x=alt.X("z:Q")), bars, points]
    if not narrow:
        drawn.append(
            base.mark_text(align="left", x=plot + 14, color=INK).encode(text=alt.Text("words:N"))
        )
    return layer(*drawn, width=plot, height=ROW * len(values))


def _value(label: str, effect: Effect | Change, low: float, high: float) -> dict[str, object]:
    clear = effect.distinguishable
    ink = TREATMENTS[1] if clear else MUTED
    point = effect.relative if effect.relative is not None else 0.0
    known = effect.ci_low is not None and effect.ci_high is not None
    return {
        "label": label,
        "relative": min(max(point, low), high),
        "low": max(effect.ci_low, low) if known and effect.ci_low is not None else point,
        "high": min(effect.ci_high, high) if known and effect.ci_high is not None else point,
        "ink": ink,
        "fill": ink if clear else PAPER,
        "words": _typographic(size(effect)),
    }


def size(e: Effect | Change) -> str:
    """``+31 % [+25, +38]``; without an interval only the change."""
    if e.ci_low is None or e.ci_high is None:
        return percent(e.relative)
    return f"{percent(e.relative)} {percent_interval(e.ci_low, e.ci_high, e.relative)}"


def domain(effects: Sequence[Effect | Change]) -> tuple[float, float]:
    """From the lowest to the highest bound, including zero; very wide intervals are cut."""
    points = [e.relative for e in effects if e.relative is not None]
    reach = max(3 * max((abs(p) for p in points), default=0.1), 0.1)
    bounds = [b for e in effects for b in (e.ci_low, e.ci_high) if b is not None]
    low = max(min([0.0, *points, *bounds]), -reach, -1.0)
    high = min(max([0.0, *points, *bounds]), reach)
    margin = 0.06 * (high - low) or 0.05
    return low - margin, high + margin


def _typographic(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
