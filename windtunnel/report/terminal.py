"""The report on the terminal: a summary of one screen, or the whole report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import plural
from windtunnel.analysis.names import origin
from windtunnel.report.columns import print_table, text_block
from windtunnel.report.sections import headline, sections
from windtunnel.report.sections.base import Note, Section, Table
from windtunnel.report.sections.cells import cells_table
from windtunnel.report.sections.effects import effects_table
from windtunnel.report.typography import wrapped

STYLE = {"serious": "bold red", "caution": "yellow", "note": "cyan"}
# the short report: with blank lines and titles at most 40 lines
_TABLE_LINES, _TABLE_ROWS, _CAUSES_SHOWN, _WARNINGS_SHOWN = 15, 8, 2, 3
_HEADLINE_LINES, _SENTENCE_LINES = 4, 2


def print_report(analysis: Analysis, console: Console) -> None:
    """Print the whole report. Rich omits styles without a terminal, and with NO_COLOR."""
    _begin(analysis, console)
    for section in sections(analysis):
        if section.shown:
            _section(section, console)


def print_summary(analysis: Analysis, console: Console, folder: str, page: Path | None) -> None:
    """Print the answer, effects, bottlenecks and warnings, and how to get the whole report.

    The summary has at most 40 lines at 80 columns.

    Parameters
    ----------
    folder:
        The name of the results in commands.
    page:
        The report's page, if it exists.
    """
    _begin(analysis, console, _HEADLINE_LINES)
    table = effects_table(analysis, totals_only=True) or cells_table(analysis)
    if table is not None:
        _print_short(table, console)
    made = {section.id: section for section in sections(analysis)}
    causes = made["bottleneck"].said if "bottleneck" in made else ()
    if causes:
        console.print(Text("Bottlenecks", style="bold"))
        _some(causes, _CAUSES_SHOWN, console)
    if made["invalid"].brief:
        _cut(made["invalid"].brief, console)
    notes = sorted(made["warnings"].notes, key=lambda note: list(STYLE).index(note.severity))
    if notes:
        console.print(Text("Warnings", style="bold"))
        _some([f"{note.severity}: {note.text}" for note in notes], _WARNINGS_SHOWN, console)
    elif not analysis.trials:
        console.print("Nothing was checked: there is no trial.")
    else:
        console.print("No warnings: the study passed all checks of the report.")
    console.print()
    where = f"Page: {page}" if page is not None else f"Page: windtunnel report {folder} --html FILE"
    for line in (f"Full report: windtunnel report {folder} --full", where):
        console.print(Text(line), soft_wrap=True)


def _print_short(table: Table, console: Console) -> None:
    """Print as many of the first rows as fit into the lines for the table."""
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
    said = (
        f"{study.name}: {plural(len(analysis.trials), 'trial')}, {counted} valid and counted, "
        f"{origin(study)}"
    )
    console.print(text_block(said, console.width, "dim"))


def _some(sentences: Sequence[str], most: int, console: Console) -> None:
    for sentence in sentences[:most]:
        _cut(f"- {sentence}", console)
    if len(sentences) > most:
        console.print(Text(f"- and {len(sentences) - most} more", style="dim"))


def _cut(
    text: str, console: Console, most_lines: int | None = _SENTENCE_LINES, style: str = ""
) -> None:
    """Print a text; cut it after a word if it takes more than ``most_lines``."""
    shown = text
    if most_lines is not None and _lines(text, console) > most_lines:
        words = text.split(" ")
        shown = next(one for one in _shorter(words) if _lines(one, console) <= most_lines)
    console.print(text_block(shown, console.width, style))


def _shorter(words: Sequence[str]) -> Iterator[str]:
    for count in range(len(words) - 1, 0, -1):
        yield " ".join(words[:count]) + " ..."
    yield "..."


def _lines(text: str, console: Console) -> int:
    return len(wrapped(text, console.width))


def _note(note: Note, console: Console) -> None:
    lead = f"{note.severity}: "
    shown = text_block(lead + note.text, console.width)
    shown.stylize(STYLE.get(note.severity, ""), 0, len(lead))
    console.print(shown)
    advice = text_block(f"what to do: {note.advice}", console.width - 2, "dim")
    console.print(Padding(advice, (0, 0, 0, 2), expand=False))


def _section(section: Section, console: Console) -> None:
    console.print()
    console.print(Text(section.title, style="bold"))
    if section.lead:
        console.print(text_block(section.lead, console.width, "dim"))
    for sentence in section.said:
        console.print(text_block(f"- {sentence}", console.width))
    for note in section.notes:
        _note(note, console)
    for table in section.tables:
        console.print()
        print_table(table, console)
    if section.hint:
        console.print(text_block(section.hint, console.width, "dim"))
