"""Digits that are too few to show the differences that a table is about."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.judged import place
from windtunnel.published.profile import Profile

COARSE = 0.2
"""A step between printed numbers of this fraction of their size hides most effects."""
LEAST_ROWS = 4


def coarse(case: Case) -> Iterator[Point]:
    """Columns whose last digit is a large fraction of the results."""
    for profile in case.profiles.values():
        if any(c.has("setting", "item", "attribute") for c in profile.labels):
            continue
        for column in profile.numbers:
            if (
                column.dimension not in ("s", "J", "W", "B/s")
                or column.unit_column
                or column.in_cell
            ):
                continue
            if column.has(
                "interval",
                "granularity",
                "tdp",
                "line",
                "nic",
                "link",
                "sd",
                "std",
                "stdev",
                "period",
            ):
                continue
            yield from _coarse(profile, column.name)


def _coarse(profile: Profile, column: str) -> Iterator[Point]:
    rows = [r for r in profile.table.rows if r[column]]
    numbers = [abs(float(r[column])) for r in rows if _plain(r[column])]
    if len(numbers) < LEAST_ROWS or len(numbers) != len(rows):
        return
    step = _step([r[column] for r in rows])
    middle = statistics.median(numbers)
    apart = set(numbers)
    if step < COARSE * middle or len(apart) > max(2, 0.75 * len(numbers)):
        return
    yield Point(
        check="precision",
        rule=2,
        severity="caution",
        subject=f"{column} has a step of {step:g}, and its middle value is {middle:g}",
        stated=f"{len(apart)} different numbers in {len(numbers)} rows",
        stated_source=source_of(rows[0]),
        found=f"rounding can change each by {100 * step / 2 / middle if middle else 100:.0f} %",
        found_source="the printed digits",
        means="smaller differences cannot be seen in these numbers: publish more digits.",
        cells=tuple(place(r, column) for r in rows),
    )


def _plain(text: str) -> bool:
    return text.isascii() and text.replace(".", "", 1).lstrip("-").isdigit()


def _step(cells: list[str]) -> float:
    """The last digit that any of the cells uses: 1 for 7 and 12, 10 for 10 and 120."""
    decimals = max(len(cell.partition(".")[2].rstrip("0")) for cell in cells)
    if decimals:
        return 10.0**-decimals
    whole = [cell.partition(".")[0].strip("-") for cell in cells]
    zeros = [len(w) - len(w.rstrip("0")) for w in whole if w.strip("0")]
    return 10.0 ** min(zeros, default=0)
