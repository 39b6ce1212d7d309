"""Settings, versions and prices: two values in two places, or on one side only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import combinations, pairwise

from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.checks.listings import (
    ALL_PLACES,
    DOCUMENTS,
    compares_treatments,
    dotted,
    layouts,
)
from windtunnel.published.checks.treatments import BOTH, plain
from windtunnel.published.judged import place
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

ALIKE = 0.93
SHARED = 0.8
"""A place lists the settings of the other if it has this fraction of them."""
FEW = 0.25
LEAST_MOVED = 3


# --- the same item in several places --------------------------------------------------------


def two_values(case: Case) -> Iterator[Point]:
    """The same item with two values, where most items have one value in all places."""
    for profile in case.profiles.values():
        for item, where, columns in layouts(profile):
            if compares_treatments(profile, item, where):
                continue
            groups: dict[str, list[Row]] = defaultdict(list)
            for row in profile.table.rows:
                if row[where.name] not in ALL_PLACES:
                    groups[row[item.name]].append(row)
            for column in columns:
                shared = [_filled(rows, column.name) for rows in groups.values()]
                shared = [rows for rows in shared if len({r[where.name] for r in rows}) > 1]
                apart = [rows for rows in shared if len({plain(r[column.name]) for r in rows}) > 1]
                placed = where.has(*DOCUMENTS)
                if len(apart) > (0.5 if placed else FEW) * len(shared):
                    yield from _moved(profile, item, where, column)
                    continue
                for rows in apart:
                    yield _two(profile, rows, item, where, column)


def _moved(profile: Profile, item: Column, where: Column, column: Column) -> Iterator[Point]:
    """Values of one place that belong to the item before, as another place shows."""
    lists: dict[str, list[Row]] = defaultdict(list)
    for row in profile.table.rows:
        lists[row[where.name]].append(row)
    for name, rows in lists.items():
        for other, reference in lists.items():
            right = {r[item.name]: r[column.name] for r in reference}
            moved = [
                row
                for above, row in pairwise(rows)
                if row[column.name] != right.get(row[item.name], row[column.name])
                and row[column.name] == right.get(above[item.name])
            ]
            if len(moved) < LEAST_MOVED or len(moved) > 0.8 * len(rows):
                continue
            yield Point(
                check="two-values",
                rule=8,
                severity="serious",
                subject=f"column {column.name} is moved by one row in {name}",
                stated=f"{moved[0][item.name]} {moved[0][column.name]}",
                stated_source=source_of(moved[0]),
                found=f"{right[moved[0][item.name]]} in {other}; {len(moved)} values are those "
                "of the item above",
                found_source=source_of(reference[0]),
                means="the cells of this column belong to the rows next to them.",
                cells=tuple(place(row, column.name) for row in moved),
            )
            return


def _filled(rows: Sequence[Row], column: str) -> list[Row]:
    return [row for row in rows if row[column]]


def _two(
    profile: Profile, rows: Sequence[Row], item: Column, where: Column, column: Column
) -> Point:
    counts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        counts[plain(row[column.name])].append(row)
    groups = sorted(counts.values(), key=len, reverse=True)  # of equal groups the first one
    usual, odd = groups[0][0], groups[-1][0]
    documents = where.has(*DOCUMENTS)
    return Point(
        check="two-values",
        rule=8,
        severity="serious" if documents else "note",
        subject=f"{odd[item.name]}, {column.name}: two values",
        stated=f"{usual[column.name]} ({usual[where.name]})",
        stated_source=source_of(usual),
        found=f"{odd[column.name]} ({odd[where.name]})",
        found_source=source_of(odd),
        means="two places describe the same thing in two ways: one is wrong, or a copy of another."
        if documents
        else BOTH,
        cells=(place(odd, column.name), place(usual, column.name)),
    )


def one_side(case: Case) -> Iterator[Point]:
    """An item that only one place lacks, while it lists the others."""
    for profile in case.profiles.values():
        for item, where, _ in layouts(profile):
            if not (dotted(profile, item) or item.has("setting", "parameter", "property", "part")):
                continue
            listed: dict[str, dict[str, Row]] = defaultdict(dict)
            for row in profile.table.rows:
                if row[where.name] not in ALL_PLACES:
                    listed[row[where.name]][row[item.name]] = row
            yield from _lacking(listed, item, where)
        yield from _flags(profile)


def _lacking(
    listed: Mapping[str, Mapping[str, Row]], item: Column, where: Column
) -> Iterator[Point]:
    for name, own in listed.items():
        others = {p: items for p, items in listed.items() if p != name}
        for missing in sorted({i for items in others.values() for i in items} - own.keys()):
            having = [p for p, items in others.items() if missing in items]
            full = [p for p in having if _covers(own.keys(), others[p].keys())]
            if len(having) < len(others) or not full or len(own) < 3:
                continue
            row = others[full[0]][missing]
            near = next((n for n in own if n not in others[full[0]] and _near(n, missing)), None)
            if near:
                continue  # The spelling differs: another point.
            yield Point(
                check="one-side",
                rule=8,
                severity="caution",
                subject=f"{missing} is missing in {name}",
                stated=f"{missing} ({', '.join(having)})",
                stated_source=source_of(row),
                found=f"{name} lists {len(own)} others and not this one",
                found_source=sources_in_words(source_of(r) for r in own.values()),
                means="the setting was not the same everywhere, or a list is incomplete.",
                cells=tuple(place(others[p][missing]) for p in having),
            )


def _covers(own: Iterable[str], other: Iterable[str]) -> bool:
    ours, theirs = set(own), set(other)
    return len(ours & theirs) >= SHARED * len(theirs)


def _near(a: str, b: str) -> bool:
    return SequenceMatcher(None, a, b).ratio() >= ALIKE


def _flags(profile: Profile) -> Iterator[Point]:
    """Columns that state with 0 and 1 where an item is listed: ``in_report``, ``in_script``."""
    flags = [
        c
        for c in profile.columns
        if c.casefold().startswith(("in_", "in "))
        and {r[c] for r in profile.table.rows} <= {"0", "1"}
    ]
    for a, b in combinations(flags, 2):
        apart = [r for r in profile.table.rows if r[a] != r[b]]
        if len(apart) > max(1, 0.34 * len(profile.table.rows)):
            continue
        for row in apart:
            with_, without = (a, b) if row[a] == "1" else (b, a)
            yield Point(
                check="one-side",
                rule=8,
                severity="caution",
                subject=f"{profile.label(row)} is only {with_.replace('_', ' ')}",
                stated=f"{with_} {row[with_]}",
                stated_source=source_of(row),
                found=f"{without} {row[without]}",
                found_source=source_of(row),
                means="the two sources state different settings; a repetition depends on which "
                "one is used.",
                cells=(place(row, a), place(row, b)),
            )


# --- prices ---------------------------------------------------------------------------------


def prices(case: Case) -> Iterator[Point]:
    """A part number or part with two unit prices, or a part of one configuration only."""
    for profile in case.profiles.values():
        each = [
            c
            for c in profile.numbers
            if c.dimension.startswith("price") and c.has("unit", "each", "list")
        ]
        names = [c for c in profile.labels if c.has("part", "sku", "model", "product")]
        for column in each:
            for name in names:
                groups: dict[str, list[Row]] = defaultdict(list)
                for row in profile.table.rows:
                    if row[name.name] and row[column.name]:
                        groups[row[name.name]].append(row)
                for part, rows in groups.items():
                    yield from _price(profile, part, rows, name, column)


def _price(
    profile: Profile, part: str, rows: Sequence[Row], name: Column, column: Column
) -> Iterator[Point]:
    counts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        counts[plain(row[column.name])].append(row)
    if len(counts) < 2 or _is_total(part) or len({r[name.name] for r in profile.table.rows}) < 2:
        return
    # A subtotal has the same part number in each configuration, and its price is a sum.
    if len(rows) > 2 and len(counts) == len(rows):
        return
    groups = sorted(counts.values(), key=len, reverse=True)
    usual, odd = groups[0][0], groups[-1][0]
    yield Point(
        check="one-meaning",
        severity="caution",
        subject=f"{name.name} {part} has two prices",
        stated=f"{column.name} {usual[column.name]}",
        stated_source=source_of(usual),
        found=f"{column.name} {odd[column.name]}",
        found_source=source_of(odd),
        means="one part number with two prices: one is wrong, or it names two parts; it is unknown "
        "which price belongs to which part.",
        cells=(place(odd, column.name), place(usual, column.name)),
    )


def _is_total(text: str) -> bool:
    return any(word in text.casefold() for word in ("total", "sum", "system"))
