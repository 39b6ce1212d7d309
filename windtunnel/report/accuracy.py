"""The accuracy of the physics model as text and as a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import altair as alt

from windtunnel.report.atomic import write_bytes
from windtunnel.report.charts.parts import data, layer
from windtunnel.report.svg import svg
from windtunnel.report.theme import MUTED, TREATMENTS

WIDTH = 560
TICKS = [50, 100, 300, 1000, 3000, 10000]
ALONE = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"'


def accuracy_text(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines of ``accuracy``."""
    yield f"{found['points']} published times, {found['constants']} fitted constants"
    yield ""
    yield (
        "mean absolute error by split        model  target  equations alone  in interval  "
        "row mean  like Ernest"
    )
    for row in found["splits"]:
        target = "" if row["target"] is None else f"{row['target']:.0%}"
        yield f"  {row['split']} ({row['predicted']})"
        yield (
            f"{'':33} {row['error']:7.1%} {target:>7} "
            f"{_percent(row['uncorrected_error']):>16} {row['covered']:12.0%} "
            f"{_percent(row['row_mean_error']):>9} {_percent(row['ernest_error']):>12}"
        )
    yield ""
    yield "by table, with the configuration held out: error, right directions above 10 %"
    for row in found["tables"]:
        yield (
            f"  {row['study']:12} {row['phase']:13} {row['error']:6.1%}  {_right(row):>11}  "
            f"(row mean {_percent(row['row_mean_error'])}, {row['predicted']} times)"
        )
    yield ""
    yield "ratios by factor, with the configuration held out: error, right directions above 10 %"
    for row in found["factors"]:
        yield f"  {row['factor']:16} {row['error']:6.1%}  {_right(row)}"
    for name, row in found["directions"].items():
        yield (
            f"directions, {name}: {row['right']:.0%} of {row['effects']} effects above 10 %, "
            f"{_share(row['clear_right'])} of the {row['clear_effects']} that exceed the noise"
        )
    yield ""
    yield (
        "equations alone: without the fitted correction; in interval: times within the 90 % "
        "interval; row mean: predicted as the mean of the known times; like Ernest: by a "
        "regression on data and machines; noise: the difference that two means of the published "
        "runs have without an effect (90 % confidence), as far as runs were repeated"
    )
    yield f"SHA-256 of the splits: {found['splits_sha256']}"


def _right(row: Mapping[str, Any]) -> str:
    return "-" if row["right"] is None else f"{row['right']:.0%} of {row['effects']}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def write_chart(found: Mapping[str, Any], path: Path) -> None:
    """Write predicted against published times as SVG; errors as those of ``write_bytes``."""
    rows = [
        {
            "x": row["published_s"],
            "y": row["predicted_s"],
            "low": row["low_s"],
            "high": row["high_s"],
            "study": row["study"],
        }
        for row in found["predictions"]
    ]
    ends = [min(row["x"] for row in rows) * 0.8, max(row["x"] for row in rows) * 1.25]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    axis = alt.Axis(values=TICKS, format=",d")
    x = alt.X("x:Q", title="published time in s", scale=scale, axis=axis)
    y = alt.Y("y:Q", title="predicted time in s, configuration held out", scale=scale, axis=axis)
    names = list(dict.fromkeys(row["study"] for row in rows))
    colour = alt.Color(
        "study:N",
        title=None,
        scale=alt.Scale(domain=names, range=list(TREATMENTS[: len(names)])),
        legend=alt.Legend(orient="top", symbolOpacity=1, symbolType="circle"),
    )
    line = [{"x": end, "y": end} for end in ends]
    dots = alt.Chart(data(rows))
    drawing = layer(
        alt.Chart(data(line)).mark_line(strokeDash=[4, 4], color=MUTED).encode(x=x, y=y),
        dots.mark_rule(opacity=0.4).encode(
            x=x, y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q"), color=colour
        ),
        dots.mark_point(filled=True, size=40, opacity=0.9).encode(x=x, y=y, color=colour),
        width=WIDTH,
        height=WIDTH,
        title="Predicted against published",
    )
    text = svg(drawing).replace("<svg ", f"<svg {ALONE} ", 1)
    write_bytes(path, text.encode())
