"""The pairs of results that a claim can mean, and what it states about each of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from windtunnel.published.checks.claim_columns import Hit, Reference, dimension
from windtunnel.published.checks.claim_words import Said
from windtunnel.published.judged import spans
from windtunnel.published.numbers import Span, geometric_mean, mean
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

MOST_CELLS = 200
RATES = frozenset({"rate"})
LESS_TIME = ("saving", "reduction", "decrease")
ONE, HUNDRED = Span.exact(1.0), Span.exact(100.0)


@dataclass(frozen=True)
class Reading:
    """Results that a claim can mean, and the numbers that it can then state.

    ``rows`` are a pair, or the row of a column that states the number itself. ``cells`` are their
    values as a point prints them. A side that is the mean of several rows has the first of them.
    """

    column: Column
    rows: tuple[Row, ...]
    numbers: tuple[Span, ...]
    cells: tuple[str, ...]

    @property
    def least(self) -> Span:
        """The smallest of its numbers."""
        return min(self.numbers, key=lambda n: n.value)

    @property
    def most(self) -> Span:
        """The largest of its numbers."""
        return max(self.numbers, key=lambda n: n.value)


@dataclass(frozen=True)
class Pair:
    """Two rows and their results ``x`` and ``y``; the second is the baseline if ``sided``.

    ``counts`` are the numbers of rows of which each result is the mean.
    """

    first: Row
    second: Row
    column: Column
    x: Span
    y: Span
    levels: tuple[str, ...]
    sided: bool
    counts: tuple[int, int]

    @property
    def ratio(self) -> Span:
        """The first result / the second."""
        return self.x / self.y

    @property
    def rows(self) -> tuple[Row, Row]:
        """The two rows."""
        return self.first, self.second

    @property
    def cells(self) -> tuple[str, str]:
        """The two results as printed, or the means of several rows."""
        first, second = (
            row[self.column.name] if count == 1 else self._mean(number, count)
            for row, number, count in zip(self.rows, (self.x, self.y), self.counts, strict=True)
        )
        return first, second

    def _mean(self, number: Span, count: int) -> str:
        """In the unit of the column, or in the base unit if its cells have units of their own."""
        column = self.column
        own = column.in_cell or column.unit_column is not None
        unit = f" {column.dimension}" if own else ""
        return f"{number.value / (1 if own else column.factor):.5g}{unit} (mean of {count})"


@dataclass(frozen=True)
class Meaning:
    """One interpretation of a claim: readings of the same column and the same two sides."""

    readings: tuple[Reading, ...]


def meanings(reference: Reference, percent: bool) -> Iterator[Meaning]:
    """The interpretations of a claim in one table, by column and by the sides of the pairs."""
    if not reference.mentioned:
        return
    for column in reference.columns:
        groups: dict[tuple[str, ...], list[Pair]] = defaultdict(list)
        for pair in _pairs(reference, column):
            groups[pair.levels].append(pair)
        for pairs in groups.values():
            if reference.said.average and len(pairs) > 1:
                yield Meaning((_average(reference.said, pairs, percent),))
            else:
                yield Meaning(tuple(_reading(reference.said, p, percent) for p in pairs))
        if len(groups) > 1 and not reference.said.average:
            every = [p for pairs in groups.values() for p in pairs]
            yield Meaning(tuple(_reading(reference.said, p, percent) for p in every))


def stated(reference: Reference, percent: bool) -> Iterator[Meaning]:
    """The numbers that columns of ratios state themselves, if the sentence names the column."""
    yield from _of_columns(
        reference, reference.stated, lambda column, number: _as_stated(column, number, percent)
    )


def supporting(reference: Reference, percent: bool) -> Iterator[Meaning]:
    """The numbers that follow from columns of changes, such as a saving or a relative time."""
    yield from _of_columns(
        reference,
        reference.changes,
        lambda column, number: _of_change(reference.said, column, number, percent),
    )


def _of_columns(
    reference: Reference,
    columns: Sequence[Column],
    numbers: Callable[[Column, Span], Iterable[Span]],
) -> Iterator[Meaning]:
    for column in columns:
        readings = []
        for row in reference.rows():
            number = spans(reference.profile, row, [column])
            found = tuple(numbers(column, number[0])) if number else ()
            if found:
                readings.append(Reading(column, (row,), found, (row[column.name],)))
        if readings:
            yield Meaning(tuple(readings))


def _as_stated(column: Column, number: Span, percent: bool) -> Iterator[Span]:
    """A printed ratio as it is; a ratio such as 1.25 is also 25 %, a factor also its inverse."""
    number = abs(number)
    if percent:
        yield number * HUNDRED
        if column.factor == 1:
            yield abs(number - ONE) * HUNDRED
        return
    yield number
    if number.low > 0:
        yield ONE / number


def _of_change(said: Said, column: Column, number: Span, percent: bool) -> Iterator[Span]:
    """The claims that a change supports, in the direction that the words name."""
    up = said.direction in ("more", "slower")
    if (up and column.has(*LESS_TIME)) or (said.direction in ("less", "faster") and _grows(column)):
        return
    if column.factor == 1 or column.has("relative", "ratio"):
        yield from _of_ratio(said, column, number, percent)
    elif percent:
        yield abs(number) * HUNDRED
    else:
        for ratio in (ONE + number, ONE - number):
            if ratio.low > 0:
                yield from (ratio, ONE / ratio)


def _grows(column: Column) -> bool:
    return column.has("increase", "overhead")


def _of_ratio(said: Said, column: Column, number: Span, percent: bool) -> Iterator[Span]:
    if number.low <= 0:
        return
    ratio = ONE / number if column.has("speedup") else number
    way = said.direction if column.has("relative") and not said.measures & RATES else ""
    if not percent:
        yield from (ratio, ONE / ratio)
    elif way in ("less", "more"):
        yield (ONE - ratio if way == "less" else ratio - ONE) * HUNDRED
    else:  # It is not known which side is the divisor.
        yield from (abs(ONE - ratio) * HUNDRED, abs(ONE / ratio - ONE) * HUNDRED)


# --- pairs ----------------------------------------------------------------------------------


def _pairs(reference: Reference, column: Column) -> Iterator[Pair]:
    """The pairs of rows that differ in one label only and that the words select."""
    profile = reference.profile
    labels = [c.name for c in reference.labels if c.name != column.name]
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in profile.table.rows:
        if spans(profile, row, [column]):
            groups[tuple(row[n] for n in labels)].append(row)
    if len(groups) > MOST_CELLS:
        return
    cells = [
        (key, rows, mean([profile.span(r, column) for r in rows])) for key, rows in groups.items()
    ]
    tied: dict[tuple[str, str], bool] = {}
    for (a, ours, x), (b, theirs, y) in combinations(cells, 2):
        if x.low <= 0 or y.low <= 0:
            continue
        chosen = dict(zip(labels, zip(a, b, strict=True), strict=True))
        differ = [n for n, (p, q) in chosen.items() if p != q]
        if len(differ) > 2 or not _selected(reference.mentioned, chosen, differ):
            continue
        if len(differ) == 2:
            two = (differ[0], differ[1])
            if two not in tied:
                tied[two] = _tied(profile, *two)
            if not tied[two]:
                continue
        base = _baseline(reference, chosen, differ)
        levels = tuple(v for n in differ for v in chosen[n])
        sizes = (len(ours), len(theirs))
        if base == 0:
            yield Pair(theirs[0], ours[0], column, y, x, levels, True, sizes[::-1])
        else:
            yield Pair(ours[0], theirs[0], column, x, y, levels, base == 1, sizes)


def _selected(
    mentioned: Mapping[str, set[str]],
    chosen: Mapping[str, tuple[str, str]],
    differ: Sequence[str],
) -> bool:
    """Whether the words select a pair: it differs in the label of which they name two values."""
    for label, values in mentioned.items():
        pair = chosen.get(label)
        if pair is None:
            continue
        if label in differ:
            if len(values & set(pair)) < min(2, len(values)):
                return False
        elif len(values) > 1 or pair[0] not in values:
            return False
    return True


def _baseline(
    reference: Reference, chosen: Mapping[str, tuple[str, str]], differ: Sequence[str]
) -> int | None:
    """Which of the two is the baseline, None if the words do not state it."""
    for label in differ:
        hits = [h for h in reference.hits if h.label == label]
        bases = _bases(hits, reference.said.against)
        subjects = {h.value for h in hits} - bases
        a, b = chosen[label]
        if (a in bases) != (b in bases):
            return 0 if a in bases else 1
        if (a in subjects) != (b in subjects) and not bases:
            return 1 if a in subjects else 0
    return None


def _bases(hits: Sequence[Hit], against: int) -> set[str]:
    """The values after "than" or "against"; in "compared to A, B", only the first."""
    after = sorted((h for h in hits if h.at > against), key=lambda h: h.at)
    if against < 0 or not after:
        return set()
    before = any(h.at < against for h in hits)
    return {h.value for h in (after if before else after[:1])}


def _tied(profile: Profile, a: str, b: str) -> bool:
    """Whether one label follows from the other, as the name of a CPU from the name of a test."""
    first: dict[str, set[str]] = defaultdict(set)
    second: dict[str, set[str]] = defaultdict(set)
    for row in profile.table.rows:
        first[row[a]].add(row[b])
        second[row[b]].add(row[a])
    return all(len(v) == 1 for v in first.values()) or all(len(v) == 1 for v in second.values())


# --- numbers of a pair ----------------------------------------------------------------------


def _reading(said: Said, pair: Pair, percent: bool) -> Reading:
    return Reading(pair.column, pair.rows, _numbers(said, pair.ratio, pair, percent), pair.cells)


def _numbers(said: Said, ratio: Span, pair: Pair, percent: bool) -> tuple[Span, ...]:
    """The percentages or factors of a ratio, in the direction that the words name."""
    less, more = ONE - ratio, ratio - ONE
    faster, slower = ONE / ratio - ONE, ONE - ONE / ratio
    rate = dimension(pair.column).endswith("/s")
    way = said.direction if pair.sided else ""
    if not percent:
        up = (way == "slower") != rate if way in ("faster", "slower") else way == "more"
        return (ratio, ONE / ratio) if not way else (ratio,) if up else (ONE / ratio,)
    found: tuple[Span, ...]
    if way in ("faster", "slower"):
        up = (way == "slower") != rate
        found = (more, slower) if up else (less, faster)
    elif way:
        found = (less,) if way == "less" else (more,)
    else:
        found = (abs(less), abs(faster))
    return tuple(one * HUNDRED for one in found)


def _average(said: Said, pairs: Sequence[Pair], percent: bool) -> Reading:
    """The mean of several pairs: of their numbers, or of their ratios."""
    each = [_numbers(said, p.ratio, p, percent) for p in pairs]
    found = [mean([numbers[at] for numbers in each]) for at in range(len(each[0]))]
    sums = mean([p.x for p in pairs]) / mean([p.y for p in pairs])
    for ratio in (geometric_mean([p.ratio for p in pairs]), sums):
        found += _numbers(said, ratio, pairs[0], percent)
    return Reading(pairs[0].column, pairs[0].rows, tuple(found), pairs[0].cells)
