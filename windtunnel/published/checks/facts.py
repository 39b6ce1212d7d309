"""Facts that are stated in several places, and rates that counters cannot measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import combinations

from windtunnel.analysis.formatting import listed
from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.numbers import positive
from windtunnel.published.table import Row

ALIKE = 0.93
"""Names with at least this similarity (Ratcliff-Obershelp) that never occur together are
considered to be one name."""
COUNTER_BITS = 32
NEAR_LIMIT = 0.97
"""A largest rate this close to the limit of a counter was truncated by the counter."""


def versions(case: Case) -> Iterator[Point]:
    """Rows of the same key from several places must agree; empty cells are ignored."""
    for rule in case.relations.versions:
        groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in case.tables[rule.table].rows:
            if not rule.among or row[rule.place] in rule.among:
                groups[tuple(row[column] for column in rule.key)].append(row)
        for key, rows in groups.items():
            for column in rule.columns:
                filled = [row for row in rows if row[column]]
                if len({_plain(row[column]) for row in filled}) < 2:
                    continue
                first = filled[0]
                other = next(r for r in filled if _plain(r[column]) != _plain(first[column]))
                yield Point(
                    check="versions",
                    rule=8,
                    severity=rule.severity,
                    subject=f"{rule.name}: {' '.join(key)}, {column}",
                    stated=f"{first[column]} ({first[rule.place]})",
                    stated_source=source_of(first),
                    found=f"{other[column]} ({other[rule.place]})",
                    found_source=source_of(other),
                    means=rule.means,
                )


def _plain(text: str) -> str:
    """Numbers by value, words without case."""
    try:
        return repr(float(text))
    except ValueError:
        return " ".join(text.casefold().split())


def spelling(case: Case) -> Iterator[Point]:
    """Names that differ by a letter and never occur in the same place."""
    for rule in case.relations.spelling:
        places: dict[str, set[str]] = defaultdict(set)
        rows: dict[str, Row] = {}
        for row in case.tables[rule.table].rows:
            places[row[rule.column]].add(row[rule.place])
            rows.setdefault(row[rule.column], row)
        for a, b in combinations(places, 2):
            if places[a] & places[b] or SequenceMatcher(None, a, b).ratio() < ALIKE:
                continue
            yield Point(
                check="spelling",
                rule=8,
                severity="caution",
                subject=rule.name,
                stated=f"{b} ({', '.join(sorted(places[b]))})",
                stated_source=source_of(rows[b]),
                found=f"{a} ({', '.join(sorted(places[a]))})",
                found_source=source_of(rows[a]),
                means=rule.means,
            )


def once(case: Case) -> Iterator[Point]:
    """A name with several values."""
    for rule in case.relations.once:
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in case.rows(rule.table, rule.where, {}):
            if row[rule.column] and row[rule.value]:
                groups[row[rule.column]].append(row)
        for name, rows in groups.items():
            first = rows[0]
            others = [r for r in rows if _plain(r[rule.value]) != _plain(first[rule.value])]
            if not others:
                continue
            yield Point(
                check="one-meaning",
                severity="caution",
                subject=f"{rule.name}: {name}",
                stated=f"{rule.value} {first[rule.value]}",
                stated_source=source_of(first),
                found=", ".join(dict.fromkeys(f"{rule.value} {r[rule.value]}" for r in others)),
                found_source=sources_in_words(source_of(r) for r in others),
                means=rule.means,
            )


def counters(case: Case) -> Iterator[Point]:
    """A 32-bit octet counter cannot count more than 2^32 bytes between two readings."""
    described = case.relations.counters
    if described is None:
        return
    cut: dict[float, list[tuple[float, Row]]] = defaultdict(list)
    for row in case.tables[described.table].rows:
        interval_s, largest = positive(row[described.interval]), positive(row[described.largest])
        if interval_s is None or largest is None:
            continue
        limit = 2**COUNTER_BITS * 8 / interval_s
        if NEAR_LIMIT * limit <= largest <= limit:
            cut[limit].append((largest, row))
    for limit, found in cut.items():
        if len(found) < 2:
            continue  # A single one may be chance.
        top = max(largest for largest, _ in found)
        names = [" / ".join(row[c] for c in described.series) for _, row in found]
        yield Point(
            check="counters",
            rule=6,
            severity="serious",
            subject=f"{len(found)} series of network rates: {listed(names, 2)}",
            stated=f"at most {top / 1e6:.1f} Mb/s",
            stated_source=sources_in_words(source_of(row) for _, row in found),
            found=f"{limit / 1e6:.1f} Mb/s is the limit of a 32-bit counter",
            found_source="2^32 bytes per interval of the readings",
            means="the counters wrapped: the real rates are higher, and sums and means of these "
            "rates are wrong. Read 64-bit counters, or read the counters more often.",
        )
