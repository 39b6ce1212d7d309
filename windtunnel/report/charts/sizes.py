"""Elapsed time against the size of the data, with its line, and the residuals below."""

from __future__ import annotations

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import percent, quantity
from windtunnel.analysis.observations import TOTAL
from windtunnel.analysis.scaling.data_size import SizeFit, size_fits
from windtunnel.report.charts.parts import Drawing, data, layer, panels, stack
from windtunnel.report.sections.sizes import name
from windtunnel.report.theme import INK, MUTED, TREATMENTS

PANELS = 6
_PREFIXES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """A panel for each phase with a line; None without one."""
    return panels(_chosen(analysis), _panel, width)


def describe(analysis: Analysis) -> str:
    """The plot in words: each line's rate and worst residual."""
    said = [
        f"{name(fit)}: {quantity(fit.rate_bytes_s, 'bytes/s')}, at most "
        f"{percent(abs(fit.worst.residual), signed=False)} residual"
        for fit in _chosen(analysis)
    ]
    return f"Elapsed time against the size of the data with a fitted line. {'. '.join(said)}."


def _chosen(analysis: Analysis) -> list[SizeFit]:
    return [fit for fit in analysis.once(size_fits) if fit.phase != TOTAL][:PANELS]


def _panel(fit: SizeFit, width: int) -> Drawing:
    largest = fit.points[-1].size_bytes
    factor, unit = next(pair for pair in _PREFIXES if largest >= pair[0])
    ticks = [point.size_bytes / factor for point in fit.points]
    end = largest / factor * 1.05

    def x(title: str | None) -> alt.X:
        # doubled sizes are close together on the left: not all of them get a label
        axis = alt.Axis(
            values=ticks,
            grid=False,
            format=".4~g",
            labelOverlap="greedy",
            labels=title is not None,
        )
        return alt.X("x:Q", title=title, scale=alt.Scale(domain=[0, end], nice=False), axis=axis)

    trials = [
        {"x": point.size_bytes / factor, "y": value}
        for point in fit.points
        for value in point.seconds
    ]
    line = [{"x": at, "y": fit.fixed_s + at * factor / fit.rate_bytes_s} for at in (0.0, end)]
    top = layer(
        alt.Chart(data(line))
        .mark_line(strokeWidth=2, color=TREATMENTS[1])
        .encode(x=x(None), y=alt.Y("y:Q", title="elapsed, s")),
        alt.Chart(data(trials))
        .mark_point(filled=True, size=45, color=INK, opacity=0.8)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q")),
        width=width,
        height=200,
        title=name(fit),
    )
    left = [
        {"x": point.size_bytes / factor, "y": value / point.fitted_s - 1}
        for point in fit.points
        for value in point.seconds
    ]
    zero = [{"x": 0.0, "y": 0.0}, {"x": end, "y": 0.0}]
    bottom = layer(
        alt.Chart(data(zero))
        .mark_line(strokeDash=[4, 4], color=MUTED)
        .encode(
            x=x(f"size, {unit}"),
            y=alt.Y("y:Q", title="residual", axis=alt.Axis(format="+%", tickCount=3)),
        ),
        alt.Chart(data(left))
        .mark_point(filled=True, size=45, color=INK, opacity=0.8)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q")),
        width=width,
        height=70,
    )
    return stack(top, bottom, spacing=8)
