"""A comparison on the terminal and as JSON; ``comparison_page`` renders the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rich.console import Console
from rich.text import Text

from windtunnel.analysis.compare import CellComparison, Comparison, Difference, Pair
from windtunnel.analysis.compare.sentences import answer, caveats, change, what_differs
from windtunnel.analysis.formatting import percent, quantity
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.statistics.summary import INDICATIVE_BELOW
from windtunnel.report.columns import print_table
from windtunnel.report.export import finite
from windtunnel.report.sections.base import Table, column

COMPARISON_SCHEMA = "windtunnel.comparison/1"
METRICS_SHOWN = 12
LONELY_SHOWN = 8
ROUNDING = 1e-9


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the answer, then for each folder what differs, the verdicts and the caveats."""
    console.print()
    console.print(Text(f"{answer(comparison)}.", style="bold"))
    for pair in comparison.pairs:
        console.print()
        console.print(Text(f"{pair.other} against {comparison.reference}", style="bold"))
        console.print(Text(f"What is compared: {what_differs(pair)}", style="dim"))
        for table in tables(comparison, pair):
            print_table(table, console)
        for refusal in pair.refused:
            line = Text(f"refused ({refusal.id}): ", style="bold red")
            console.print(line.append(refusal.text, style="default"))
        for caveat in caveats(comparison, pair):
            console.print(Text("caveat: ", style="yellow").append(caveat, style="default"))
        for lonely in pair.unmatched[:LONELY_SHOWN]:
            console.print(Text(f"not compared: {lonely}", style="dim"))
        if (left := len(pair.unmatched) - LONELY_SHOWN) > 0:
            console.print(Text(f"{left} more not compared: see --json", style="dim"))


def tables(comparison: Comparison, pair: Pair) -> list[Table]:
    """The tables of a pair: differences, totals, phases, other metrics; without empty tables."""
    cells = pair.cells
    phases = [c for c in cells if c.metric == ELAPSED and c.phase != TOTAL]
    made = [
        differences_table(pair),
        cells_table("Total elapsed time (95 % intervals)", pair.totals),
        cells_table("Elapsed time by phase (not corrected for multiple comparisons)", phases),
        _metrics_table(cells),
    ]
    return [table for table in made if table.rows]


def differences_table(pair: Pair) -> Table:
    """All differences between the studies, apart from their results."""
    rows = [(r.group, _where(r), _short(r.reference), _short(r.other)) for r in pair.differences]
    columns = column("what differs", "name", pair.reference, pair.other, text=4)
    strong = frozenset(
        place
        for place, r in enumerate(pair.differences)
        if r.group in ("cluster", "settings", "software") and not r.label_only
    )
    return Table("Differences in configuration", columns, rows, strong)


def cells_table(caption: str, cells: Sequence[CellComparison]) -> Table:
    """Ratios, intervals and verdicts of elapsed times."""
    rows = [
        (
            _label(c, cells),
            c.verdict,
            change(c),
            percent(c.detectable),
            f"{quantity(c.mean_reference, c.unit)} -> {quantity(c.mean_other, c.unit)}",
            _counts(c),
        )
        for c in cells
    ]
    names = ("cell", "verdict", "change", "detectable", "means", "n")
    strong = frozenset(place for place, c in enumerate(cells) if c.verdict in ("better", "worse"))
    units = " or ".join(dict.fromkeys(c.few for c in cells if c.indicative))
    hint = f"* fewer than {INDICATIVE_BELOW} {units}: indicative" if units else ""
    return Table(caption, column(*names, text=2), rows, strong, hint)


def _counts(c: CellComparison) -> str:
    """``10 : 5``: the trials of both sides; ``10 in 2 runs : 5`` if their unit is the run."""
    sides = ((c.n_reference, c.units_reference), (c.n_other, c.units_other))
    nested = c.units != "trials"
    words = [f"{n} in {units} {c.units}" if nested and units != n else f"{n}" for n, units in sides]
    return f"{' : '.join(words)}{' *' if c.indicative else ''}"


def to_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain data; ratios are other / reference, None where unknown."""
    data = {
        "schema": COMPARISON_SCHEMA,
        "answer": answer(comparison),
        "reference": comparison.reference,
        "history": list(comparison.history),
        "family": comparison.family,
        "pairs": [_pair(comparison, pair) for pair in comparison.pairs],
    }
    made: dict[str, Any] = finite(data)
    return made


def _pair(comparison: Comparison, pair: Pair) -> dict[str, Any]:
    return {
        "other": pair.other,
        "refused": [_plain(r) for r in pair.refused],
        "allowed": [_plain(r) for r in pair.refusals if r.allowed],
        "differences": [_plain(r) for r in pair.differences],
        "cells": [{**_plain(c, "estimate"), "primary": c.primary} for c in pair.cells],
        "unmatched": pair.unmatched,
        "caveats": caveats(comparison, pair),
    }


def _plain(record: Any, *without: str) -> dict[str, Any]:
    names = [field.name for field in fields(record) if field.name not in without]
    return {name: getattr(record, name) for name in names}


def _metrics_table(cells: Sequence[CellComparison]) -> Table:
    """Other metrics of the totals; metrics that differ come first."""
    rest = [c for c in cells if c.phase == TOTAL and c.metric != ELAPSED and c.ratio is not None]
    rest = [c for c in rest if not _constant(c)]
    rest.sort(key=lambda c: (c.verdict in ("not distinguishable", "unknown"), c.p or 0.0))
    rows = [
        (
            _label(c, cells, c.metric),
            c.verdict,
            change(c),
            quantity(c.mean_reference, c.unit),
            quantity(c.mean_other, c.unit),
        )
        for c in rest[:METRICS_SHOWN]
    ]
    left = len(rest) - len(rows)
    hint = f"{left} more metrics: see --json" if left > 0 else ""
    caption = "Other metrics over all phases (not corrected for multiple comparisons)"
    return Table(
        caption, column("cell", "verdict", "change", "reference", "other", text=2), rows, hint=hint
    )


def _label(cell: CellComparison, cells: Sequence[CellComparison], metric: str = "") -> str:
    """Treatment and phase or metric, and the workload if there are several."""
    several = len({c.workload for c in cells}) > 1
    parts = [*([cell.workload] if several else []), cell.name, metric or cell.phase]
    return ", ".join(parts)


def _constant(c: CellComparison) -> bool:
    """Whether the number is the same in every trial of both folders."""
    known = c.ratio is not None and c.low is not None and c.high is not None
    return known and all(abs(v - 1) < ROUNDING for v in (c.ratio, c.low, c.high) if v is not None)


def _where(row: Difference) -> str:
    return f"{row.what} (at {row.at_name})" if row.at_name else row.what


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
