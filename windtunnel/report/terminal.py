"""The report on the terminal: the answer in a screenful, or all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from windtunnel.analysis import Analysis
from windtunnel.analysis.bottleneck import with_cause
from windtunnel.analysis.words import plural
from windtunnel.report.columns import print_table
from windtunnel.report.sections import headline, sections
from windtunnel.report.sections.base import Section, Table
from windtunnel.report.tables import cells_table, effects_table, invalid_table

STYLE = {"serious": "bold red", "caution": "yellow", "note": "cyan"}
# the short report: with blank lines and titles at most 40 lines
_TABLE_LINES, _TABLE_ROWS, _CAUSES_SHOWN, _WARNINGS_SHOWN = 15, 8, 2, 3
_HEADLINE_LINES, _SENTENCE_LINES = 4, 2


def print_report(analysis: Analysis, console: Console) -> None:
    """Print all of the report. Rich leaves styles out where there is no terminal, or NO_COLOR."""
    _begin(analysis, console)
    for finding in analysis.findings:
        console.print(Text(f"- {with_cause(analysis, finding)}"))
    for table in (effects_table(analysis), cells_table(analysis)):
        if table is not None:
            console.print()
            print_table(table, console)
    for section in sections(analysis):
        _section(section, console)
    invalid = invalid_table(analysis)
    if invalid is not None:
        console.print()
        print_table(invalid, console)
    _warnings(analysis, console)


def print_summary(analysis: Analysis, console: Console, folder: str, page: Path | None) -> None:
    """Print the answer, the effects, what bound, the warnings and where the rest is.

    At most 40 lines at 80 columns.

    Parameters
    ----------
    folder:
        What the results are called in commands.
    page:
        The page of the report, if there is one.
    """
    _begin(analysis, console, _HEADLINE_LINES)
    table = effects_table(analysis, totals_only=True) or cells_table(analysis)
    if table is not None:
        _print_short(table, console)
    causes = next((s.said for s in sections(analysis) if s.id == "bottleneck"), ())
    if causes:
        console.print(Text("What bound", style="bold"))
        _some(causes, _CAUSES_SHOWN, console)
    invalid = [trial for trial in analysis.trials if trial.verdict == "invalid"]
    if invalid:
        _cut(f"{plural(len(invalid), 'invalid trial')}: {invalid[0].reason}", console)
    order = list(STYLE)
    warnings = sorted(analysis.warnings, key=lambda w: order.index(w.severity))
    if warnings:
        console.print(Text("Warnings", style="bold"))
        _some([f"{w.severity}: {w.text}" for w in warnings], _WARNINGS_SHOWN, console)
    else:
        console.print("No warnings: every rule of trust was kept.")
    console.print()
    where = f"Page: {page}" if page is not None else f"Page: windtunnel report {folder} --html FILE"
    for line in (f"All of it: windtunnel report {folder} --full", where):
        console.print(Text(line), soft_wrap=True)


def _print_short(table: Table, console: Console) -> None:
    """Print as many of the first rows as fit into the lines of the table."""
    for rows in range(_TABLE_ROWS, 0, -1):
        with console.capture() as drawn:
            print_table(table, console, rows)
        if drawn.get().count("\n") <= _TABLE_LINES or rows == 1:
            print_table(table, console, rows)
            return


def _begin(analysis: Analysis, console: Console, most_lines: int | None = None) -> None:
    study = analysis.study
    counted = sum(trial.verdict == "valid" for trial in analysis.trials)
    console.print()
    _cut(headline(analysis), console, most_lines, style="bold")
    console.print()
    console.print(
        Text(
            f"{study.name}: {plural(len(analysis.trials), 'trial')}, {counted} valid and counted, "
            f"testbed {study.testbed}, {study.kind}",
            style="dim",
        )
    )


def _some(sentences: Sequence[str], most: int, console: Console) -> None:
    for sentence in sentences[:most]:
        _cut(f"- {sentence}", console)
    if len(sentences) > most:
        console.print(Text(f"- and {len(sentences) - most} more", style="dim"))


def _cut(
    text: str, console: Console, most_lines: int | None = _SENTENCE_LINES, style: str = ""
) -> None:
    """Print a text, cut at the end of a word where it takes more lines than it may."""
    shown = text
    if most_lines is not None and _lines(text, console) > most_lines:
        words = text.split(" ")
        shown = next(one for one in _shorter(words) if _lines(one, console) <= most_lines)
    console.print(Text(shown, style=style))


def _shorter(words: Sequence[str]) -> Iterator[str]:
    for count in range(len(words) - 1, 0, -1):
        yield " ".join(words[:count]) + " ..."
    yield "..."


def _lines(text: str, console: Console) -> int:
    return len(Text(text).wrap(console, console.width))


def _section(section: Section, console: Console) -> None:
    console.print()
    console.print(Text(section.title, style="bold"))
    if section.lead:
        console.print(Text(section.lead, style="dim"))
    for sentence in section.said:
        console.print(Text(f"- {sentence}"))
    for table in section.tables:
        console.print()
        print_table(table, console)
    if section.hint:
        console.print(Text(section.hint, style="dim"))


def _warnings(analysis: Analysis, console: Console) -> None:
    console.print()
    if not analysis.warnings:
        console.print("No warnings: every rule of trust was kept.")
        return
    console.print(Text("Warnings", style="bold"))
    for warning in analysis.warnings:
        line = Text(f"{warning.severity}: ", style=STYLE[warning.severity])
        line.append(warning.text, style="default")
        console.print(line)
        console.print(
            Padding(Text(f"what to do: {warning.advice}", style="dim"), (0, 0, 0, 2), expand=False)
        )
