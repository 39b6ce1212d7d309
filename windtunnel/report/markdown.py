"""The report as Markdown, for an issue or a wiki."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import plural
from windtunnel.analysis.names import origin
from windtunnel.report.sections import headline, sections
from windtunnel.report.sections.base import Note, Section, Table

ROWS_SHOWN = 1000


def to_markdown(analysis: Analysis) -> str:
    """The whole report without its charts, in GitHub's Markdown."""
    return "\n".join(_lines(analysis)) + "\n"


def _lines(analysis: Analysis) -> Iterator[str]:
    study = analysis.study
    counted = sum(trial.verdict == "valid" for trial in analysis.trials)
    yield f"# {_plain(study.name)}"
    yield from ("", f"**{_plain(headline(analysis))}**", "")
    yield (
        f"{plural(len(analysis.trials), 'trial')}, {counted} valid and counted, {origin(study)}."
    )
    for section in sections(analysis):
        if section.shown:
            yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield from ("", f"## {_plain(section.title)}")
    if section.lead:
        yield from ("", _plain(section.lead))
    yield from _listed(section.said)
    yield from _listed((_note(note) for note in section.notes), plain=False)
    for table in section.tables:
        yield from _folded(table) if table.folded else _table(table)
    if section.hint:
        yield from ("", _plain(section.hint))


def _note(note: Note) -> str:
    return f"**{note.severity}**: {_plain(note.text)}. What to do: {_plain(note.advice)}"


def _folded(table: Table) -> Iterator[str]:
    """A folded table, where the renderer supports HTML."""
    yield from ("", f"<details><summary>{escape(table.caption)}</summary>")
    yield from _table(table, caption=False)
    yield from ("", "</details>")


def _listed(sentences: Iterable[str], *, plain: bool = True) -> Iterator[str]:
    texts = list(sentences)
    if texts:
        yield ""
    yield from (f"- {_plain(text) if plain else text}" for text in texts)


def _table(table: Table, *, caption: bool = True) -> Iterator[str]:
    yield from ("", f"**{_plain(table.caption)}**", "") if caption else ("",)
    yield _row(column.name for column in table.columns)
    yield _row("---:" if column.numeric else "---" for column in table.columns)
    for place, row in enumerate(table.rows[:ROWS_SHOWN]):
        strong = place in table.strong
        yield _row(f"**{_cell(text)}**" if strong and text else _cell(text) for text in row)
    if (left := len(table.rows) - ROWS_SHOWN) > 0:
        yield from ("", f"{plural(left, 'more row')}: see the JSON or CSV export")
    if table.hint:
        yield from ("", _plain(table.hint))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")


def _plain(text: str) -> str:
    """Text with the special characters of Markdown escaped."""
    for mark in ("\\", "*", "_", "`", "<", "["):
        text = text.replace(mark, f"\\{mark}")
    return text
