"""The same quantity in two tables: numbers that are equal in nearly all rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.judged import Trial, judged, place, spans
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

MOST_ROWS = 200
DIGITS = 4
"""Equal numbers with this many digits are not equal by chance."""
LEAST = 2
MOST_FAILING = 0.34
MOST_VALUES = 12
"""Values of a column that selects rows, such as the number of a repetition."""


def twins(case: Case) -> Iterator[Point]:
    """Numbers of one table that another one repeats, but for a few."""
    tables = [p for p in case.profiles.values() if len(p.table.rows) <= MOST_ROWS]
    for a, b in combinations(tables, 2):
        first, second = sorted((a, b), key=lambda p: len(p.table.rows))
        yield from _compared(first, second)


def _compared(small: Profile, large: Profile) -> Iterator[Point]:
    keys = [
        c.name
        for c in small.labels
        if (other := large.columns.get(c.name)) and other.kind == "word" and not c.has("unit")
    ]
    own = _by_keys(small.table.rows, keys)
    if not keys or any(len(rows) > 1 for rows in own.values()) or len(own) < LEAST + 1:
        return
    best: dict[str, list[Trial]] = {}
    columns: dict[str, Column] = {}
    for rows in _selections(large, keys):
        theirs = {key: found[0] for key, found in _by_keys(rows, keys).items()}
        pairs = [(own[key][0], theirs[key]) for key in own if key in theirs]
        for x in small.numbers:
            for y in large.numbers:
                if x.dimension != y.dimension or not x.dimension or x.dimension == "mixed":
                    continue
                trials = list(_trials(small, large, x, y, pairs))
                if _same(trials, x) and _fitting(trials) > _fitting(best.get(x.name, [])):
                    best[x.name], columns[x.name] = trials, y
    for name, trials in best.items():
        for trial in judged(trials).failing:
            yield _point(small, name, columns[name], trial)


def _fitting(trials: Sequence[Trial]) -> int:
    return sum(t.fits for t in trials)


def _by_keys(rows: Sequence[Row], keys: Sequence[str]) -> Mapping[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[k] for k in keys)].append(row)
    return found


def _selections(profile: Profile, keys: Sequence[str]) -> Iterator[Sequence[Row]]:
    """All rows, or those with one value of another column, if the keys are unique there."""
    others = [
        c.name
        for c in profile.columns.values()
        if c.kind in ("word", "id") or (c.kind == "number" and not c.dimension and not c.decimals)
    ]
    choices = [list(profile.table.rows)]
    for name in others:
        if name not in keys:
            values = dict.fromkeys(row[name] for row in profile.table.rows)
            if len(values) <= MOST_VALUES:
                choices += [[r for r in profile.table.rows if r[name] == v] for v in values]
    for rows in choices:
        if len(rows) > LEAST and all(len(found) == 1 for found in _by_keys(rows, keys).values()):
            yield rows


def _trials(
    small: Profile, large: Profile, x: Column, y: Column, pairs: Sequence[tuple[Row, Row]]
) -> Iterator[Trial]:
    for row, other in pairs:
        one, two = spans(small, row, [x]), spans(large, other, [y])
        if one is not None and two is not None and one[0].value:
            yield Trial(row, one[0], two[0], (other,))


def _same(trials: Sequence[Trial], column: Column) -> bool:
    """Whether so many digits agree in so many rows that the columns are the same quantity."""
    found = judged(trials)
    fine = {
        t.row[column.name]
        for t in found.fitting
        if t.informative and len(t.row[column.name].replace(".", "").strip("0")) >= DIGITS - 1
    }
    digits = [len(cell.replace(".", "").strip("0")) for cell in fine]
    certain = len(fine) >= LEAST if digits and min(digits) >= DIGITS else len(fine) > 2 * LEAST
    few = len(found.failing) <= max(1, MOST_FAILING * len(trials)) and len(found.failing) < len(
        found.fitting
    )
    return certain and few


def _point(small: Profile, name: str, column: Column, trial: Trial) -> Point:
    other = trial.others[0]
    return Point(
        check="twins",
        severity="serious",
        subject=f"{name} = {column.name} of {other.file.rsplit('/', 1)[-1]}: "
        f"{small.label(trial.row)}",
        stated=f"{name} {trial.row[name]}",
        stated_source=source_of(trial.row),
        found=f"{column.name} {other[column.name]}",
        found_source=source_of(other),
        means="two tables give different numbers for the same thing; the other rows agree.",
        cells=(place(trial.row, name), place(other, column.name)),
    )
