"""Lists of settings: the column of their names, and the treatments to which their values belong.

A list is long (``setting,system,value``) or wide (``setting,A,B,C``). Both become a
:class:`Listing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from windtunnel.published.case import Case
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

NAME = re.compile(r"[a-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)+")
SETTING_NAMES = ("setting", "key", "parameter", "property", "option")
ITEM_NAMES = (*SETTING_NAMES, "item", "attribute", "name")
PLACE_NAMES = ("variant", "record", "place", "document", "side", "applies", "where", "version")
ALL_PLACES = frozenset({"all", "both", ""})
DOCUMENTS = ("record", "variant", "document", "place")
CHANGES = frozenset(
    {
        "before", "after", "default", "standard", "stock", "tuned", "untuned", "changed",
        "modified", "unchanged", "old", "new", "original", "recommended", "optimized", "optimised",
    }
)  # fmt: skip
"""Places whose names say that the list is there to show differences."""
REMARKS = (
    "unit", "reason", "why", "source", "note", "comment", "remark", "file", "site", "description",
    "component", "meaning",
)  # fmt: skip
"""Columns next to the values that are no values."""
AGREEING = 0.5
"""Columns of a wide list agree in this fraction of their rows."""
LEAST = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """The value of a setting in one place."""

    place: str
    value: str
    row: Row
    column: str


@dataclass(frozen=True)
class Listing:
    """The values of each setting by place, in the order of the table."""

    profile: Profile
    item: Column
    places: Sequence[str]
    items: Mapping[str, Mapping[str, Entry]]
    wide: bool

    @property
    def shows_changes(self) -> bool:
        """Whether the names of the places say that the values differ, as in "before, after"."""
        words = {w for place in self.places for w in re.findall(r"[a-z]+", place.casefold())}
        return not CHANGES.isdisjoint(words)


def dotted(profile: Profile, column: Column) -> bool:
    """Whether most cells are names such as ``dfs.blocksize``."""
    names = [r[column.name] for r in profile.table.rows if r[column.name]]
    return sum(bool(NAME.fullmatch(n)) for n in names) > 0.5 * len(names)


def names_settings(profile: Profile, column: Column) -> bool:
    """Whether a column has the names of settings or attributes: its values have several kinds.

    "name" alone can be the name of anything, so the cells must be names of settings, too.
    """
    words = [word for word in ITEM_NAMES if word != "name"]
    return column.has(*words) or dotted(profile, column)


def lists_settings(profile: Profile) -> bool:
    """Whether the rows of a table are settings."""
    return any(names_settings(profile, column) for column in profile.labels)


def layouts(profile: Profile) -> Iterator[tuple[Column, Column, list[Column]]]:
    """Label of the items, label of the places, and the columns to compare."""
    for item in profile.labels:
        for where in profile.labels:
            if item is where or item.has("unit") or where.has("unit"):
                continue
            named = item.has(*ITEM_NAMES) or dotted(profile, item)
            placed = where.has(*PLACE_NAMES)
            if not (named or (placed and not where.has(*ITEM_NAMES))) or where.has(*ITEM_NAMES):
                continue
            rows = [r for r in profile.table.rows if r[item.name]]
            places = {r[where.name] for r in rows} - ALL_PLACES
            pairs = {(r[item.name], r[where.name]) for r in rows}
            if not 2 <= len(places) <= 8 or len(pairs) < 0.9 * len(rows):
                continue
            values = [
                c
                for c in profile.columns.values()
                if c.kind in ("word", "number") and c not in (item, where)
            ]
            if named and not placed:
                values = [c for c in values if c.has("value", "version", "size")]
            yield item, where, values


def compares_treatments(profile: Profile, item: Column, where: Column) -> bool:
    """Whether the places of a long list are treatments and not documents about one system."""
    return names_settings(profile, item) and not where.has(*PLACE_NAMES)


def listings(case: Case, profile: Profile) -> Iterator[Listing]:
    """The lists of settings of several treatments in a table."""
    for item, where, columns in layouts(profile):
        if compares_treatments(profile, item, where):
            for column in columns:
                found: dict[str, dict[str, Entry]] = {}
                for row in profile.table.rows:
                    if row[item.name] and row[column.name] and row[where.name] not in ALL_PLACES:
                        entry = Entry(row[where.name], row[column.name], row, column.name)
                        found.setdefault(row[item.name], {}).setdefault(entry.place, entry)
                places = list(dict.fromkeys(p for one in found.values() for p in one))
                yield Listing(profile, item, places, found, wide=False)
    yield from _wide(case, profile)


def _wide(case: Case, profile: Profile) -> Iterator[Listing]:
    items = [c for c in profile.labels if c.has(*SETTING_NAMES) or dotted(profile, c)]
    if len(items) != 1 or len(profile.table.rows) < LEAST:
        return
    levels = _levels(case, profile, items[0])
    if len(levels) < 2:
        return
    found: dict[str, dict[str, Entry]] = {}
    for row in profile.table.rows:
        if row[items[0].name]:
            one = {c: Entry(c, row[c], row, c) for c in levels}
            found.setdefault(row[items[0].name], one)
    yield Listing(profile, items[0], levels, found, wide=True)


def _levels(case: Case, profile: Profile, item: Column) -> list[str]:
    """Columns named after the treatments of the study, else columns that mostly agree."""
    columns = [
        c.name
        for c in profile.columns.values()
        if c is not item and c.kind in ("word", "number") and not c.has(*REMARKS)
    ]
    known = {
        row[label.name].casefold()
        for other in case.profiles.values()
        if other is not profile and len(other.table.rows) <= 1000
        for label in other.labels
        for row in other.table.rows
    }
    named = [c for c in columns if c.casefold() in known]
    if len(named) > 1:
        return named
    rows = profile.table.rows
    alike: dict[str, None] = {}
    for a, b in combinations(columns, 2):
        same = sum(bool(r[a]) and r[a] == r[b] for r in rows)
        if same >= max(LEAST, AGREEING * len(rows)):
            alike |= dict.fromkeys((a, b))
    return list(alike)
