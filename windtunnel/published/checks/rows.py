"""Relations between the numbers of one row, found from their units alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.judged import Judged, Trial, judged, place, shown, spans
from windtunnel.published.numbers import NumberError, Span
from windtunnel.published.profile import COUNTS, Column, Profile
from windtunnel.published.table import Row

MOST_COLUMNS = 16
"""Columns of one dimension in which sums and ratios are searched."""
MOST_ROWS = 1000
KNOWN_FACTORS = {
    1000.0: "1,000: a unit with and without 'kilo'",
    1e6: "1,000,000: two steps of a unit",
    60.0: "60: minutes and seconds",
    3600.0: "3,600: hours and seconds",
    8.0: "8: bytes and bits",
    1.024: "1.024: kB and KiB",
    1.048576: "1.049: MB and MiB",
    1.073741824: "1.074: GB and GiB",
    1.099511627776: "1.1: TB and TiB",
    100.0: "100: a fraction and a percentage",
}

Formula = Callable[[Sequence[Span]], Span]


@dataclass(frozen=True)
class Relation:
    """``stated`` = formula of ``parts``; ``declared`` if it follows from the dimensions alone."""

    stated: Column
    parts: tuple[Column, ...]
    formula: Formula
    text: str
    declared: bool = False


def relations(case: Case) -> Iterator[Point]:
    """Energy = power x time, size = rate x time, totals, ratios and percentages of each row."""
    for profile in case.profiles.values():
        yield from _elapsed(profile)
        yield from _windows(profile)
        if len(profile.table.rows) > MOST_ROWS:
            continue  # a series of samples
        seen: set[str] = set()
        for relation in _candidates(profile):
            found = judged(_trials(profile, relation))
            if relation.declared and (points := list(_whole_column(profile, relation, found))):
                yield from points
                continue
            if not (found.accepted or (relation.declared and _believed(found))):
                continue
            for trial in found.failing:
                if (cell := place(trial.row, relation.stated.name)) not in seen:
                    seen.add(cell)
                    yield _point(profile, relation, trial)


def _believed(found: Judged) -> bool:
    """A relation of physics holds for half of the rows, or for the only row."""
    return found.holds_for_some or (len(found.failing) == 1 and not found.fitting)


def _trials(profile: Profile, relation: Relation) -> Iterator[Trial]:
    for row in profile.table.rows:
        numbers = spans(profile, row, (relation.stated, *relation.parts))
        if numbers is None or all(n.value == 0 for n in numbers[1:]):
            continue
        try:
            yield Trial(row, numbers[0], relation.formula(numbers[1:]))
        except NumberError:
            continue


def _point(profile: Profile, relation: Relation, trial: Trial) -> Point:
    columns = (relation.stated, *relation.parts)
    parts = ", ".join(f"{c.name} {trial.row[c.name]}" for c in relation.parts)
    return Point(
        check="relations",
        severity="serious",
        subject=f"{relation.stated.name} = {relation.text}: {profile.label(trial.row)}",
        stated=f"{relation.stated.name} {trial.row[relation.stated.name]}",
        stated_source=source_of(trial.row),
        found=f"{shown(trial.found.value, relation.stated, trial.row)} from {parts}",
        found_source=source_of(trial.row),
        means="the numbers of this row contradict each other; the other rows agree."
        if not relation.declared
        else "the numbers of this row contradict each other: one of them is wrong, or has "
        "another unit or covers another time.",
        cells=tuple(place(trial.row, c.name) for c in columns),
    )


def _whole_column(profile: Profile, relation: Relation, found: Judged) -> Iterator[Point]:
    """A column in another unit than its name says, or moved by one row."""
    factor = found.factor()
    if factor is not None:
        near = [k for k in KNOWN_FACTORS if abs(max(factor, 1 / factor) / k - 1) < 0.015]
        if near:
            first = found.failing[0]
            point = _point(profile, relation, first)
            yield Point(
                **{
                    **{f: getattr(point, f) for f in Point.__dataclass_fields__},
                    "subject": f"unit of {relation.stated.name} = {relation.text}, all "
                    f"{len(found.failing)} rows",
                    "means": "all rows differ by the same factor, near "
                    f"{KNOWN_FACTORS[near[0]]}; the unit of one column is wrong.",
                    "cells": tuple(place(t.row, relation.stated.name) for t in found.failing),
                }
            )
        return
    rows = list(profile.table.rows)
    if len(rows) < 5 or len(found.fitting) >= 0.5 * len(rows):
        return
    for column in (relation.stated, *relation.parts):
        for step in (1, -1):
            moved = _moved(profile, relation, column, step)
            if len(moved.fitting) >= 4 and len(moved.fitting) >= 0.8 * len(
                [*moved.fitting, *moved.failing]
            ):
                lines = [t.row for t in found.failing]
                yield Point(
                    check="relations",
                    severity="serious",
                    subject=f"column {column.name} is moved by one row",
                    stated=f"{relation.stated.name} = {relation.text} holds in "
                    f"{len(found.fitting)} of {len(rows)} rows",
                    stated_source=source_of(lines[0]),
                    found=f"it holds in {len(moved.fitting)} rows if {column.name} is moved",
                    found_source=source_of(lines[0]),
                    means="the cells of this column belong to the rows next to them.",
                    cells=tuple(place(row, column.name) for row in lines),
                )
                return


def _moved(profile: Profile, relation: Relation, column: Column, step: int) -> Judged:
    rows = list(profile.table.rows)
    trials = []
    for at, row in enumerate(rows):
        if not 0 <= at + step < len(rows):
            continue
        cells = {**row.cells, column.name: rows[at + step][column.name]}
        mixed = Row(cells, row.line, row.file)
        numbers = spans(profile, mixed, (relation.stated, *relation.parts))
        if numbers is None:
            continue
        try:
            trials.append(Trial(row, numbers[0], relation.formula(numbers[1:])))
        except NumberError:
            continue
    return judged(trials)


def record_sizes(case: Case) -> Iterator[Point]:
    """Bytes = rows x record size: a record has the same size in all rows of a phase or workload."""
    for profile in case.profiles.values():
        counts = [c for c in profile.numbers if c.dimension in COUNTS and c.dimension != "samples"]
        sizes = [c for c in profile.numbers if c.dimension == "B"]
        if len(profile.table.rows) > MOST_ROWS:
            continue
        for count in counts:
            for size in sizes:
                yield from _record_size(profile, count, size)


def _record_size(profile: Profile, count: Column, size: Column) -> Iterator[Point]:
    """The label with the most rows that agree decides which rows have records of one size."""
    best: Judged | None = None
    for label in (None, *(c.name for c in profile.labels)):
        groups: dict[str, list[tuple[Row, Span, Span]]] = {}
        for row in profile.table.rows:
            numbers = spans(profile, row, (size, count))
            if numbers and numbers[1].low > 0 and numbers[0].value > 0:
                groups.setdefault(row[label] if label else "", []).append(
                    (row, numbers[0], numbers[1])
                )
        trials = []
        for members in groups.values():
            ratios = sorted(b.value / n.value for _, b, n in members)
            usual = Span.exact(ratios[len(ratios) // 2])
            if len(members) >= 3:
                trials += [Trial(row, b, n * usual, ()) for row, b, n in members]
        found = judged(trials)
        varied = len({t.found.value for t in found.fitting}) > 1
        strict = len(found.fitting) >= 0.9 * len(trials) and varied and found.fitting
        if strict and (best is None or len(found.fitting) > len(best.fitting)):
            best = found
    for trial in best.failing if best else ():
        yield Point(
            check="relations",
            rule=5,
            severity="serious",
            subject=f"{size.name} = {count.name} x size of a record: {profile.label(trial.row)}",
            stated=f"{size.name} {trial.row[size.name]}",
            stated_source=source_of(trial.row),
            found=f"{shown(trial.found.value, size, trial.row)} from {count.name} "
            f"{trial.row[count.name]} and the record size of the other rows",
            found_source=source_of(trial.row),
            means="the data set was not of the stated size, or one of the two numbers is wrong.",
            cells=(place(trial.row, size.name), place(trial.row, count.name)),
        )


# --- which relations are possible -----------------------------------------------------------


def _candidates(profile: Profile) -> Iterator[Relation]:
    by: dict[str, list[Column]] = {}
    for column in profile.numbers:
        if column.dimension != "mixed":
            by.setdefault(column.dimension, []).append(column)
    yield from _products(by)
    yield from _conversions(by)
    ratios = by.get("ratio", [])
    for dimension, columns in by.items():
        if dimension == "ratio" or len(columns) > MOST_COLUMNS:
            continue
        for ratio in ratios:
            for a, b in permutations(columns, 2):
                yield from _ratios(ratio, a, b)
        yield from _sums(columns)
    for price in (c for d, cs in by.items() if d.startswith("price") for c in cs):
        others = [c for c in by[price.dimension] if c is not price]
        for each in others:
            for count in by.get("", []):
                if count.has("quantity", "count", "number", "qty", "unit"):
                    text = f"{count.name} x {each.name}"
                    yield Relation(price, (count, each), lambda p: p[0] * p[1], text)


def _products(by: dict[str, list[Column]]) -> Iterator[Relation]:
    """Relations of physics: the dimensions of both sides are equal."""
    pairs = [("J", "W", "s"), ("B", "B/s", "s"), *((c, f"{c}/s", "s") for c in COUNTS)]
    for whole, rate, time in pairs:
        for c in by.get(whole, []):
            for a in by.get(rate, []):
                for b in by.get(time, []):
                    only = all(len(by[d]) == 1 for d in (whole, rate, time))
                    near = _one_each(by, whole, rate, time, (c, a, b))
                    text = f"{a.name} x {b.name}"
                    multiply: Formula = lambda p: p[0] * p[1]  # noqa: E731
                    yield Relation(c, (a, b), multiply, text, declared=only or near)


def _one_each(
    by: dict[str, list[Column]], whole: str, rate: str, time: str, chosen: tuple[Column, ...]
) -> bool:
    """Whether these are the only columns with such names: 'avg_power_w' and not 'cpu_tdp_w'."""
    names = {"J": ("energy",), "W": ("power",), "s": ("elapsed", "duration", "time", "second")}
    for dimension, column in zip((whole, rate, time), chosen, strict=True):
        if len(by[dimension]) == 1:
            continue
        if dimension not in names:
            return False
        fitting = [c for c in by[dimension] if c.has(*names[dimension]) and not c.has("cpu")]
        if fitting != [column]:
            return False
    return True


def _conversions(by: dict[str, list[Column]]) -> Iterator[Relation]:
    """The same number in two units: ``elapsed_min`` and ``elapsed_s``."""
    for columns in by.values():
        for a, b in combinations(columns, 2):
            if a.factor != b.factor or a.unit_column or b.unit_column or a.in_cell != b.in_cell:
                yield Relation(b, (a,), lambda p: p[0], a.name)


def _ratios(ratio: Column, a: Column, b: Column) -> Iterator[Relation]:
    one = Span.exact(1.0)
    x, y = a.name, b.name
    yield Relation(ratio, (a, b), lambda p: p[0] / p[1], f"{x} / {y}")
    yield Relation(ratio, (a, b), lambda p: p[0] / p[1] - one, f"{x} / {y} - 1")
    yield Relation(ratio, (a, b), lambda p: one - p[0] / p[1], f"1 - {x} / {y}")


def _sums(columns: list[Column]) -> Iterator[Relation]:
    for whole in columns:
        rest = [c for c in columns if c is not whole]
        for size in (2, 3):
            if size == 3 and len(rest) > 8:
                continue
            for parts in combinations(rest, size):
                text = " + ".join(c.name for c in parts)
                yield Relation(whole, parts, _added, text)


def _added(parts: Sequence[Span]) -> Span:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


# --- times ----------------------------------------------------------------------------------


def _pair_of_moments(profile: Profile) -> tuple[Column, Column] | None:
    starts = [c for c in profile.moments if c.has("start", "begin", "from", "started")]
    ends = [c for c in profile.moments if c.has("end", "finish", "stop", "to", "ended", "finished")]
    return (starts[0], ends[0]) if len(starts) == len(ends) == 1 else None


def _elapsed(profile: Profile) -> Iterator[Point]:
    """Finish - start = elapsed, within the resolution of the stamps."""
    pair = _pair_of_moments(profile)
    if pair is None:
        return
    times = [
        c
        for c in profile.numbers
        if c.dimension == "s" and not c.has("cpu", "interval", "granularity", "period")
    ]
    for row in profile.table.rows:
        begin, end = (profile.moment(row, c) for c in pair)
        if begin is None or end is None:
            continue
        found, slack = end[0] - begin[0], max(begin[1], end[1])
        cells = [place(row, c.name) for c in pair]
        if found < 0:
            yield _time_point(
                profile, row, pair, f"{found:,.0f} s", "the end is before the start.", cells
            )
            continue
        for column in _elapsed_columns(times):
            stated = spans(profile, row, [column])
            if stated is None:
                continue
            if not stated[0].low - slack <= found <= stated[0].high + slack:
                text = f"{shown(found, column, row)} from {pair[0].name} and {pair[1].name}"
                means = "the elapsed time is not the difference of the time stamps."
                yield _time_point(
                    profile, row, pair, text, means, [place(row, column.name), *cells], column
                )


def _elapsed_columns(times: Sequence[Column]) -> list[Column]:
    """The column of the elapsed time: the only one with such a name, or the only column of times.

    Others, such as those of a set-up or of a part, are shorter than the time between the stamps.
    """
    for word in ("elapsed", "duration", "wall", "runtime", "total", "time"):
        named = [column for column in times if column.has(word)]
        if len(named) == 1:
            return named
    return list(times) if len(times) == 1 else []


def _time_point(
    profile: Profile,
    row: Row,
    pair: tuple[Column, Column],
    found: str,
    means: str,
    cells: list[str],
    column: Column | None = None,
) -> Point:
    name = column.name if column else pair[1].name
    return Point(
        check="relations",
        severity="serious",
        subject=f"{name} = {pair[1].name} - {pair[0].name}: {profile.label(row)}",
        stated=f"{name} {row[name]}",
        stated_source=source_of(row),
        found=found,
        found_source=source_of(row),
        means=means,
        cells=tuple(cells),
    )


def _windows(profile: Profile) -> Iterator[Point]:
    """Number of samples x interval = length of the window, with or without the last interval."""
    pair = _pair_of_moments(profile)
    samples = [c for c in profile.numbers if c.has("sample")]
    intervals = [c for c in profile.numbers if c.has("interval", "granularity", "period")]
    if pair is None or len(samples) != 1:
        return
    steps: list[tuple[Row, float, float]] = []
    for row in profile.table.rows:
        begin, end = (profile.moment(row, c) for c in pair)
        count = spans(profile, row, samples)
        if begin and end and count and count[0].value > 1:
            steps.append((row, count[0].value, end[0] - begin[0]))
    if intervals:
        wanted = {
            r.line: s[0].value for r, _, _ in steps if (s := spans(profile, r, intervals[:1]))
        }
    else:
        each = sorted(length / (count - 1) for _, count, length in steps)
        usual = each[len(each) // 2] if len(each) >= 4 else None
        wanted = {r.line: usual for r, _, _ in steps if usual}
    for row, number, length in steps:
        step = wanted.get(row.line)
        if step and not (number - 2) * step - 1 <= length <= (number + 1) * step + 1:
            yield Point(
                check="relations",
                severity="serious",
                subject=f"samples x interval = length of the window: {profile.label(row)}",
                stated=f"{samples[0].name} {row[samples[0].name]}",
                stated_source=source_of(row),
                found=f"{length / step + 1:.0f} samples at {step:g} s in {length / 3600:.2f} h",
                found_source=source_of(row),
                means="samples are missing, or the window is not that of the samples.",
                cells=(place(row, samples[0].name), *(place(row, c.name) for c in pair)),
            )
