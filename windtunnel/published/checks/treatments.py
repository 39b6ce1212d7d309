"""Settings of treatments: values that differ, are missing, or are listed twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from windtunnel.analysis.formatting import listed
from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.checks.listings import (
    LEAST,
    SETTING_NAMES,
    Entry,
    Listing,
    dotted,
    listings,
)
from windtunnel.published.judged import place
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

HALF = 0.5
"""If more attributes differ than this fraction, the list describes different machines."""
SOME = 0.2
"""If more cells are empty than this fraction, empty means the default."""
OFF = frozenset({"false", "off", "no", "0", "disabled", "never"})
ON = frozenset({"true", "on", "yes", "1", "enabled", "always"})
BOTH = (
    "the treatments also differ in this setting: if it is not the factor of the study, the effect "
    "is that of both."
)


def plain(text: str) -> str:
    """A value to compare: numbers by value, words without case."""
    try:
        return repr(float(text))
    except ValueError:
        return " ".join(text.casefold().split())


def differing(case: Case) -> Iterator[Point]:
    """Settings whose values differ between the treatments, and that are no factor of the study."""
    for profile in case.profiles.values():
        for listing in listings(case, profile):
            if not listing.shows_changes:
                yield from _differences(case, listing)
                yield from _gaps(listing)


def _differences(case: Case, listing: Listing) -> Iterator[Point]:
    shared = {
        item: [entry for entry in values.values() if entry.value]
        for item, values in listing.items.items()
    }
    shared = {item: entries for item, entries in shared.items() if len(entries) > 1}
    apart = {
        item: entries
        for item, entries in shared.items()
        if len({plain(entry.value) for entry in entries}) > 1
    }
    if len(apart) > HALF * len(shared) and not dotted(listing.profile, listing.item):
        return  # attributes of different machines
    factors = _settings_of_factors(case)
    baselines = {f.baseline for f in case.mapped.factors.values()} if case.mapped else set()
    apart = {
        item: entries
        for item, entries in apart.items()
        if item not in factors and not _explained(entries, baselines)
    }
    if len(apart) == 1:
        yield from (_one(item, entries) for item, entries in apart.items())
    elif apart:
        yield _several(apart)


def _settings_of_factors(case: Case) -> set[str]:
    factors = case.mapped.factors.values() if case.mapped else ()
    return {
        path.removeprefix("settings.")
        for factor in factors
        for sets in factor.levels.values()
        for path in sets
    }


def _explained(entries: Sequence[Entry], baselines: set[str | None]) -> bool:
    """Whether a difference is the factor: a value names its level, or only the baseline is off."""
    if any(len(e.place) > 1 and e.place.casefold() in e.value.casefold() for e in entries):
        return True
    base = [plain(e.value) for e in entries if e.place in baselines]
    rest = {plain(e.value) for e in entries if e.place not in baselines}
    off, on = ({plain(word) for word in words} for words in (OFF, ON))
    return len(base) == 1 and base[0] in off and len(entries) > 2 and len(rest) == 1 and rest <= on


def _odd(entries: Sequence[Entry]) -> tuple[Entry, Entry]:
    """An entry with the most frequent value, and one with the rarest."""
    counts: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        counts[plain(entry.value)].append(entry)
    groups = sorted(counts.values(), key=len, reverse=True)  # of equal groups the first one
    return groups[0][0], groups[-1][0]


def _cell(entry: Entry) -> str:
    return place(entry.row, entry.column)


def _one(item: str, entries: Sequence[Entry]) -> Point:
    usual, odd = _odd(entries)
    return Point(
        check="two-values",
        rule=8,
        severity="note",
        subject=f"{item}, {odd.column}: two values"
        if odd.column == usual.column
        else f"{item}: two values",
        stated=f"{usual.value} ({usual.place})",
        stated_source=source_of(usual.row),
        found=f"{odd.value} ({odd.place})",
        found_source=source_of(odd.row),
        means=BOTH,
        cells=(_cell(odd), _cell(usual)),
    )


def _several(apart: Mapping[str, Sequence[Entry]]) -> Point:
    pairs = {item: _odd(entries) for item, entries in apart.items()}
    shown = [f"{i} {u.value} ({u.place}), {o.value} ({o.place})" for i, (u, o) in pairs.items()]
    sources = [source_of(odd.row) for _, odd in pairs.values()]
    return Point(
        check="two-values",
        rule=8,
        severity="note",
        subject=f"{len(apart)} settings differ between the treatments: {listed(list(apart), 6)}",
        stated="one effect of the treatments",
        stated_source=sources[0],
        found=listed(shown, 6),
        found_source=sources_in_words(sources, 4),
        means="the treatments also differ in these settings: if they are not the factor of the "
        "study, the effect is that of all.",
        cells=tuple(_cell(odd) for _, odd in pairs.values()),
    )


def _gaps(listing: Listing) -> Iterator[Point]:
    """Empty cells of a wide list, where nearly all cells have a value."""
    if not listing.wide:
        return
    entries = [entry for values in listing.items.values() for entry in values.values()]
    empty = [entry for entry in entries if not entry.value]
    if len(listing.items) < LEAST or len(empty) > max(1, SOME * len(listing.items)):
        return
    for item, values in listing.items.items():
        missing = [entry for entry in values.values() if not entry.value]
        having = [entry for entry in values.values() if entry.value]
        if not missing or len(missing) > len(having):
            continue
        yield Point(
            check="one-side",
            rule=8,
            severity="caution",
            subject=f"{item} is missing in {missing[0].place}",
            stated=f"{item} {having[0].value} ({', '.join(e.place for e in having)})",
            stated_source=source_of(having[0].row),
            found=f"{missing[0].place}: (empty)",
            found_source=source_of(missing[0].row),
            means="the setting was not the same everywhere, or a list is incomplete.",
            cells=tuple(map(_cell, (*missing, *having))),
        )


# --- a setting that is listed twice ---------------------------------------------------------


def twice(case: Case) -> Iterator[Point]:
    """A setting that one list has twice, with two values."""
    for profile in case.profiles.values():
        items = [c for c in profile.labels if dotted(profile, c) or c.has(*SETTING_NAMES)]
        if len(items) != 1:
            continue
        wide = [one for one in listings(case, profile) if one.wide]
        values = list(wide[0].places) if wide else [c for c in profile.columns if c == "value"]
        if values:
            yield from _listed_twice(profile, items[0], values)


def _listed_twice(profile: Profile, item: Column, values: Sequence[str]) -> Iterator[Point]:
    keys = [c.name for c in profile.labels if c.name not in values]
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in profile.table.rows:
        if row[item.name]:
            groups[tuple(row[k] for k in keys)].append(row)
    again = [rows for rows in groups.values() if len(rows) > 1]
    if len(again) > max(1, 0.1 * len(groups)):
        return  # the values of these settings are lists
    for rows in again:
        for column in values:
            filled = [row for row in rows if row[column]]
            counts = Counter(plain(row[column]) for row in filled)
            if len(counts) > 1:
                first = filled[0]
                other = next(r for r in filled if plain(r[column]) != plain(first[column]))
                yield _both(profile, item, column, first, other)
                break


def _both(profile: Profile, item: Column, column: str, first: Row, other: Row) -> Point:
    words = [first[c.name] for c in profile.labels if c.name not in (item.name, column)]
    where = ", ".join(word for word in words if word and word not in (first[column],))
    name = first[item.name]
    return Point(
        check="two-values",
        rule=8,
        severity="serious",
        subject=f"{name} is listed twice with two values" + (f": {where}" if where else ""),
        stated=f"{column} {first[column]}",
        stated_source=source_of(first),
        found=f"{column} {other[column]}",
        found_source=source_of(other),
        means="one list has one value per setting: one row is wrong, or has another name.",
        cells=(place(other, column), place(first, column)),
    )
