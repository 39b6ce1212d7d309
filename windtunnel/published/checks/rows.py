"""Relations between the numbers of one row, found from their units alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product

from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.checks import times
from windtunnel.published.judged import Judged, Trial, judged, place, shown, spans
from windtunnel.published.numbers import NumberError, Span
from windtunnel.published.profile import COUNTS, Column, Profile, cut
from windtunnel.published.table import Row

MOST_COLUMNS = 16
"""Columns of one dimension in which sums and ratios are searched."""
MOST_ROWS = 1000
KNOWN_FACTORS = {
    3.6: "3.6: Wh and kJ",
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

# Factors of units of one dimension; the others change any unit.
_DIMENSION_OF = {
    3.6: "J",
    60.0: "s",
    3600.0: "s",
    8.0: "B",
    1.024: "B",
    1.048576: "B",
    1.073741824: "B",
    1.099511627776: "B",
    100.0: "ratio",
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
        yield from times.elapsed(profile)
        yield from times.windows(profile)
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
    parts = ", ".join(f"{c.name} {cut(trial.row[c.name])}" for c in relation.parts)
    return Point(
        check="relations",
        severity="serious",
        subject=f"{relation.stated.name} = {relation.text}: {profile.label(trial.row)}",
        stated=f"{relation.stated.name} {cut(trial.row[relation.stated.name])}",
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
        near = _known(profile, relation, max(factor, 1 / factor))
        if near or _unexplained(found, factor):
            why = (
                f"near {KNOWN_FACTORS[near[0]]}; the unit of one column is wrong."
                if near
                else f"{factor:.4g}, within the printed digits; this is no known factor of units. "
                "One column has another unit or includes more than its name says."
            )
            yield replace(
                _point(profile, relation, found.failing[0]),
                severity="serious" if near else "caution",
                subject=f"unit of {relation.stated.name} = {relation.text}, all "
                f"{len(found.failing)} rows",
                means=f"all rows differ by the same factor, {why}",
                cells=tuple(place(t.row, relation.stated.name) for t in found.failing),
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


def _known(profile: Profile, relation: Relation, factor: float) -> list[float]:
    """The factors of units near a factor, unless it is the number of nodes or copies of the rows.

    A price per node and the cost of all nodes differ by this number.
    """
    dimensions = {
        part
        for column in (relation.stated, *relation.parts)
        for part in re.split("[/ ]", column.dimension)
    }
    counts = [c for c in profile.numbers if not c.dimension and not c.decimals]
    for column in counts:
        numbers = {
            profile.span(row, column).value for row in profile.table.rows if row[column.name]
        }
        if len(numbers) == 1 and abs(numbers.pop() / factor - 1) < 0.015:
            return []
    return [
        k
        for k in KNOWN_FACTORS
        if abs(factor / k - 1) < 0.015 and _DIMENSION_OF.get(k, "") in {"", *dimensions}
    ]


def _unexplained(found: Judged, factor: float) -> bool:
    """Whether one factor explains all rows and is no number of nodes, disks or copies.

    A power per node and an energy of all nodes differ by a whole number: this is no error.
    """
    whole = max(factor, 1 / factor)
    return found.one_factor and abs(whole - round(whole)) > 0.02 * whole


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
    yield from _costs(by)
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
                    yield Relation(price, (count, each), _multiplied, text)


def _products(by: dict[str, list[Column]]) -> Iterator[Relation]:
    """Relations of physics: the dimensions of both sides are equal."""
    pairs = [("J", "W", "s"), ("B", "B/s", "s"), *((c, f"{c}/s", "s") for c in COUNTS)]
    for dimension in by:  # mb_per_joule x joules are megabytes
        above, slash, below = dimension.rpartition("/")
        whole = above if above in by else f"price {above}"
        if slash and (whole, dimension, below) not in pairs:
            pairs.append((whole, dimension, below))
    for whole, rate, time in pairs:
        for c in by.get(whole, []):
            for a in by.get(rate, []):
                for b in by.get(time, []):
                    only = all(len(by[d]) == 1 for d in (whole, rate, time))
                    near = _one_each(by, whole, rate, time, (c, a, b))
                    text = f"{a.name} x {b.name}"
                    yield Relation(c, (a, b), _multiplied, text, declared=only or near)


def _costs(by: dict[str, list[Column]]) -> Iterator[Relation]:
    """Cost = number x price per hour x hours; declared if no other columns are possible."""
    counts = [c for c in by.get("", []) if c.exact]
    times_ = by.get("s", [])
    for dimension, costs in by.items():
        rates_ = by.get(f"{dimension.removeprefix('price ')}/s", [])
        if not dimension.startswith("price ") or not rates_:
            continue
        only = len(costs) == len(rates_) == len(times_) == len(counts) == 1
        for cost in costs:
            for chosen in product(counts, rates_, times_):
                text = " x ".join(c.name for c in chosen)
                yield Relation(cost, chosen, _multiplied, text, declared=only)


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
        named = names[dimension]
        declared = [c for c in by[dimension] if c.role in named]
        fitting = [c for c in by[dimension] if c.has(*named) and not c.has("cpu")]
        if (declared or fitting) != [column]:
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


def _multiplied(parts: Sequence[Span]) -> Span:
    total = parts[0]
    for part in parts[1:]:
        total = total * part
    return total


def _added(parts: Sequence[Span]) -> Span:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
