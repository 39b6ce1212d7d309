"""The input of the checks of a review, and the points that they return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.evidence import Severity
from windtunnel.published.filled import filled
from windtunnel.published.mapping import Map
from windtunnel.published.numbers import (
    TAKES,
    Digits,
    NumberError,
    Span,
    evaluate,
    names_in,
    printed,
)
from windtunnel.published.profile import Profile, profile
from windtunnel.published.relations import Pick, Relations, Values
from windtunnel.published.table import Row, Table
from windtunnel.results.folder import Results


@dataclass(frozen=True, slots=True)
class Point:
    """One contradiction: the stated and the found value, and the sources of both.

    ``rule`` is the number of the rule of trust in DESIGN.md, None for plain arithmetic. ``cells``
    are the places of the numbers, such as ``runs.csv:12:elapsed_s``, or rows without a column.
    """

    check: str
    severity: Severity
    subject: str
    stated: str
    stated_source: str
    found: str
    found_source: str
    means: str
    rule: int | None = None
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Number:
    """A span and its sources."""

    span: Span
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A study under review; published and imported ones have ``tables`` and ``mapped``.

    ``catalogue`` states that the study is one of the catalogue, which may contain only a part of
    what was published.
    """

    results: Results
    relations: Relations = field(default_factory=Relations)
    tables: Mapping[str, Table] = field(default_factory=dict)
    mapped: Map | None = None
    catalogue: bool = False

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """The tables with their columns described, by name of the file."""
        runs = self.mapped.runs if self.mapped else None
        labels: dict[str, set[str]] = {}
        if self.mapped is not None and runs is not None and runs in self.tables:
            rows = self.tables[runs].rows
            labels = {
                name: {row.cells.get(name, "") for row in rows}
                for name in self.mapped.label_columns()
            }
        return {
            file: profile(table, self.mapped if file == runs else None, labels)
            for file, table in self.tables.items()
        }

    @cached_property
    def analysis(self) -> Analysis:
        """The statistics of the study."""
        return analyse(self.results)

    @property
    def published(self) -> bool:
        """Whether others published it, so that the checks include the rules on conduct."""
        return self.results.study.kind == "published"

    def rows(self, table: str, where: Mapping[str, Values], words: Mapping[str, str]) -> list[Row]:
        """The rows that match; ``{NAME}`` in ``where`` is replaced from ``words``."""
        wanted = {c: {filled(v, words) for v in values} for c, values in where.items()}
        return [
            row
            for row in self.tables[table].rows
            if all(row[column] in values for column, values in wanted.items())
        ]

    def pick(self, pick: Pick, words: Mapping[str, str]) -> Number:
        """The number of a pick.

        Raises
        ------
        NumberError
            If no row matches, cells are empty, or the number cannot be computed.
        """
        value = filled(pick.value, words)
        spans, used = [], []
        names = {*names_in(value)}
        for row in self.rows(pick.table, pick.where, words):
            if all(row.cells.get(name) for name in names):
                cells = cells_of(row, names, pick.digits, dict.fromkeys(names, pick.decimals))
                spans.append(evaluate(value, cells) * Span.exact(_factor(pick, row)))
                used.append(row)
        if pick.pairs is not None:
            spans, used = _ratios(pick, spans, used)
        if not spans:
            raise NumberError(f"no row of {pick.table} matches")
        return Number(TAKES[pick.take](spans), tuple(map(source_of, used)))


def cells_of(
    row: Row, names: Iterable[str], digits: Digits, decimals: Mapping[str, int]
) -> dict[str, Span]:
    """The cells of these columns as spans, without names that are not columns."""
    known = (name for name in names if name in row.cells)
    return {name: printed(row[name], digits, decimals.get(name, 0)) for name in known}


def source_of(row: Row) -> str:
    """``runs.csv:12 (raw:...)``: the row and the publication of its number."""
    place = f"{row.file.rsplit('/', 1)[-1]}:{row.line}"
    source = row.cells.get("source", "")
    return f"{place} ({source})" if source else place


def sources_in_words(sources: Iterable[str], limit: int = 2) -> str:
    """Some of the sources and the number of others."""
    unique = list(dict.fromkeys(sources))
    more = len(unique) - limit
    return "; ".join(unique[:limit]) + (f"; and {more} more" if more > 0 else "")


def _factor(pick: Pick, row: Row) -> float:
    if pick.units is None:
        return 1.0
    column, factors = pick.units
    if row[column] not in factors:
        raise NumberError(f"the unit '{row[column]}' is not known")
    return factors[row[column]]


def _ratios(pick: Pick, spans: list[Span], rows: list[Row]) -> tuple[list[Span], list[Row]]:
    assert pick.pairs is not None
    pairs = pick.pairs
    base = {
        tuple(row[c] for c in pairs.by): (span, row)
        for span, row in zip(spans, rows, strict=True)
        if row[pairs.column] == pairs.to
    }
    found: list[Span] = []
    used: list[Row] = []
    for span, row in zip(spans, rows, strict=True):
        key = tuple(row[c] for c in pairs.by)
        if row[pairs.column] in pairs.level and key in base:
            found.append(span / base[key][0])
            used += [row, base[key][1]]
    return found, used
