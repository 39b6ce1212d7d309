"""Sentences with a number against every pair of results, every count and every place they can mean.

A sentence is only compared if the tables explain each of its words: the review does not guess
what a sentence means. "Up to" and "at most" are bounds. A rounded number has the tolerance of its
digits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.judged import place, spans
from windtunnel.published.numbers import Digits, NumberError, Span, mean, printed
from windtunnel.published.profile import Column, Profile, tokens, unit_of
from windtunnel.published.table import Row

BOUNDS = frozenset({"up", "most", "max", "maximum", "maximal", "least", "over", "below", "under"})
ABOUT = frozenset({"about", "approximately", "approx", "around", "roughly", "nearly", "almost"})
COMPARING = frozenset(
    {
        "than",
        "vs",
        "versus",
        "against",
        "faster",
        "slower",
        "less",
        "more",
        "reduction",
        "improvement",
        "improved",
        "difference",
        "saving",
        "gain",
        "loss",
        "speedup",
        "increase",
        "decrease",
        "penalty",
        "benefit",
        "sooner",
        "shorter",
        "longer",
        "advantage",
        "better",
        "worse",
        "reduced",
        "saved",
        "cost",
        "overhead",
        "higher",
        "lower",
        "relative",
        "ratio",
    }
)
FILLING = frozenset(
    {
        "a",
        "an",
        "the",
        "of",
        "with",
        "without",
        "and",
        "or",
        "to",
        "in",
        "on",
        "by",
        "for",
        "from",
        "at",
        "is",
        "are",
        "was",
        "were",
        "time",
        "elapsed",
        "per",
        "all",
        "each",
        "case",
        "cases",
        "using",
        "when",
        "compared",
        "comparison",
        "result",
        "e",
        "v",
        "x",
        "up",
        "most",
        "least",
        "stated",
        "text",
        "percent",
    }
)
MEASURES = frozenset(
    {
        "cpu",
        "energy",
        "power",
        "price",
        "cost",
        "network",
        "latency",
        "disk",
        "memory",
        "throughput",
        "rate",
        "io",
        "size",
        "byte",
    }
)
RECAPS = frozenset(
    {"recap", "text", "stated", "table", "summary", "abstract", "caption", "figure", "conclusion"}
)
PERCENT = ("percent", "%", "pct")
MOST_PAIRS = 600
BEYOND = 1.5
"""A bound that is this many times the largest pair is not one of these results."""


@dataclass(frozen=True)
class Reading:
    """One pair of results and the percentages that it can be."""

    first: Row
    second: Row
    column: Column
    ratio: Span

    def percentages(self) -> list[Span]:
        """More or less time, and the ratio the other way round."""
        one, hundred = Span.exact(1.0), Span.exact(100.0)
        return [
            abs(one - self.ratio) * hundred,
            abs(one / self.ratio - one) * hundred,
        ]

    def factors(self) -> list[Span]:
        """The ratio, both ways round."""
        return [self.ratio, Span.exact(1.0) / self.ratio]


def _statements(profile: Profile) -> Iterator[tuple[Row, str, Column]]:
    """Rows of a list of statements, with their words and the columns of their numbers."""
    if "unit" not in profile.columns:
        return
    values = [c for c in profile.columns.values() if c.name in ("value", "low", "high")]
    words = [c for c in profile.labels if c.name != "unit"]
    for row in profile.table.rows:
        text = " ".join(row[c.name].replace("_", " ") for c in words)
        for column in values:
            if row[column.name]:
                yield row, text, column


def pairs(case: Case) -> Iterator[Point]:
    """Percentages and factors in the text against all pairs of results that they can mean."""
    for listed in case.profiles.values():
        for row, text, column in _statements(listed):
            unit = row["unit"].casefold().split()[:1]
            percent = bool(unit) and unit[0] in PERCENT
            if not percent and unit not in (["factor"], ["x"], ["times"]):
                continue
            said = set(tokens(f"{text} {row['unit']}")) - {"percent", "factor"}
            if COMPARING.isdisjoint(said):
                continue
            try:
                digits: Digits = "about" if said & ABOUT else "printed"
                stated = abs(printed(row[column.name], digits))
            except NumberError:
                continue
            readings = [
                reading
                for profile in case.profiles.values()
                if profile is not listed and "unit" not in profile.columns
                for reading in _readings(profile, said, tokens(text))
            ]
            yield from _compared(row, column, text, stated, percent, said, readings)


def _compared(
    row: Row,
    column: Column,
    text: str,
    stated: Span,
    percent: bool,
    said: set[str],
    readings: Sequence[Reading],
) -> Iterator[Point]:
    if not readings or len(readings) > MOST_PAIRS:
        return
    spans_ = [(s, r) for r in readings for s in (r.percentages() if percent else r.factors())]
    if any(stated.meets(s) for s, _ in spans_):
        return
    largest = max(spans_, key=lambda one: one[0].value)
    bound = bool(said & BOUNDS)
    if bound and stated.value <= BEYOND * largest[0].value:
        return
    nearest = largest if bound else min(spans_, key=lambda one: abs(one[0].value - stated.value))
    unit = " %" if percent else ""
    found, reading = nearest
    yield Point(
        check="claims",
        severity="caution",
        subject=f"{text}: {row[column.name]}{unit}",
        stated=f"{row[column.name]}{unit}",
        stated_source=source_of(row),
        found=f"{'at most ' if bound else 'nearest: '}{found.value:.3g}{unit} of "
        f"{len(readings)} pairs ({reading.column.name} {reading.first[reading.column.name]} and "
        f"{reading.second[reading.column.name]})",
        found_source=sources_in_words((source_of(reading.first), source_of(reading.second))),
        means="no pair of the published results that this sentence can mean has this difference.",
        cells=(place(row, column.name),),
    )


def _readings(profile: Profile, said: set[str], order: Sequence[str]) -> Iterator[Reading]:
    """The pairs of rows that differ in one label only and that the words select."""
    labels = [c for c in profile.labels if not c.has("unit", "statistic")]
    labels += [c for c in profile.numbers if _parameter(profile, c)]
    if not labels or len(profile.table.rows) > 1000:
        return
    known = {t for c in profile.columns for t in tokens(c)}
    mentioned: dict[str, set[str]] = {}
    for label in labels:
        values = {r[label.name] for r in profile.table.rows if r[label.name]}
        for value in values:
            known |= set(tokens(value))
        hits = {v for v in values if _said(tokens(v), order) and not set(tokens(v)) <= FILLING}
        if hits and label.kind == "word":
            mentioned[label.name] = hits
    words = {w for w in said if not w[0].isdigit()}
    if not mentioned or words - known - COMPARING - FILLING - BOUNDS - ABOUT - MEASURES:
        return
    wanted = said & MEASURES
    for column in profile.numbers:
        if column.dimension in ("", "mixed", "ratio") or column in labels:
            continue
        if (wanted and column.words.isdisjoint(wanted)) or (not wanted and column.has(*MEASURES)):
            continue
        yield from _pairs(profile, column, [c.name for c in labels], mentioned)


def _said(words: Sequence[str], text: Sequence[str]) -> bool:
    """Whether the words are in the text, one after the other."""
    size = len(words)
    return any(text[at : at + size] == words for at in range(len(text) - size + 1))


def _parameter(profile: Profile, column: Column) -> bool:
    """Whether a column of numbers is a parameter, such as a size: few values, often repeated."""
    values = {r[column.name] for r in profile.table.rows}
    return len(values) <= min(8, len(profile.table.rows) // 3) and column.dimension != "s"


def _pairs(
    profile: Profile, column: Column, labels: Sequence[str], mentioned: Mapping[str, set[str]]
) -> Iterator[Reading]:
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in profile.table.rows:
        if spans(profile, row, [column]):
            groups[tuple(row[n] for n in labels)].append(row)
    cells = [
        (key, rows, mean([profile.span(r, column) for r in rows])) for key, rows in groups.items()
    ]
    if len(cells) > 200:
        return
    for (a, first, x), (b, second, y) in combinations(cells, 2):
        differ = [n for n, p, q in zip(labels, a, b, strict=True) if p != q]
        if len(differ) > 2 or (len(differ) == 2 and not _tied(profile, *differ)):
            continue
        chosen = dict(zip(labels, zip(a, b, strict=True), strict=True))
        selected = all(_selected(chosen[n], hits, n in differ) for n, hits in mentioned.items())
        if selected and x.low > 0 and y.low > 0:
            yield Reading(first[0], second[0], column, x / y)


def _selected(values: tuple[str, str], hits: set[str], differ: bool) -> bool:
    if not differ:
        return values[0] in hits
    return len(hits & set(values)) >= min(2, len(hits))


def _tied(profile: Profile, a: str, b: str) -> bool:
    """Whether one label follows from the other, as the name of a CPU from the name of a test."""
    first: dict[str, set[str]] = defaultdict(set)
    second: dict[str, set[str]] = defaultdict(set)
    for row in profile.table.rows:
        first[row[a]].add(row[b])
        second[row[b]].add(row[a])
    return all(len(v) == 1 for v in first.values()) or all(len(v) == 1 for v in second.values())


# --- counts ---------------------------------------------------------------------------------


def counts(case: Case) -> Iterator[Point]:
    """Numbers of runs, tests or workloads in the text against the rows of the tables."""
    roles = _roles(case)
    for listed in case.profiles.values():
        for row, text, column in _statements(listed):
            noun = tokens(row["unit"])[:1]
            if not noun or not (row[column.name].isascii() and row[column.name].isdigit()):
                continue
            possible = {
                count: source
                for profile in case.profiles.values()
                if profile is not listed
                for name, described in profile.columns.items()
                if described.kind in ("word", "id")
                and (tokens(name) == noun or roles.get(name) == noun[0])
                for count, source in _counted(profile, name)
            }
            if possible and int(row[column.name]) not in possible:
                usual = min(possible, key=lambda n: abs(n - int(row[column.name])))
                yield Point(
                    check="counts",
                    severity="serious",
                    subject=f"{text}: {row[column.name]} {row['unit']}",
                    stated=f"{row[column.name]} {row['unit']}",
                    stated_source=source_of(row),
                    found=f"{usual} {row['unit']}",
                    found_source=possible[usual],
                    means="the text counts others than the table: results are missing, or were "
                    "added later.",
                    cells=(place(row, column.name),),
                )


def _roles(case: Case) -> dict[str, str]:
    """Column -> what its words are, from the map: workload, phase, run, treatment."""
    mapped = case.mapped
    if mapped is None:
        return {}
    cells = {
        "workload": mapped.workload,
        "phase": mapped.phase,
        "run": mapped.round,
        "treatment": mapped.treatment,
    }
    return {name: role for role, cell in cells.items() if cell for name in cell.used}


def _counted(profile: Profile, name: str) -> Iterator[tuple[int, str]]:
    """The number of different values: of all rows, and of the rows of each label."""
    rows = [r for r in profile.table.rows if r[name]]
    yield len({r[name] for r in rows}), f"{profile.table.name.rsplit('/', 1)[-1]}, column {name}"
    for label in profile.labels:
        if label.name == name:
            continue
        groups: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            groups[row[label.name]].add(row[name])
        for group in groups.values():
            yield len(group), f"{profile.table.name.rsplit('/', 1)[-1]}, {name} by {label.name}"


# --- the same fact in text and table --------------------------------------------------------


def recaps(case: Case) -> Iterator[Point]:
    """A fact that a summary or the text repeats with another number."""
    for profile in case.profiles.values():
        if not {"value", "unit"} <= profile.columns.keys():
            continue
        words = [c for c in profile.labels if c.name not in ("unit", "value")]
        facts = [
            (row, set(tokens(" ".join(row[c.name] for c in words))), number)
            for row in profile.table.rows
            if (number := _with_unit(row)) is not None
        ]
        for row, said, stated in facts:
            if said.isdisjoint(RECAPS):
                continue
            bare = said - RECAPS
            same = [
                (other, found)
                for other, theirs, found in facts
                if theirs.isdisjoint(RECAPS) and bare <= theirs and len(theirs - bare) <= 2
                and found[0] == stated[0]
            ]  # fmt: skip
            if not same or any(found[1].meets(stated[1]) for _, found in same):
                continue
            other = same[0][0]
            yield Point(
                check="recaps",
                severity="caution",
                subject=f"{profile.label(row)}, stated twice",
                stated=f"{row['value']} {row['unit']}",
                stated_source=source_of(row),
                found=f"{other['value']} {other['unit']} ({profile.label(other)})",
                found_source=source_of(other),
                means="two places of the publication give different numbers for the same fact.",
                cells=(place(row, "value"), place(other, "value")),
            )


def _with_unit(row: Row) -> tuple[str, Span] | None:
    unit = row["unit"].split()[:1]
    try:
        number = printed(row["value"])
    except NumberError:
        return None
    dimension, factor = unit_of(unit[0] if unit else "") or (row["unit"], 1.0)
    return dimension, number * Span.exact(factor)
