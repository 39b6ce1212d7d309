"""The page of a comparison: the report's style sheet, forest plot and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from altair.utils.schemapi import debug_mode
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from windtunnel.analysis.compare import CellComparison, Comparison, Pair
from windtunnel.analysis.compare.sentences import answer, caveats, change, what_differs
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.report.atomic import write_bytes
from windtunnel.report.charts.forest import forest
from windtunnel.report.comparison import tables
from windtunnel.report.html import NARROW, WIDE, typographic
from windtunnel.report.svg import svg
from windtunnel.report.theme import dark_rules

ROWS_DRAWN = 24


def write_page(comparison: Comparison, path: Path) -> None:
    """Write the page; errors as :func:`windtunnel.report.atomic.write_bytes`."""
    write_bytes(path, render(comparison).encode())


def render(comparison: Comparison) -> str:
    """The page as HTML text."""
    env = Environment(
        loader=PackageLoader("windtunnel.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters["minus"] = typographic
    style = (Path(__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    return env.get_template("comparison.html.j2").render(
        answer=answer(comparison),
        reference=comparison.reference,
        history=comparison.history,
        pairs=[_pair(comparison, pair) for pair in comparison.pairs],
        style=Markup(style),
        dark_rules=Markup(dark_rules()),
    )


def _pair(comparison: Comparison, pair: Pair) -> dict[str, Any]:
    return {
        "other": pair.other,
        "subject": what_differs(pair),
        "chart": _chart(pair),
        "tables": tables(comparison, pair),
        "refused": pair.refused,
        "caveats": caveats(comparison, pair),
        "unmatched": pair.unmatched,
    }


def _chart(pair: Pair) -> dict[str, Any] | None:
    """A forest plot of elapsed times, totals first; None if no ratio is known."""
    cells = [c for c in pair.cells if c.metric == ELAPSED and c.ratio is not None]
    cells = sorted(cells, key=lambda c: c.phase != TOTAL)[:ROWS_DRAWN]
    if not cells:
        return None
    rows = [(_label(c, cells), _effect(c)) for c in cells]
    title = "change of elapsed time against the reference"
    with debug_mode(False):
        wide, narrow = (Markup(svg(forest(rows, width, title))) for width in (WIDE, NARROW))
    said = [f"{label}: {change(c)}" for (label, _), c in zip(rows, cells, strict=True)]
    words = typographic(f"Forest plot. {'. '.join(said)}.")
    return {"wide": wide, "narrow": narrow, "words": words}


def _label(cell: CellComparison, cells: list[CellComparison]) -> str:
    """Treatment and phase, and the workload if there are several."""
    several = len({c.workload for c in cells}) > 1
    return ", ".join([*([cell.workload] if several else []), cell.name, cell.phase])


def _effect(c: CellComparison) -> Effect:
    """The comparison as an effect for the forest plot; its interval determines the fill."""
    assert c.ratio is not None
    low, high = (None if bound is None else bound - 1 for bound in (c.low, c.high))
    return Effect(
        factor="folder",
        level="other",
        baseline="reference",
        workload=c.workload,
        phase=c.phase,
        metric=c.metric,
        unit=c.unit,
        n=c.n_other,
        n_baseline=c.n_reference,
        matched=1,
        mean=c.mean_other,
        mean_baseline=c.mean_reference,
        absolute=c.mean_other - c.mean_reference,
        absolute_ci_low=None,
        absolute_ci_high=None,
        relative=c.ratio - 1,
        ci_low=low,
        ci_high=high,
        detectable=c.detectable,
    )
