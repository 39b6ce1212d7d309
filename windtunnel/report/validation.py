"""The report of a validation: tables, text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from windtunnel.analysis.formatting import plural
from windtunnel.analysis.subjects.side_by_side import Ratios
from windtunnel.analysis.subjects.validation import RULE, Prediction
from windtunnel.report.columns import print_table
from windtunnel.report.export import finite
from windtunnel.report.sections.base import Table, column
from windtunnel.report.side_by_side import TITLE, agreement_lines, ratios_json, ratios_table

VALIDATION_SCHEMA = "windtunnel.validation/1"
SHOWN = 24
RATIOS_SHOWN = 12


def print_validation(
    rows: Sequence[Prediction],
    ratios: Sequence[Ratios],
    missing: Sequence[str],
    console: Console,
    *,
    testbed: str,
    full: bool,
) -> None:
    """Print the verdicts, the findings, the ratios of all sources, and the rule of the verdicts."""
    console.print(Text(f"{answer(rows)}.", style="bold"))
    shown = rows if full else rows[:SHOWN]
    if shown:
        print_table(table(shown), console)
    if len(shown) < len(rows):
        console.print(f"{plural(len(rows) - len(shown), 'more row')}: see --full")
    if found := finding_lines(rows):
        console.print(Text("Errors that the similarity groups do not explain", style="bold"))
        for line in found:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if ratios:
        console.print(Text(TITLE, style="bold"))
        print_table(ratios_table(ratios, testbed), console, len(ratios) if full else RATIOS_SHOWN)
        for line in agreement_lines(ratios):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in (*(f"not complete: {name}" for name in missing), RULE):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def answer(rows: Sequence[Prediction]) -> str:
    """The number of predictions by verdict, in one sentence."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return (
        f"{plural(len(rows), 'prediction')}: {said}"
        if rows
        else "no predictions: results are missing"
    )


def finding_line(r: Prediction) -> str:
    """An error larger than permitted although all groups match, with these groups."""
    return (
        f"{r.model}, {r.phase} at {r.factor} {r.level}: the ratio of the model is {r.error:.2f} "
        "times that of the reference, although these groups match: "
        f"{', '.join(g.name for g in r.groups)}"
    )


def label(r: Prediction, rows: Sequence[Prediction]) -> str:
    """Phase and level of a prediction; model and workload if ``rows`` has several."""
    parts = [
        name for name in ("model", "workload") if len({getattr(row, name) for row in rows}) > 1
    ]
    return ", ".join([*(getattr(r, name) for name in parts), r.phase, f"{r.factor} {r.level}"])


def finding_lines(rows: Sequence[Prediction]) -> list[str]:
    """The findings about the theory as a list."""
    return [f"- {finding_line(r)}" for r in rows if r.finding]


def table(rows: Sequence[Prediction]) -> Table:
    """One row per model, factor, level and phase; ratios are level / baseline."""
    cells = [
        (
            label(r, rows),
            f"{r.verdict} (n = {r.n})" if r.verdict == "not decided" else r.verdict,
            _number(r.reference, r.reference_interval),
            _number(r.ratio, r.interval),
            _number(r.error, r.error_interval),
            "direction only" if r.within is None else f"{r.within * 100:.0f} %",
        )
        for r in rows
    ]
    names = ("prediction", "verdict", "reference", "model", "error", "permitted error")
    strong = frozenset(place for place, r in enumerate(rows) if r.finding)
    return Table("Ratios of elapsed times (95 % intervals)", column(*names, text=2), cells, strong)


def to_json(
    rows: Sequence[Prediction], ratios: Sequence[Ratios], missing: Sequence[str]
) -> dict[str, Any]:
    """The validation as plain data; ratios are level / baseline."""
    plain = [
        {**asdict(r), "groups": [g.model_dump(mode="json") for g in r.groups], "finding": r.finding}
        for r in rows
    ]
    made: dict[str, Any] = finite(
        {
            "schema": VALIDATION_SCHEMA,
            "answer": answer(rows),
            "rule": RULE,
            "predictions": plain,
            **ratios_json(ratios),
            "missing": list(missing),
        }
    )
    return made


def _number(value: float, span: tuple[float, float] | None) -> str:
    return f"{value:.2f}" + (f" [{span[0]:.2f}, {span[1]:.2f}]" if span else " (n = 1)")
