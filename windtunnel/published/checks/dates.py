"""Dates and times in an order that is impossible or that only one row breaks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.judged import place
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row


def moments(case: Case) -> Iterator[Point]:
    """Start times against the order of the rows and of the numbers of the runs."""
    for profile in case.profiles.values():
        if len(profile.table.rows) < 4:
            continue
        for column in profile.moments:
            if column.has("end", "finish", "stop"):
                continue
            times = [
                (row, found[0])
                for row in profile.table.rows
                if (found := profile.moment(row, column)) is not None
            ]
            yield from _out_of_order(profile, column, times)


def _out_of_order(
    profile: Profile, column: Column, times: Sequence[tuple[Row, float]]
) -> Iterator[Point]:
    """The one row that is not between its neighbours, in a table that is otherwise in order."""
    series: dict[tuple[str, ...], list[tuple[Row, float]]] = defaultdict(list)
    words = [c.name for c in profile.labels] if len(times) > 500 else []
    for row, time in times:
        series[tuple(row[w] for w in words)].append((row, time))
    for rows in series.values():
        falls = [at for at, ((_, a), (_, b)) in enumerate(pairwise(rows)) if b < a]
        if len(falls) != 1 or len(rows) < 4:
            continue
        # Either the row before the fall is too late or the one after it is too early.
        at = falls[0]
        without_first = at == 0 or rows[at - 1][1] <= rows[at + 1][1]
        without_second = at + 2 >= len(rows) or rows[at][1] <= rows[at + 2][1]
        if not (without_first or without_second):
            continue
        gap = [abs(b - a) for (_, a), (_, b) in pairwise(rows)]
        chosen = at if without_first and (not without_second or _alone(rows, at)) else at + 1
        row = rows[chosen][0]
        other = rows[at + 1 if chosen == at else at][0]
        if max(gap) < 1:
            continue
        yield Point(
            check="moments",
            severity="serious",
            subject=f"{column.name} is out of order: {profile.label(row)}",
            stated=f"{column.name} {row[column.name]}",
            stated_source=source_of(row),
            found=f"{column.name} {other[column.name]} in the next row of the table",
            found_source=source_of(other),
            means="all other rows are in the order of their times: a day, a month or an hour is "
            "wrong, or the row is in the wrong place.",
            cells=(place(row, column.name), place(other, column.name)),
        )


def _alone(rows: Sequence[tuple[Row, float]], at: int) -> bool:
    """Whether the row is farther from its neighbours than the next row is."""
    before = rows[at - 1][1] if at else rows[at + 1][1]
    return abs(rows[at][1] - before) > abs(rows[at + 1][1] - before)
