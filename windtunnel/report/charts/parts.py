"""Common parts of the charts, and functions that combine them.

Single charts are Altair objects. Combined charts are plain dictionaries: Altair copies every part
with each combination, which takes seconds on a page with many panels. For the same reason,
channels are written as ``alt.X2("high:Q")``, never as plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import altair as alt

Rows = Sequence[Mapping[str, object]]
Drawing = dict[str, Any]
"""A Vega-Lite specification; its rows are in ``datasets``."""
NARROW = 500
"""Below this width in px, panels are stacked."""
T = TypeVar("T")
Mark = Literal["dot", "cross", "triangle", "box", "mean", "square"]


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a chart's key: a mark, its colour (empty: the colour of text) and its label."""

    mark: Mark
    ink: str
    words: str


def data(rows: Rows) -> alt.InlineData:
    """Rows as data of a chart: a tuple, because Altair copies lists at each combination."""
    return alt.InlineData(values=tuple(rows))


def layer(*charts: alt.Chart, title: str | None = None, **size: float) -> Drawing:
    """Charts on top of each other, with ``width`` and ``height`` in px."""
    datasets: dict[str, Any] = {}
    context = {"top_level": False, "datasets": datasets}
    parts = [chart.to_dict(validate=False, context=context) for chart in charts]
    head = {} if title is None else {"title": title}
    return {"layer": parts, "datasets": datasets, **head, **size}


def stack(*drawings: Drawing, spacing: int) -> Drawing:
    """Drawings below each other, ``spacing`` px apart."""
    return _together("vconcat", drawings, spacing=spacing)


def grid(*drawings: Drawing, columns: int, spacing: int, **more: Any) -> Drawing:
    """Drawings in rows of ``columns``, ``spacing`` px apart."""
    return _together("concat", drawings, columns=columns, spacing=spacing, **more)


def panels(chosen: Sequence[T], draw: Callable[[T, int], Drawing], width: int) -> Drawing | None:
    """A panel for each, side by side if the chart is wide enough; None without panels."""
    if not chosen:
        return None
    narrow = width < NARROW or len(chosen) == 1
    each = min(width - 70, 520) if narrow else (width - 30) // 2 - 70
    return grid(*(draw(one, each) for one in chosen), columns=1 if narrow else 2, spacing=30)


def _together(how: str, drawings: Sequence[Drawing], **more: Any) -> Drawing:
    datasets = {name: rows for each in drawings for name, rows in each["datasets"].items()}
    parts = [{k: v for k, v in each.items() if k != "datasets"} for each in drawings]
    return {how: parts, "datasets": datasets, **more}
