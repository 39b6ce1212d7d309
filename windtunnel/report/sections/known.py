"""Tables without columns that are unknown in every row: the report states that once."""

from __future__ import annotations

from dataclasses import replace

from windtunnel.report.sections.base import Table

INTERVALS_UNKNOWN = "intervals are unknown: they need two or more trials per treatment"
"""The clause that a section has once if none of its numbers has an interval."""

_UNKNOWN = {"unknown", "interval unknown", "spread unknown", ""}


def without_unknown(table: Table, *names: str) -> Table:
    """The table without the named columns that are unknown in every row."""
    gone = {
        place
        for place, column in enumerate(table.columns)
        if column.name in names and all(row[place] in _UNKNOWN for row in table.rows)
    }
    if not gone:
        return table
    kept = [place for place in range(len(table.columns)) if place not in gone]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=[tuple(row[place] for place in kept) for row in table.rows],
        alert=frozenset((row, kept.index(place)) for row, place in table.alert if place in kept),
    )
