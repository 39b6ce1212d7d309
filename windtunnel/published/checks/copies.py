"""Results that are equal to the last digit although they were measured apart."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.checks.groups import own_numbers
from windtunnel.published.checks.scans import POSITIVE, number_in
from windtunnel.published.judged import place, spans
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

FINE_DIGITS = 5
"""Equal values with this many digits are not equal by chance."""
FOLLOWS = 0.9
"""A column follows from another if this fraction of the pairs of repetitions has one ratio."""
LEAST_PAIRS = 3
WITNESSES = 3
"""Equal columns that two repetitions must have; rows with different labels need two."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def copies(case: Case) -> Iterator[Point]:
    """Results that are equal to the last digit in rows with different labels."""
    for profile in case.profiles.values():
        measured = [c for c in own_numbers(profile) if c.dimension in POSITIVE]
        if not 4 <= len(profile.table.rows) <= 1000:
            continue
        yield from _rows_alike(profile, measured)
        for column in measured:
            yield from _filled_down(profile, column)


def _digits(text: str) -> int:
    return len(text.replace(".", "").strip("-0"))


def _rows_alike(profile: Profile, measured: Sequence[Column]) -> Iterator[Point]:
    """Two rows with the same results in at least two columns of measured values."""
    varied = [
        c
        for c in measured
        if len({r[c.name] for r in profile.table.rows}) > 0.6 * _filled(profile, c)
    ]
    varied = _independent(profile, varied)
    if len(varied) < 2:
        return
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in profile.table.rows:
        key = tuple(row[c.name] for c in varied)
        if sum(_digits(cell) >= 3 for cell in key) >= 2 and all(key):
            groups[key].append(row)
    pairs = [rows for rows in groups.values() if len(rows) > 1]
    if len(pairs) > 2:
        return
    for first, second in (rows[:2] for rows in pairs):
        columns = [c for c in profile.columns.values() if c.kind != "source"]
        if all(first[c.name] == second[c.name] for c in columns):
            continue  # a duplicate of the whole row
        if len(varied) < WITNESSES and _words(profile, first) == _words(profile, second):
            continue  # Two repetitions can round to the same numbers.
        yield Point(
            check="copies",
            severity="serious",
            subject=f"the same results in two rows: {profile.label(first)}; "
            f"{profile.label(second)}",
            stated=profile.label(first),
            stated_source=source_of(first),
            found=f"{', '.join(c.name for c in varied[:4])} are equal to the last digit",
            found_source=source_of(second),
            means="one row is probably a copy of the other that was not replaced by its own "
            "results.",
            cells=(place(second), place(first)),
        )


def _words(profile: Profile, row: Row) -> list[str]:
    """The labels of a row without dates, which differ between repetitions."""
    return [row[c.name] for c in profile.labels if not _DATE.fullmatch(row[c.name])]


def _independent(profile: Profile, columns: Sequence[Column]) -> list[Column]:
    """The columns without those that follow from another one, such as a rate from a time.

    If such a pair has equal times, it has equal rates, too: that is one coincidence.
    """
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in profile.table.rows:
        groups[tuple(_words(profile, row))].append(row)
    pairs = [pair for rows in groups.values() for pair in combinations(rows[:6], 2)]
    kept: list[Column] = []
    for column in columns:
        if not any(_follows(profile, column, other, pairs) for other in kept):
            kept.append(column)
    return kept


def _follows(profile: Profile, a: Column, b: Column, pairs: Sequence[tuple[Row, Row]]) -> bool:
    """Whether the ratio or the product of two columns is equal in the repetitions."""
    ratios, products = [], []
    for first, second in pairs:
        one, two = (spans(profile, row, [a, b]) for row in (first, second))
        if one is None or two is None or first[b.name] == second[b.name]:
            continue  # Equal numbers say nothing about the ratio.
        ratios.append((one[0] * two[1]).meets(two[0] * one[1]))
        products.append((one[0] * one[1]).meets(two[0] * two[1]))
    return any(
        len(found) >= LEAST_PAIRS and sum(found) >= FOLLOWS * len(found)
        for found in (ratios, products)
    )


def _filled(profile: Profile, column: Column) -> int:
    return sum(bool(r[column.name]) for r in profile.table.rows)


def _filled_down(profile: Profile, column: Column) -> Iterator[Point]:
    """A cell equal to the one above it, in a column whose values otherwise all differ."""
    filled = [r for r in profile.table.rows if r[column.name]]
    fine = statistics.median(_digits(r[column.name]) for r in filled) if filled else 0
    counts = Counter(r[column.name] for r in filled)
    again = [value for value, n in counts.items() if n > 1]
    steps = [
        abs(number_in(b) - number_in(a)) * 10**column.decimals
        for a, b in pairwise([r[column.name] for r in filled])
    ]
    if any(0.5 < step < 10.5 for step in steps):
        return  # Neighbours are so close that two of them can be equal by chance.
    if fine < FINE_DIGITS or len(again) != 1 or counts[again[0]] > 4 or len(filled) < 6:
        return
    for above, row in pairwise(filled):
        if above[column.name] == row[column.name] == again[0]:
            yield Point(
                check="copies",
                severity="caution",
                subject=f"{column.name} repeats the cell above: {profile.label(row)}",
                stated=f"{column.name} {row[column.name]}",
                stated_source=source_of(row),
                found=f"{column.name} {above[column.name]}",
                found_source=source_of(above),
                means="all other numbers of this column differ: a cell was filled down.",
                cells=(place(row, column.name), place(above, column.name)),
            )
