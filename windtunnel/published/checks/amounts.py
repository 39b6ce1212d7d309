"""Results that the text states with a unit ("finished in 70 s") against the tables.

A sentence is only compared if a table explains each of its words and numbers. It is right if
the stated amount lies between the smallest and the largest result that it can mean: then it
can be one of them, or any mean of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.analysis.formatting import plural
from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.checks.claim_columns import Reference, dimension
from windtunnel.published.checks.claim_words import said
from windtunnel.published.checks.statements import Statement, amounts
from windtunnel.published.judged import place
from windtunnel.published.numbers import NumberError, Span, printed
from windtunnel.published.profile import Column, unit_of
from windtunnel.published.table import Row

MOST_ROWS = 1000
OF_ALL = frozenset({"all", "each", "every", "both", "total", "sum", "together", "altogether"})
"""Words after which an amount can be a sum."""
SHOWN = 3


@dataclass(frozen=True)
class Range:
    """The results of one column that a sentence can mean."""

    column: Column
    rows: tuple[Row, ...]
    least: Span
    most: Span

    def holds(self, number: Span) -> bool:
        """Whether a number can be one of the results, or a mean of them."""
        return Span(self.least.value, self.least.low, self.most.high).meets(number)


def amounts_of_results(case: Case) -> Iterator[Point]:
    """Amounts in the text that no result has."""
    for profile in case.profiles.values():
        for statement in amounts(profile):
            number = _number(statement)
            if number is None:
                continue
            ranges = [
                found
                for other in case.profiles.values()
                if other is not profile
                and "unit" not in other.columns
                and len(other.table.rows) <= MOST_ROWS
                for found in _ranges(Reference(case, other, said(statement)), statement)
            ]
            if ranges and not any(r.holds(number) for r in ranges):
                yield _point(statement, number, ranges)


def _number(statement: Statement) -> Span | None:
    """The stated number in its base unit; None if the sentence states something else."""
    words, unit = said(statement), unit_of(statement.kind)
    if words.compares or words.bound or not words.words.isdisjoint(OF_ALL) or unit is None:
        return None
    try:
        number = printed(statement.number, "about" if words.about else "printed")
    except NumberError:
        return None
    return number * Span.exact(unit[1])


def _ranges(reference: Reference, statement: Statement) -> Iterator[Range]:
    if not reference.mentioned or reference.unknown or reference.unresolved:
        return
    unit = unit_of(statement.kind)
    for column in reference.columns:
        if unit is None or dimension(column) != unit[0]:
            continue
        results = []
        for row in reference.rows():
            try:
                results.append((row, reference.profile.span(row, column)))
            except NumberError:
                continue
        if results:
            spans = [number for _, number in results]
            yield Range(
                column,
                tuple(row for row, _ in results),
                min(spans, key=lambda n: n.value),
                max(spans, key=lambda n: n.value),
            )


def _point(statement: Statement, number: Span, ranges: list[Range]) -> Point:
    nearest = min(ranges, key=lambda r: min(abs(n.value - number.value) for n in (r.least, r.most)))
    cells = list(dict.fromkeys(row[nearest.column.name] for row in nearest.rows))
    more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
    return Point(
        check="amounts",
        severity="caution",
        subject=f"{statement.text.rstrip('.')}: {statement.number} {statement.kind}",
        stated=f"{statement.number} {statement.kind}",
        stated_source=source_of(statement.row),
        found=f"{nearest.column.name} {', '.join(cells[:SHOWN])}{more} "
        f"({plural(len(nearest.rows), 'result')})",
        found_source=sources_in_words(source_of(row) for row in nearest.rows),
        means="no result that this sentence can mean has this value, and no mean of them has it.",
        cells=(place(statement.row, statement.column),),
    )
