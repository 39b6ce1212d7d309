"""The report of a validation: tables, text and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from windtunnel.analysis.formatting import plural
from windtunnel.analysis.subjects.side_by_side import Ratios
from windtunnel.analysis.subjects.validation import RULE, Prediction
from windtunnel.analysis.subjects.work import Work
from windtunnel.report.columns import print_table
from windtunnel.report.export import finite
from windtunnel.report.sections.base import Table, column
from windtunnel.report.side_by_side import TITLE, agreement_lines, ratios_json, ratios_table

VALIDATION_SCHEMA = "windtunnel.validation/1"
WORK = (
    "A model does the same work as the reference if its CPU time per GB is the same. If it is "
    "larger, a part of the CPU time does not depend on the data, and the effects of disks and "
    "networks are smaller."
)
SHOWN = 24
RATIOS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Validation:
    """What a validation found.

    ``core_speeds`` has the core speed of each model that does another CPU work than the reference;
    ``missing`` names the studies that are not complete.
    """

    testbed: str
    rows: Sequence[Prediction]
    work: Sequence[Work]
    core_speeds: Mapping[str, float]
    ratios: Sequence[Ratios]
    missing: Sequence[str]


def print_validation(made: Validation, console: Console, *, full: bool) -> None:
    """Print the verdicts, the findings, the ratios of all sources, and the rule of the verdicts."""
    rows, ratios = made.rows, made.ratios
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
    if made.work:
        print_table(work_table(made.work), console)
        for line in (WORK, *core_speed_lines(made.core_speeds)):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if ratios:
        console.print(Text(TITLE, style="bold"))
        print_table(
            ratios_table(ratios, made.testbed), console, len(ratios) if full else RATIOS_SHOWN
        )
        for line in agreement_lines(ratios):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in (*(f"not complete: {name}" for name in made.missing), RULE):
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


def work_table(rows: Sequence[Work]) -> Table:
    """One row per phase, one column per model."""
    models = list(dict.fromkeys(name for row in rows for name in row.models))
    several = len({row.workload for row in rows}) > 1
    cells = [
        (
            f"{row.workload}, {row.phase}" if several else row.phase,
            f"{row.reference:.1f} s",
            *(_against(row.models.get(name), row.reference) for name in models),
        )
        for row in rows
    ]
    caption = "CPU time of the tasks per GB of data (medians)"
    return Table(caption, column("phase", "reference", *models), cells)


def core_speed_lines(speeds: Mapping[str, float]) -> list[str]:
    """The option with which each model does the CPU work of the reference, in a sentence."""
    return [
        f"{name}: with '--core-speed {name}={speed:.2g}' and another results folder, its CPUs do "
        "the same work as those of the reference."
        for name, speed in speeds.items()
    ]


def _against(value: float | None, reference: float) -> str:
    return "-" if value is None else f"{value:.1f} s ({(value / reference - 1) * 100:+.0f} %)"


def to_json(made: Validation) -> dict[str, Any]:
    """The validation as plain data; ratios are level / baseline."""
    rows = made.rows
    plain = [
        {**asdict(r), "groups": [g.model_dump(mode="json") for g in r.groups], "finding": r.finding}
        for r in rows
    ]
    found: dict[str, Any] = finite(
        {
            "schema": VALIDATION_SCHEMA,
            "answer": answer(rows),
            "rule": RULE,
            "predictions": plain,
            "cpu_s_per_gb": [asdict(row) for row in made.work],
            "core_speeds": dict(made.core_speeds),
            **ratios_json(made.ratios),
            "missing": list(made.missing),
        }
    )
    return found


def _number(value: float, span: tuple[float, float] | None) -> str:
    return f"{value:.2f}" + (f" [{span[0]:.2f}, {span[1]:.2f}]" if span else " (n = 1)")
