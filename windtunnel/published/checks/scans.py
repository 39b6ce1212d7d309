"""Scans of every table that need no hint: duplicates, impossible numbers, outliers, moved cells."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.checks.listings import layouts, lists_settings, names_settings
from windtunnel.published.judged import place, spans
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

POSITIVE = frozenset({"s", "J", "W", "B", "B/s", "Hz"})
"""Dimensions of quantities that cannot be negative."""
MEASURED = frozenset({"s", "J", "W"})
"""Dimensions of results: the others can differ by any factor between rows."""
SPREAD_NAMES = ("sd", "std", "stdev", "stddev", "deviation", "margin", "half", "tdp")
OUTLIER = math.log(2.5)
"""An outlier differs from the others by a factor of 2.5 at least, and by 10 times their spread."""
RESIDUAL = math.log(1.7)
"""The same for what the labels do not explain."""
SPREADS = 10.0
NEIGHBOURS = 2
"""Units of the last digit in which results differ that are equal otherwise."""
PLACES = ("place", "page", "section", "chapter", "where", "figure", "table", "source", "line")
"""Columns without a unit that say where a number is printed: "abstract", "3.1", "7"."""

# Parts of a job that can be absent: TeraGen has no reduce tasks, a short task no collection.
OFTEN_ABSENT = (
    *("reduce", "shuffle", "merge", "gc", "wait", "waiting", "idle", "queue", "queued"),
    *("overhead", "swap", "steal", "retry", "retries", "cleanup", "spill", "spilled"),
)


def duplicates(case: Case) -> Iterator[Point]:
    """Rows that are equal in all cells but their source."""
    for profile in case.profiles.values():
        columns = [c.name for c in profile.columns.values() if c.kind != "source"]
        groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in profile.table.rows:
            groups[tuple(row[c] for c in columns)].append(row)
        twins = [rows for rows in groups.values() if len(rows) > 1]
        # Without a column that identifies the rows, equal results can be two runs.
        coarse = not any(c.kind in ("id", "moment") for c in profile.columns.values())
        named = Counter(tuple(r[c.name] for c in profile.labels) for r in profile.table.rows)
        repeated = sum(count > 1 for count in named.values())
        if coarse and repeated > len(twins) and repeated > 0.3 * len(named):
            continue
        seen: set[tuple[str, ...]] = set()
        for rows in twins:
            key = tuple(rows[0][c] for c in columns if c not in _places(profile))
            if key in seen:
                continue  # The same pair in a second place is a copy of the first.
            seen.add(key)
            yield Point(
                check="duplicates",
                severity="caution",
                subject=f"{rows[0].file.rsplit('/', 1)[-1]}, the same row {len(rows)} times: "
                f"{profile.label(rows[0])}",
                stated=profile.label(rows[0]),
                stated_source=source_of(rows[0]),
                found=profile.label(rows[1]),
                found_source=sources_in_words(source_of(r) for r in rows[1:]),
                means="a row was copied, or one of the two should have another name or value.",
                cells=tuple(place(r) for r in rows),
            )


def _places(profile: Profile) -> set[str]:
    return {c.name for c in profile.labels if c.has("variant", "place", "document", "campaign")}


# --- single cells ---------------------------------------------------------------------------


def impossible(case: Case) -> Iterator[Point]:
    """Zeros and negative numbers where there can be none, and cells of another kind."""
    for profile in case.profiles.values():
        for column in profile.numbers:
            yield from _kind(profile, column)
            numbers = [
                (row, s[0].value)
                for row in profile.table.rows
                if not _derived(row) and row[column.name] and (s := spans(profile, row, [column]))
            ]
            if len(numbers) < 2:
                continue
            yield from _signs(profile, column, numbers)


def _derived(row: Row) -> bool:
    """Whether a row was computed from another table, where its numbers are checked."""
    return row.cells.get("source", "").startswith("derived from ")


def _signs(
    profile: Profile, column: Column, numbers: Sequence[tuple[Row, float]]
) -> Iterator[Point]:
    changes = column.has("delta", "change", "difference", "gain", "pct", "percent")
    ratio = column.dimension == "ratio" and not column.has("relative", "ratio", "speedup")
    signed = ratio or changes
    negative = [row for row, value in numbers if value < 0]
    if column.unit_column == "unit":  # settings can be -1, quantities with a unit cannot
        words = ("", "percent", "%", "pct")
        negative = [row for row in negative if row["unit"].casefold() not in words]
    if not signed and negative and len(negative) <= max(1, 0.1 * len(numbers)):
        for row in negative:
            why = "a time, a size, a rate, a power or a count cannot be negative."
            yield _cell(profile, column, row, "the other numbers are positive", why)
    zeros = [row for row, value in numbers if value == 0]
    rest = [abs(value) for _, value in numbers if value]
    if (signed or column.dimension == "mixed") or not zeros or len(rest) < 2:
        return
    measured = (
        column.dimension in POSITIVE
        or column.dimension == "ratio"
        or column.dimension.startswith("price")
    )
    if column.has(*OFTEN_ABSENT):
        return
    rare = len(zeros) <= max(1, 0.03 * len(numbers))
    far = min(rest) > 10 or (measured and min(rest) > 0 and len(rest) >= 3)
    if rare and far and (measured or len(rest) >= 6):
        why = "a sample is missing or was not read: 0 is not a measured value here."
        scale = abs(_factor(profile, column, next(r for r, v in numbers if v)))
        point = _cell(
            profile, column, zeros[0], f"the others are {min(rest) / scale:.4g} and more", why
        )
        more = f" and {len(zeros) - 1} more" if len(zeros) > 1 else ""
        cells = tuple(place(row, column.name) for row in zeros)
        yield replace(point, subject=point.subject + more, cells=cells)


def _kind(profile: Profile, column: Column) -> Iterator[Point]:
    """A word in a column of numbers: cells moved to the side."""
    if column.dimension == "mixed" or len(profile.table.rows) < 5 or column.in_cell:
        return
    if lists_settings(profile) or (not column.dimension and column.has(*PLACES)):
        return  # words and numbers are both normal here
    odd = [r for r in profile.table.rows if r[column.name] and not _numeric(r[column.name])]
    odd = [r for r in odd if not re.fullmatch(r"[\d.]+", r[column.name])]  # numbers of sections
    if odd and len(odd) <= max(1, 0.1 * len(profile.table.rows)):
        for row in odd:
            why = "cells of this row are in the wrong columns, or a number was not read."
            yield _cell(profile, column, row, "the other cells are numbers", why)


def _numeric(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _cell(profile: Profile, column: Column, row: Row, found: str, means: str) -> Point:
    return Point(
        check="impossible",
        severity="serious",
        subject=f"{column.name} {row[column.name]}: {profile.label(row)}",
        stated=f"{column.name} {row[column.name]}",
        stated_source=source_of(row),
        found=found,
        found_source="the same column",
        means=means,
        cells=(place(row, column.name),),
    )


# --- outliers -------------------------------------------------------------------------------


def outliers(case: Case) -> Iterator[Point]:
    """A value far from its repetitions, or from what its row and column factors explain."""
    for profile in case.profiles.values():
        if not 4 <= len(profile.table.rows) <= 1000:
            continue
        factors = _factors(profile)
        for column in profile.numbers:
            if column.dimension not in MEASURED or not factors or column.has(*SPREAD_NAMES):
                continue
            values = [
                (row, math.log(s[0].value))
                for row in profile.table.rows
                if (s := spans(profile, row, [column])) and s[0].value > 0
            ]
            found = list(_among_repetitions(profile, values)) or _residuals(factors, values)
            for row, expected in found[:3]:
                yield Point(
                    check="outliers",
                    severity="caution",
                    subject=f"{column.name} {row[column.name]}: {profile.label(row)}",
                    stated=f"{column.name} {row[column.name]}",
                    stated_source=source_of(row),
                    found=f"{math.exp(expected) / _factor(profile, column, row):.4g} from the "
                    "other rows",
                    found_source="the same column",
                    means="far from its repetitions and neighbours: digits, the decimal point or "
                    "the unit may be wrong.",
                    cells=(place(row, column.name),),
                )


def _factor(profile: Profile, column: Column, row: Row) -> float:
    number = number_in(row[column.name])
    usable = number and math.isfinite(number)
    return profile.span(row, column).value / number if usable else column.factor


def _factors(profile: Profile) -> list[str]:
    """Labels with repeated values: they may explain the results."""
    rows = profile.table.rows
    return [
        c.name
        for c in profile.labels
        if 2 <= len({r[c.name] for r in rows}) <= max(2, len(rows) // 2) and not c.has("unit")
    ]


def _among_repetitions(
    profile: Profile, values: Sequence[tuple[Row, float]]
) -> Iterator[tuple[Row, float]]:
    """Values against the other runs of the same labels; ids and moments differ between runs."""
    names = [c.name for c in profile.labels if not c.has("unit")]
    groups: dict[tuple[str, ...], list[tuple[Row, float]]] = defaultdict(list)
    for row, value in values:
        groups[tuple(row[n] for n in names)].append((row, value))
    many = [g for g in groups.values() if len(g) >= 3]
    if not many:
        return
    off = [abs(v - statistics.median(x for _, x in g)) for g in many for _, v in g]
    usual = statistics.median(off)
    for group in many:
        for row, value in group:
            rest = [x for r, x in group if r is not row]
            middle = statistics.median(rest)
            apart = abs(value - middle)
            if apart > max(OUTLIER, SPREADS * usual) and apart > 3 * (max(rest) - min(rest)):
                yield row, middle


def _residuals(
    factors: Sequence[str], values: Sequence[tuple[Row, float]]
) -> list[tuple[Row, float]]:
    """Values that no product of one factor per label explains (median polish of logarithms)."""
    if len(values) < 12 or not _crossed(factors, values):
        return []
    rest = [value for _, value in values]
    for _ in range(6):
        for name in factors:
            groups: dict[str, list[int]] = defaultdict(list)
            for at, (row, _) in enumerate(values):
                groups[row[name]].append(at)
            for members in groups.values():
                middle = statistics.median(rest[at] for at in members)
                for at in members:
                    rest[at] -= middle
    usual = statistics.median(abs(r) for r in rest)
    alone = Counter(tuple(row[n] for n in factors[:1]) for row, _ in values)
    found = [
        (row, value - left)
        for (row, value), left in zip(values, rest, strict=True)
        if abs(left) > max(RESIDUAL, SPREADS * usual)
        and alone[tuple(row[n] for n in factors[:1])] > 2
    ]
    return found if len(found) == 1 else []  # several are an effect of their labels


def _crossed(factors: Sequence[str], values: Sequence[tuple[Row, float]]) -> bool:
    """Whether two labels occur in most of their combinations: only then they explain a value."""
    for a, b in combinations(factors, 2):
        pairs = {(row[a], row[b]) for row, _ in values}
        sizes = [len({row[n] for row, _ in values}) for n in (a, b)]
        if min(sizes) >= 2 and len(pairs) >= 0.7 * sizes[0] * sizes[1] and max(sizes) >= 3:
            return True
    return False


def number_in(text: str) -> float:
    """The number at the start of a cell, also of ``90s``; infinite without one."""
    found = re.match(r"\s*(-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?)", text, re.ASCII)
    return float(found[1]) if found else math.inf


# --- what the rest of the table determines --------------------------------------------------


def determined(case: Case) -> Iterator[Point]:
    """A cell that differs where the same labels have the same value in all other groups."""
    for profile in case.profiles.values():
        rows = profile.table.rows
        if not 6 <= len(rows) <= 3000:
            continue
        labels = [c.name for c in profile.labels if 2 <= len({r[c.name] for r in rows}) < len(rows)]
        compared = _compared_elsewhere(profile)
        measured = {m.column for m in case.mapped.metrics.values()} if case.mapped else set()
        seen: set[str] = set()
        for size in (1, 2):
            for keys in combinations(labels, size):
                for column in profile.columns.values():
                    if column.name in keys or column.kind not in ("word", "number"):
                        continue
                    if column.name in compared:
                        continue
                    if column.name in measured and column.dimension in MEASURED:
                        continue  # Repetitions differ: they are only equal if they were rounded.
                    for row, usual, group in _exceptions(rows, keys, column.name):
                        cell = place(row, column.name)
                        if cell in seen or _neighbours(column, row[column.name], usual):
                            continue
                        seen.add(cell)
                        words = ", ".join(row[k] for k in keys)
                        yield Point(
                            check="determined",
                            rule=8,
                            severity="serious",
                            subject=f"{column.name} of {words}: {profile.label(row)}",
                            stated=f"{column.name} {row[column.name] or '(empty)'}",
                            stated_source=source_of(row),
                            found=f"{column.name} {usual} in {group} other rows of {words}",
                            found_source="the same table",
                            means="a label is exchanged, a cell was moved or copied, or the "
                            f"setting differed: in all other groups {column.name} follows from "
                            f"{' and '.join(keys)}.",
                            cells=(cell, *(place(row, k) for k in keys), place(row)),
                        )


def _neighbours(column: Column, text: str, usual: str) -> bool:
    """Whether two results differ only in the last digits: equal ones were equal by chance."""
    if column.kind != "number" or column.exact or column.decimals == 0:
        return False
    try:
        difference = abs(float(text) - float(usual))
    except ValueError:
        return False
    return difference <= (NEIGHBOURS + 0.5) * 10.0**-column.decimals


def _compared_elsewhere(profile: Profile) -> set[str]:
    """Values of settings by place: the check of two values compares them.

    A setting of one treatment can differ on purpose, and most settings are equal everywhere.
    """
    return {
        column.name
        for item, _, columns in layouts(profile)
        if names_settings(profile, item)
        for column in columns
    }


def _exceptions(
    rows: Sequence[Row], keys: tuple[str, ...], column: str
) -> list[tuple[Row, str, int]]:
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row[column] and all(row[k] for k in keys):
            groups[tuple(row[k] for k in keys)].append(row)
    many = [g for g in groups.values() if len(g) >= 2]
    same = [g for g in many if len({r[column] for r in g}) == 1]
    broken = [g for g in many if len({r[column] for r in g}) > 1]
    values = {g[0][column] for g in same}
    if not broken or len(broken) > 2 or len(values) < 2 or len(same) < 2 * len(broken):
        return []
    if sum(map(len, same)) < 3 * len(same) and len(same) < 4:
        return []
    found = []
    for group in broken:
        counts = Counter(r[column] for r in group)
        usual, most = counts.most_common(1)[0]
        odd = [r for r in group if r[column] != usual]
        if most < 2 or len(odd) != 1:
            return []
        found.append((odd[0], usual, most))
    return found
