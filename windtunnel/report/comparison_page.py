"""The page of a comparison: the report's style sheet, forest plot and tables."""

from __future__ import annotations

from pathlib import Path

from windtunnel.analysis.compare import CellComparison, Comparison, Pair
from windtunnel.analysis.compare.sentences import answer, caveats, change, what_differs
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.report.atomic import write_bytes
from windtunnel.report.charts.forest import Change
from windtunnel.report.comparison import tables
from windtunnel.report.page import Chart, Part, Remark, forest_chart, page

ROWS_DRAWN = 24


def write_page(comparison: Comparison, path: Path) -> None:
    """Write the page; errors as :func:`windtunnel.report.atomic.write_bytes`."""
    write_bytes(path, render(comparison).encode())


def render(comparison: Comparison) -> str:
    """The page as HTML text."""
    return page(
        eyebrow="Windtunnel comparison",
        title=f"Against {comparison.reference}",
        question=f"Earlier runs: {', '.join(comparison.history)}" if comparison.history else "",
        answer=f"{answer(comparison)}.",
        parts=[_part(comparison, pair) for pair in comparison.pairs],
    )


def _part(comparison: Comparison, pair: Pair) -> Part:
    refused = [
        Remark(
            "serious",
            "refused",
            f"{r.text}.",
            f"To compare anyway, with this as a caveat, use --allow {r.id}."
            if r.overridable
            else f"{r.id}: this cannot be allowed.",
        )
        for r in pair.refused
    ]
    said = [Remark("caution", "caveat", f"{text}.") for text in caveats(comparison, pair)]
    return Part(
        title=f"{pair.other} against {comparison.reference}",
        lead=f"What is compared: {what_differs(pair)}.",
        remarks=[*refused, *said],
        chart=_chart(pair),
        tables=tables(comparison, pair),
        listed=pair.unmatched,
        listed_title="Not compared",
    )


def _chart(pair: Pair) -> Chart | None:
    """A forest plot of elapsed times, totals first; None if no ratio is known."""
    cells = [c for c in pair.cells if c.metric == ELAPSED and c.ratio is not None]
    cells = sorted(cells, key=lambda c: c.phase != TOTAL)[:ROWS_DRAWN]
    if not cells:
        return None
    rows = [(_label(c, cells), _effect(c)) for c in cells]
    return forest_chart(
        rows,
        title="change of elapsed time against the reference",
        words=[f"{label}: {change(c)}" for (label, _), c in zip(rows, cells, strict=True)],
        caption="Point: ratio of geometric means minus 1. Bar: 95 % interval, including the drift "
        "within the folders. Hollow and grey: the interval includes zero, or is unknown.",
    )


def _label(cell: CellComparison, cells: list[CellComparison]) -> str:
    """Treatment and phase, and the workload if there are several."""
    several = len({c.workload for c in cells}) > 1
    return ", ".join([*([cell.workload] if several else []), cell.name, cell.phase])


def _effect(c: CellComparison) -> Change:
    """The comparison as a row of the forest plot; its interval determines the fill."""
    assert c.ratio is not None
    low, high = (None if bound is None else bound - 1 for bound in (c.low, c.high))
    return Change(c.ratio - 1, low, high)
