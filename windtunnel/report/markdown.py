"""The report as Markdown, to paste into an issue or a wiki."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from windtunnel.analysis import Analysis
from windtunnel.analysis.bottleneck import with_cause
from windtunnel.analysis.words import plural
from windtunnel.report.sections import headline, sections
from windtunnel.report.sections.base import Table
from windtunnel.report.tables import cells_table, effects_table, invalid_table


def to_markdown(analysis: Analysis) -> str:
    """All of the report but its charts, in GitHub's Markdown."""
    return "\n".join(_lines(analysis)) + "\n"


def _lines(analysis: Analysis) -> Iterator[str]:
    study = analysis.study
    counted = sum(trial.verdict == "valid" for trial in analysis.trials)
    yield f"# {_plain(study.name)}"
    yield from ("", f"**{_plain(headline(analysis))}**", "")
    yield (
        f"{plural(len(analysis.trials), 'trial')}, {counted} valid and counted, testbed "
        f"{study.testbed}, {study.kind}."
    )
    yield from _listed([with_cause(analysis, finding) for finding in analysis.findings])
    for table in (effects_table(analysis), cells_table(analysis)):
        yield from _table(table)
    for section in sections(analysis):
        yield from ("", f"## {_plain(section.title)}")
        if section.lead:
            yield from ("", _plain(section.lead))
        yield from _listed(section.said)
        for table in section.tables:
            yield from _table(table)
        if section.hint:
            yield from ("", _plain(section.hint))
    yield from _table(invalid_table(analysis))
    yield from ("", "## Warnings")
    if not analysis.warnings:
        yield from ("", "No warnings: every rule of trust was kept.")
    yield from _listed(
        [f"**{w.severity}**: {w.text} What to do: {w.advice}" for w in analysis.warnings],
        plain=False,
    )


def _listed(sentences: Iterable[str], *, plain: bool = True) -> Iterator[str]:
    texts = list(sentences)
    if texts:
        yield ""
    yield from (f"- {_plain(text) if plain else text}" for text in texts)


def _table(table: Table | None) -> Iterator[str]:
    if table is None:
        return
    yield from ("", f"**{_plain(table.caption)}**", "")
    yield _row(column.name for column in table.columns)
    yield _row("---:" if column.numeric else "---" for column in table.columns)
    for place, row in enumerate(table.rows):
        strong = place in table.strong
        yield _row(f"**{_cell(text)}**" if strong and text else _cell(text) for text in row)
    if table.hint:
        yield from ("", _plain(table.hint))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")


def _plain(text: str) -> str:
    """Text in which Markdown finds no marks."""
    for mark in ("\\", "*", "_", "`", "<", "["):
        text = text.replace(mark, f"\\{mark}")
    return text
