"""Key-value store: throughput over time, latencies by percentile, throughput by load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair as alt

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits
from windtunnel.analysis.subjects.keyvalue import (
    AXES,
    PERCENTILES,
    Course,
    Curve,
    Served,
    courses,
    curves,
    served,
)
from windtunnel.report.charts.parts import Drawing, data, grid, layer
from windtunnel.report.sections.keyvalue import name
from windtunnel.report.theme import ALERT, INK, MUTED, TREATMENTS, colour

NARROW = 500
PANELS = 12
ROWS_SHOWN = 24
_MS = "datum.value >= 1000 ? format(datum.value / 1000, '~g') + ' s' : format(datum.value, '~g')"


def draw_courses(analysis: Analysis, width: int) -> Drawing | None:
    """A panel for each treatment: one trial's operations per second, the target, the faults."""
    chosen = analysis.once(courses)[:PANELS]
    if not chosen:
        return None
    one = width < NARROW or len(chosen) == 1
    each = width - 80 if one else (width - 40) // 2 - 70
    several = len({course.workload for course in chosen}) > 1
    panels = [_course(analysis, course, each, several) for course in chosen]
    return grid(*panels, columns=1 if one else 2, spacing=24)


def describe_courses(analysis: Analysis) -> str:
    """The plot in words: the lowest and the highest second of each panel."""
    said = []
    for course in analysis.once(courses)[:PANELS]:
        rates = [rate for _, rate in course.points]
        if rates:
            said.append(
                f"{analysis.name(course.treatment)} from {digits(min(rates))} to "
                f"{digits(max(rates))} ops/s"
            )
    return f"Operations per second against time, one trial each: {'; '.join(said)}."


def _course(analysis: Analysis, course: Course, width: int, several: bool) -> Drawing:
    points = [{"x": at, "y": rate} for at, rate in course.points]
    top = max([rate for _, rate in course.points] + [course.target or 0.0, 1.0])
    # a target far above the reached rate would flatten the line: only the title has it
    reached = max([rate for _, rate in course.points] or [1.0])
    shown = course.target is not None and course.target <= 2 * reached
    top = top if shown or course.target is None else reached
    x = alt.X("x:Q", title="seconds", scale=alt.Scale(nice=False, domainMin=0))
    y = alt.Y(
        "y:Q",
        title="ops/s",
        scale=alt.Scale(domain=[0, top * 1.1], nice=False),
        axis=alt.Axis(tickCount=4, format=",~r"),
    )
    line = alt.Chart(data(points)).mark_line(strokeWidth=1.6, color=TREATMENTS[1])
    drawn = [line.encode(x=x, y=y)]
    if shown:
        rule = alt.Chart(data([{"y": course.target}])).mark_rule(strokeDash=[5, 4], color=MUTED)
        drawn.append(rule.encode(y=alt.Y("y:Q")))
    for at in course.faults:
        rule = alt.Chart(data([{"x": at, "words": "fault"}]))
        drawn.append(rule.mark_rule(color=ALERT, strokeWidth=1.5).encode(x=alt.X("x:Q")))
        drawn.append(
            rule.mark_text(align="left", dx=4, color=ALERT).encode(
                x=alt.X("x:Q"), y=alt.value(55), text=alt.Text("words:N")
            )
        )
    head = name(analysis, course, several)
    if course.target is not None:
        head += f" (target: {course.target:,.0f})"
    return layer(*drawn, width=width, height=110, title=head)


def draw_latencies(analysis: Analysis, width: int) -> Drawing | None:
    """A panel for each operation: its percentiles by treatment, on a logarithmic scale."""
    rows = analysis.once(served)[:ROWS_SHOWN]
    operations = list(dict.fromkeys(one.operation for row in rows for one in row.latencies))
    if not operations:
        return None
    narrow = width < NARROW or len(operations) == 1
    label = 110 if width < NARROW else 150
    each = width - label - 40 if narrow else (width - 30) // 2 - label - 20
    panels = [_latency(analysis, rows, operation, each, label) for operation in operations]
    return grid(*panels, columns=1 if narrow else 2, spacing=24)


def describe_latencies(analysis: Analysis) -> str:
    """The plot in words: median and 99th percentile of each treatment and operation."""
    said = [
        f"{analysis.name(row.treatment)} {one.operation} {digits(one.by_percentile['p50'])} and "
        f"{digits(one.by_percentile['p99'])} ms"
        for row in analysis.once(served)[:ROWS_SHOWN]
        for one in row.latencies
        if {"p50", "p99"} <= set(one.by_percentile)
    ]
    return f"Latency percentiles by operation and treatment; p50 and p99: {'; '.join(said)}."


def _latency(
    analysis: Analysis, rows: list[Served], operation: str, width: int, label: int
) -> Drawing:
    several = len({row.workload for row in rows}) > 1
    points, spans, order = [], [], []
    for row in rows:
        one = next((o for o in row.latencies if o.operation == operation), None)
        if one is None:
            continue
        who = name(analysis, row, several) + (" *" if row.saturated else "")
        order.append(who)
        known = [(p, v) for p in PERCENTILES if (v := one.by_percentile.get(p)) and v > 0]
        points += [{"row": who, "x": value, "percentile": p} for p, value in known]
        if known:
            values = [value for _, value in known]
            spans.append({"row": who, "x": min(values), "x2": max(values)})
    y = alt.Y(
        "row:N",
        title=None,
        scale=alt.Scale(domain=order),
        axis=alt.Axis(labelColor=INK, labelLimit=label, minExtent=label, grid=False),
    )
    x = alt.X(
        "x:Q",
        title="ms",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=_decades(points), labelExpr=_MS),
    )
    inks = [colour(TREATMENTS, i) for i in (1, 3, 2, 4, 0)]
    legend = alt.Legend(orient="top", title=None, labelColor=INK)
    rule = alt.Chart(data(spans)).mark_rule(color=MUTED, strokeWidth=1)
    dots = alt.Chart(data(points)).mark_point(filled=True, size=52, opacity=1)
    return layer(
        rule.encode(x=alt.X("x:Q"), x2=alt.X2("x2:Q"), y=y),
        dots.encode(
            x=x,
            y=alt.Y("row:N"),
            color=alt.Color(
                "percentile:N",
                sort=list(PERCENTILES),
                scale=alt.Scale(domain=list(PERCENTILES), range=inks),
                legend=legend,
            ),
        ),
        width=width,
        height=22 * max(len(order), 1),
        title=operation.replace("_", "-"),
    )


def _decades(points: Sequence[Mapping[str, object]]) -> list[float]:
    """Powers of ten around all points."""
    values = [float(str(point["x"])) for point in points] or [1.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(low, high + 1)]


def draw_curves(analysis: Analysis, width: int) -> Drawing | None:
    """Throughput by threads or by target rate; None if neither was varied."""
    chosen = analysis.once(curves)
    axes = list(dict.fromkeys((curve.workload, curve.axis) for curve in chosen))
    if not axes:
        return None
    one = width < NARROW or len(axes) == 1
    each = min(width - 90, 520) if one else (width - 30) // 2 - 80
    panels = [_curves([c for c in chosen if (c.workload, c.axis) == key], each) for key in axes]
    return grid(*panels, columns=1 if one else 2, spacing=30)


def describe_curves(analysis: Analysis) -> str:
    """The plot in words: the ends of each line."""
    said = []
    for curve in analysis.once(curves):
        first, last = curve.points[0], curve.points[-1]
        said.append(
            f"{curve.others or curve.workload}: {digits(first[1])} ops/s at {first[0]:g} "
            f"{curve.axis}, {digits(last[1])} at {last[0]:g}"
        )
    return f"Throughput against load. {'; '.join(said)}."


def _curves(chosen: list[Curve], width: int) -> Drawing:
    axis = chosen[0].axis
    largest = max(point[0] for curve in chosen for point in curve.points)
    top = max(point[3] or point[1] for curve in chosen for point in curve.points)
    ticks = sorted({point[0] for curve in chosen for point in curve.points})
    x = alt.X(
        "x:Q",
        title=AXES[axis],
        scale=alt.Scale(domain=[0, largest * 1.15], nice=False),
        axis=alt.Axis(values=ticks, grid=False, format=",~r", labelOverlap="greedy"),
    )
    y = alt.Y("y:Q", title="ops/s", scale=alt.Scale(domain=[0, top * 1.15], nice=False))
    drawn: list[alt.Chart] = []
    if axis == "target_rate":
        end = min(largest, top * 1.1)
        ideal = [{"x": 0.0, "y": 0.0}, {"x": end, "y": end}]
        drawn.append(
            alt.Chart(data(ideal)).mark_line(strokeDash=[4, 4], color=MUTED).encode(x=x, y=y)
        )
    for place, curve in enumerate(chosen):
        ink = colour(TREATMENTS, place + 1)
        rows = [
            {
                "x": at,
                "y": mean,
                # with two trials, Student's t interval may extend below 0; a rate cannot
                "low": mean if low is None else max(low, 0.0),
                "high": mean if high is None else high,
            }
            for at, mean, low, high in curve.points
        ]
        base = alt.Chart(data(rows))
        drawn.append(base.mark_line(color=ink, strokeWidth=2).encode(x=x, y=y))
        drawn.append(
            base.mark_rule(color=ink, strokeWidth=2).encode(
                x=alt.X("x:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
            )
        )
        drawn.append(
            base.mark_point(filled=True, size=55, opacity=1, color=ink).encode(
                x=alt.X("x:Q"), y=alt.Y("y:Q")
            )
        )
        if curve.others:
            last = alt.Chart(data([{**rows[-1], "words": curve.others}]))
            drawn.append(
                last.mark_text(align="left", dx=7, color=ink).encode(
                    x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("words:N")
                )
            )
    return layer(*drawn, width=width, height=240, title=chosen[0].workload)
