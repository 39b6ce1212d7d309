"""The page of a validation: for each model the errors of its ratios, and all predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.analysis.subjects.side_by_side import Ratios
from windtunnel.analysis.subjects.validation import RULE, Prediction
from windtunnel.report.atomic import write_bytes
from windtunnel.report.charts.forest import Change
from windtunnel.report.page import Chart, Part, Remark, forest_chart, page
from windtunnel.report.side_by_side import TITLE, agreement_lines, ratios_table
from windtunnel.report.validation import (
    WORK,
    Validation,
    answer,
    core_speed_lines,
    finding_line,
    label,
    table,
    work_table,
)

ROWS_DRAWN = 24
_CAPTION = (
    "Point: ratio of the model divided by that of the reference, minus 1. Bar: 95 % interval. "
    "Hollow and grey: the interval includes zero, or is unknown."
)

_SOURCES = (
    "The ratios of the reference, measured on the testbed, alongside those that a study published "
    "and those that the physics model predicts at full size."
)


def write_page(made: Validation, title: str, path: Path) -> None:
    """Write the page; errors as :func:`windtunnel.report.atomic.write_bytes`."""
    write_bytes(path, render(made, title).encode())


def render(made: Validation, title: str) -> str:
    """The page as HTML text."""
    rows, ratios = made.rows, made.ratios
    return page(
        eyebrow="Windtunnel validation",
        title=title,
        question="How far are the ratios of a scale model from those of its reference?",
        answer=f"{answer(rows)}.",
        parts=[
            *(_part(name, rows) for name in dict.fromkeys(row.model for row in rows)),
            *([_work(made)] if made.work else []),
            *([_sources(ratios, made.testbed)] if ratios else []),
            Part("Permitted error", RULE, [_incomplete(name) for name in made.missing]),
        ],
    )


def _part(model: str, rows: Sequence[Prediction]) -> Part:
    own = [row for row in rows if row.model == model]
    return Part(
        title=f"{model} against the reference",
        lead=f"{answer(own)}.",
        remarks=[
            Remark("serious", "unexplained error", f"{finding_line(row)}.")
            for row in own
            if row.finding
        ],
        chart=_chart(own),
        tables=[table(own)],
    )


def _work(made: Validation) -> Part:
    text = " ".join([WORK, *core_speed_lines(made.core_speeds)])
    return Part("Work of the CPUs", text, tables=[work_table(made.work)])


def _sources(ratios: Sequence[Ratios], testbed: str) -> Part:
    return Part(
        TITLE,
        _SOURCES,
        tables=[ratios_table(ratios, testbed)],
        listed=list(agreement_lines(ratios)),
        listed_title="Agreement of the sources",
    )


def _incomplete(name: str) -> Remark:
    advice = "The command without --report runs what is missing."
    return Remark("caution", "not complete", f"{name} lacks trials.", advice)


def _chart(rows: Sequence[Prediction]) -> Chart:
    """The errors with intervals; the largest first."""
    largest = sorted(rows, key=lambda row: -abs(row.error - 1))[:ROWS_DRAWN]
    drawn = [(label(row, rows), _error(row)) for row in largest]
    said = [f"{name}: x{row.error:.2f}" for (name, _), row in zip(drawn, largest, strict=True)]
    return forest_chart(drawn, title="error of the model's ratio", words=said, caption=_CAPTION)


def _error(row: Prediction) -> Change:
    low, high = row.error_interval or (None, None)
    return Change(
        row.error - 1, None if low is None else low - 1, None if high is None else high - 1
    )
