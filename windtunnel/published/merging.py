"""One point per wrong cell: a wrong cell breaks several relations, and each of them is a point.

The cell that most of the broken relations have in common is the one that is probably wrong. Its
point stays and names the other relations.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from windtunnel.analysis.evidence import SEVERITIES
from windtunnel.analysis.formatting import listed
from windtunnel.published.case import Point
from windtunnel.published.checks.rows import KNOWN_FACTORS

FACTORS = {**KNOWN_FACTORS, 3.6: "3.6: kJ and Wh, or m/s and km/h"}
BLOCK = 3
"""Rows that differ by the same factor are one point if there are this many."""
SAME_FACTOR = 0.02
OTHER_UNIT = 1.2
"""A smaller factor is not that of another unit."""
NAMED = 4
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def once(points: Sequence[Point]) -> list[Point]:
    """The points without those that follow from another one.

    1. Rows of one relation that differ by the same factor become one point.
    2. The cell that most points contain is the wrong one: they become its point, and so on.
    3. Several broken statistics of one row follow from a row of its runs that has a point, or they
       become one point.
    """
    points = list(_blocks(points))
    groups = _Groups(points)
    groups.by_cell()
    groups.by_run()
    groups.by_row()
    return [_merged(points, members) for members in groups.members()]


def _row(cell: str) -> str:
    """``runs.csv:12`` of ``runs.csv:12:elapsed_s``."""
    return ":".join(cell.split(":")[:2])


def _is_row(cell: str) -> bool:
    return cell.count(":") == 1


def _own_rows(point: Point) -> set[str]:
    """The rows about which a point is: that of its stated cell, or of all cells of its column."""
    if not point.cells:
        return set()
    columns = {cell.split(":", 2)[2:][0] if cell.count(":") > 1 else "" for cell in point.cells}
    if len(point.cells) >= BLOCK and len(columns) == 1:
        return set(map(_row, point.cells))
    return {_row(point.cells[0])}


def _places(source: str) -> list[str]:
    """``runs.csv:12`` of ``runs.csv:12 (page 4)``; several places are separated by ``;``."""
    return [part.split(" (")[0].strip() for part in source.split("; ") if ".csv:" in part]


class _Groups:
    """Which point each point follows."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = points
        self.leader = list(range(len(points)))
        self.free = [bool(point.cells) for point in points]
        self.own = [_own_rows(point) for point in points]

    def members(self) -> Iterator[list[int]]:
        """The points of each group, the leader first, in the order of the leaders."""
        found: dict[int, list[int]] = defaultdict(list)
        for at in range(len(self.points)):
            top = self._top(at)
            found[top].append(at)
        for top in sorted(found, key=lambda top: min(found[top])):
            yield [top, *(at for at in found[top] if at != top)]

    def _top(self, at: int) -> int:
        while self.leader[at] != at:
            at = self.leader[at]
        return at

    def by_cell(self) -> None:
        """Group the points by the cell that most of them contain."""
        self._listed_rows()
        contain: dict[str, list[int]] = defaultdict(list)
        for at, point in enumerate(self.points):
            for cell in dict.fromkeys(point.cells):
                contain[cell].append(at)
        # The number of a run is only suspected if a point about its own row contains it.
        suspects = {
            cell: at
            for cell, at in contain.items()
            if any(_row(cell) in self.own[one] for one in at)
        }
        # Weights only decrease, so an outdated one is too large: it is computed again at its turn.
        queue = [
            (self._order(cell, at), place, cell)
            for place, (cell, at) in enumerate(suspects.items())
            if len(at) > 1
        ]
        heapify(queue)
        while queue:
            order, place, cell = heappop(queue)
            present = self._order(cell, suspects[cell])
            if present != order:
                heappush(queue, (present, place, cell))
                continue
            members = [at for at in suspects[cell] if self.free[at]]
            if len(members) < 2:
                continue
            stated = [at for at in members if self.points[at].cells[0] == cell]
            leader = (stated or members)[0]
            for at in members:
                self.leader[at] = leader
                self.free[at] = False

    def _order(self, cell: str, at: Sequence[int]) -> tuple[int, int, int]:
        """First the cells in most free points, then those that most of these state."""
        free = [one for one in at if self.free[one]]
        stated = sum(self.points[one].cells[0] == cell for one in free)
        return -len(free), -stated, min(at)

    def _listed_rows(self) -> None:
        """Points about a row that an earlier point describes as a whole, or by its source."""
        whole: dict[str, int] = {}
        for at, point in enumerate(self.points):
            earlier = next((whole[row] for row in self.own[at] if row in whole), None)
            if earlier is not None and self.free[at]:
                self.leader[at] = earlier
                self.free[at] = False
                continue
            rows = [cell for cell in point.cells if _is_row(cell)]
            for row in rows or ([] if point.cells else _places(point.stated_source)):
                whole.setdefault(row, at)

    def by_run(self) -> None:
        """Statistics of a row that contains a cell, or a run, about which there is a point."""
        inner: dict[str, int] = {}
        for at, point in enumerate(self.points):
            rows = set(map(_row, point.cells))
            if point.cells and rows <= self.own[at]:
                for row in rows:
                    inner.setdefault(row, at)
        alone = self._alone()
        for members in alone.values():
            for at in members:
                others = [c for c in self.points[at].cells if _row(c) not in self.own[at]]
                strong = [inner[_row(c)] for c in others if self._explains(inner, c)]
                weak = [inner[_row(c)] for c in others if _row(c) in inner]
                found = strong or (weak if len(members) > 1 else [])
                if found:
                    self.leader[at] = self._top(found[0])
                    self.free[at] = False

    def _explains(self, inner: dict[str, int], cell: str) -> bool:
        return _row(cell) in inner and cell in self.points[inner[_row(cell)]].cells

    def by_row(self) -> None:
        """Several statistics of the same runs in one row: one of the runs is probably wrong."""
        for members in self._alone().values():
            for at in members[1:]:
                self.leader[at] = members[0]

    def _alone(self) -> dict[tuple[str, frozenset[str]], list[int]]:
        """Points of statistics that follow no other point, by their row and the rows behind it."""
        found: dict[tuple[str, frozenset[str]], list[int]] = defaultdict(list)
        for at, point in enumerate(self.points):
            if not point.cells or self.leader[at] != at or len(self.own[at]) != 1:
                continue
            others = frozenset(map(_row, point.cells)) - self.own[at]
            if others and point.check == "summaries":
                found[(_row(point.cells[0]), others)].append(at)
        return found


def _merged(points: Sequence[Point], members: Sequence[int]) -> Point:
    """The leader, with the most serious severity, and the relations of the others."""
    first = points[members[0]]
    if len(members) == 1:
        return first
    others = [points[at] for at in members[1:]]
    severity = min((p.severity for p in (first, *others)), key=SEVERITIES.index)
    here = {_row(cell) for cell in first.cells[:1]}
    subjects = [
        other.subject
        if not other.cells or _row(other.cells[0]) in here
        else f"{other.subject} ({_row(other.cells[0])})"
        for other in others
    ]
    names = [name for name in dict.fromkeys(subjects) if name != first.subject]
    common = [c for c in first.cells if all(c in other.cells for other in others)]
    cell = next((c for c in common if not _is_row(c)), "")
    what = f"{cell.split(':', 2)[2]} ({_row(cell)})" if cell else _rows_in_words(first)
    return replace(
        first,
        severity=severity,
        means=f"{first.means} Other points about {what}: {listed(names, NAMED)}."
        if names
        else first.means,
        cells=(*((cell,) if cell else ()), *(c for c in first.cells if c != cell)),
    )


def _rows_in_words(point: Point) -> str:
    rows = _own_rows(point)
    return f"the row ({min(rows)})" if len(rows) == 1 else "these rows"


# --- rows that differ by one factor ---------------------------------------------------------


def _blocks(points: Sequence[Point]) -> Iterator[Point]:
    """Points of one relation that all differ by the same factor, as one point."""
    kinds: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        if point.check == "relations" and ": " in point.subject and len(point.cells) > 1:
            kinds[point.subject.partition(": ")[0]].append(point)
    blocks: dict[int, tuple[Point, set[int]]] = {}
    for name, members in kinds.items():
        factor = _common_factor(members)
        if factor is not None:
            inside = {id(p) for p in members}
            blocks[id(members[0])] = (_block(name, members, factor), inside)
    inside = {one for _, ids in blocks.values() for one in ids}
    for point in points:
        if id(point) in blocks:
            yield blocks[id(point)][0]
        elif id(point) not in inside:
            yield point


def _common_factor(points: Sequence[Point]) -> float | None:
    """Stated / found, if it is the same in all these rows and that of another unit."""
    factors = []
    for point in points:
        stated, found = _NUMBER.findall(point.stated), _NUMBER.findall(point.found)
        if not stated or not found:
            return None
        a, b = (float(text.replace(",", "")) for text in (stated[-1], found[0]))
        if a * b <= 0:
            return None
        factors.append(a / b)
    if len(factors) < BLOCK or max(factors) > (1 + SAME_FACTOR) * min(factors):
        return None
    factor = math.exp(math.fsum(map(math.log, factors)) / len(factors))
    return factor if max(factor, 1 / factor) >= OTHER_UNIT else None


def _block(name: str, members: Sequence[Point], factor: float) -> Point:
    ratio = max(factor, 1 / factor)
    known = [text for k, text in FACTORS.items() if abs(ratio / k - 1) < SAME_FACTOR]
    near = f", near {known[0]}" if known else ""
    first, last = members[0], members[-1]
    column = name.partition(" = ")[0]
    places = ", ".join(dict.fromkeys(p.subject.partition(": ")[2] for p in members))
    return replace(
        first,
        subject=f"unit of {column} in {len(members)} rows: {places}"
        if len(places) < 80
        else f"unit of {column} in {len(members)} rows, from {first.stated_source.split(' (')[0]} "
        f"to {last.stated_source.split(' (')[0]}",
        means=f"{name} fails in these rows by the same factor {ratio:.4g}{near}: one of the "
        "numbers has another unit in these rows.",
        cells=tuple(point.cells[0] for point in members),
    )
