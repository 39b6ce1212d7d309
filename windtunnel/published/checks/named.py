"""Relations that the names of columns state: totals, bounds of a mean, and numbers per node."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.checks.totals import COUNTED, NOT_ADDED
from windtunnel.published.judged import Trial, judged, place, shown, spans
from windtunnel.published.numbers import NumberError, Span
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

SUMS = ("sum", "total")
LEAST_PARTS = 2
MIDDLES = ("mean", "avg", "average", "median")
LOWS = ("min", "minimum", "fastest", "lowest", "smallest", "shortest")
HIGHS = ("max", "maximum", "slowest", "highest", "largest", "longest")
MOST = 0.8
"""Fraction of the rows that must have the same number of nodes."""
MOST_ROWS = 1000
SHARED = ("node", "host", "server", "machine", "worker", "disk", "core", "task")


def named(case: Case) -> Iterator[Point]:
    """Relations within the rows that the names of the columns state."""
    for profile in case.profiles.values():
        if len(profile.table.rows) <= MOST_ROWS:
            yield from _sums(profile)
            yield from _bounds(profile)
            yield from _shares(profile)
            yield from _efficiencies(profile)
            yield from _prices(profile)


# --- sums -----------------------------------------------------------------------------------


def _sums(profile: Profile) -> Iterator[Point]:
    """A column named sum or total that is the sum of all other columns of its unit."""
    for whole in profile.numbers:
        if not whole.has(*SUMS) or not whole.dimension or whole.dimension in ("ratio", "mixed"):
            continue
        parts = [
            c
            for c in profile.numbers
            if c is not whole and c.dimension == whole.dimension and not c.has(*NOT_ADDED, *SUMS)
        ]
        if len(parts) < LEAST_PARTS or any(c.has(*SUMS) for c in parts):
            continue
        found = judged(_added(profile, whole, parts))
        good = [t for t in found.fitting if t.informative]
        if not good or len(good) <= len(found.failing):
            continue
        for trial in found.failing:
            names = " + ".join(c.name for c in parts)
            numbers = ", ".join(f"{c.name} {trial.row[c.name]}" for c in parts)
            yield _point(
                profile,
                (whole, *parts),
                trial.row,
                f"{whole.name} = {names}",
                f"{shown(trial.found.value, whole, trial.row)} from {numbers}",
                "the parts do not add up to the total of this row; those of the other rows do.",
            )


def _added(profile: Profile, whole: Column, parts: Sequence[Column]) -> Iterator[Trial]:
    for row in profile.table.rows:
        numbers = spans(profile, row, (whole, *parts))
        if numbers is not None and sum(n.value != 0 for n in numbers[1:]) >= LEAST_PARTS:
            total = numbers[1]
            for number in numbers[2:]:
                total = total + number
            yield Trial(row, numbers[0], total)


def _point(
    profile: Profile, columns: Sequence[Column], row: Row, text: str, found: str, means: str
) -> Point:
    return Point(
        check="relations",
        severity="serious",
        subject=f"{text}: {profile.label(row)}",
        stated=f"{columns[0].name} {row[columns[0].name]}",
        stated_source=source_of(row),
        found=found,
        found_source=source_of(row),
        means=means,
        cells=tuple(place(row, c.name) for c in columns),
    )


# --- bounds ---------------------------------------------------------------------------------


def _bounds(profile: Profile) -> Iterator[Point]:
    """A mean or a median between the minimum and the maximum of its row."""
    for middle in profile.numbers:
        if not middle.has(*MIDDLES) or middle.has(*LOWS, *HIGHS):
            continue
        low, high = (_beside(profile, middle, words) for words in (LOWS, HIGHS))
        if low is None or high is None:
            continue
        outside = [
            (row, numbers)
            for row in profile.table.rows
            if (numbers := spans(profile, row, (middle, low, high)))
            and (numbers[0].high < numbers[1].low or numbers[0].low > numbers[2].high)
        ]
        if len(outside) > max(1, 0.2 * len(profile.table.rows)):
            continue  # these columns are about different things
        for row, numbers in outside:
            below = numbers[0].high < numbers[1].low
            other, word = (low, "below") if below else (high, "above")
            yield _point(
                profile,
                (middle, other),
                row,
                f"{low.name} <= {middle.name} <= {high.name}",
                f"{other.name} {row[other.name]}",
                f"a mean cannot be {word} the {'smallest' if below else 'largest'} number.",
            )


def _beside(profile: Profile, middle: Column, words: Sequence[str]) -> Column | None:
    """The column with the same name but for the word of the statistic."""
    rest = middle.words - {*MIDDLES}
    found = [
        c
        for c in profile.numbers
        if c.has(*words)
        and (c.dimension, c.factor) == (middle.dimension, middle.factor)
        and c.words - {*words} == rest
    ]
    return found[0] if len(found) == 1 else None


# --- numbers per node -----------------------------------------------------------------------


def _shares(profile: Profile) -> Iterator[Point]:
    """A number per node: the number of nodes is the same in nearly all rows."""
    for share in profile.numbers:
        if not share.has("per") or not share.has(*SHARED) or share.dimension in ("ratio", "mixed"):
            continue
        of_all, _, each = share.dimension.rpartition("/")  # B/s/node
        dimension = of_all if each in SHARED else share.dimension
        for whole in profile.numbers:
            same = (whole.dimension, whole.factor) == (dimension, share.factor)
            if whole is share or not same or not share.dimension or whole.has("per"):
                continue
            yield from _share(profile, share, whole)


def _share(profile: Profile, share: Column, whole: Column) -> Iterator[Point]:
    rows = [
        (row, numbers)
        for row in profile.table.rows
        if (numbers := spans(profile, row, (share, whole))) and numbers[0].value > 0
    ]
    if len(rows) < 4:
        return
    nodes = round(statistics.median(n[1].value / n[0].value for _, n in rows))
    if nodes < 2:
        return
    trials = []
    for row, numbers in rows:
        try:
            trials.append(Trial(row, numbers[0], numbers[1] / Span.exact(nodes)))
        except NumberError:
            continue
    found = judged(trials)
    if not found.accepted or len(found.fitting) < MOST * len(trials):
        return
    for trial in found.failing:
        yield _point(
            profile,
            (share, whole),
            trial.row,
            f"{share.name} = {whole.name} / {nodes}",
            f"{shown(trial.found.value, share)} from {whole.name} {trial.row[whole.name]}",
            f"in the other rows, the total is {nodes} times this number.",
        )


# --- efficiency and prices ------------------------------------------------------------------


def _efficiencies(profile: Profile) -> Iterator[Point]:
    """Efficiency = speed-up / how many times more nodes than the row with a speed-up of 1."""
    efficiencies = [c for c in profile.numbers if c.has("efficiency") and c.dimension == "ratio"]
    speedups = [c for c in profile.numbers if c.has("speedup", "speed") and c.dimension == "ratio"]
    counts = [c for c in profile.numbers if c.has(*SHARED) and not c.dimension and not c.decimals]
    if not len(efficiencies) == len(speedups) == len(counts) == 1:
        return
    columns = (efficiencies[0], speedups[0], counts[0])
    rows = [
        (row, numbers)
        for row in profile.table.rows
        if (numbers := spans(profile, row, columns)) and numbers[2].value > 0
    ]
    bases = {numbers[2].value for _, numbers in rows if numbers[1].value == 1}
    if len(bases) != 1:
        return
    base = bases.pop()
    found = judged(
        Trial(row, numbers[0], numbers[1] * Span.exact(base / numbers[2].value))
        for row, numbers in rows
    )
    if not found.accepted or len(found.fitting) < MOST * len(rows):
        return
    for trial in found.failing:
        yield _point(
            profile,
            columns,
            trial.row,
            f"{columns[0].name} = {columns[1].name} / ({columns[2].name} / {base:g})",
            f"{shown(trial.found.value, columns[0])} from {columns[1].name} "
            f"{trial.row[columns[1].name]} and {columns[2].name} {trial.row[columns[2].name]}",
            "the numbers of this row contradict each other; the other rows agree.",
        )


def _prices(profile: Profile) -> Iterator[Point]:
    """A price that is the same multiple of a number of parts in all rows but one."""
    for price in profile.numbers:
        if not price.dimension.startswith("price") or price.has(*NOT_ADDED):
            continue
        for count in profile.numbers:
            if not count.has(*COUNTED) or count.dimension or count.decimals:
                continue
            rows = [
                (row, numbers)
                for row in profile.table.rows
                if (numbers := spans(profile, row, (price, count))) and numbers[1].value > 0
            ]
            if len({numbers[1].value for _, numbers in rows}) < 4:
                continue
            each = statistics.median(n[0].value / n[1].value for _, n in rows)
            found = judged(Trial(r, n[0], Span.exact(each * n[1].value)) for r, n in rows)
            values = {t.stated.value for t in found.fitting}
            if len(found.failing) != 1 or len(values) < 3:
                continue
            trial = found.failing[0]
            yield _point(
                profile,
                (price, count),
                trial.row,
                f"{price.name} = {count.name} x {each:.6g}",
                f"{shown(trial.found.value, price)} from {count.name} {trial.row[count.name]}",
                f"in all other rows, {price.name} / {count.name} is {each:.6g}.",
            )
