"""Relations that a table mostly follows: the rows that do not follow them are points.

A relation is tried on every row that has its numbers. It is taken as intended if most rows follow
it within the printed digits and the digits are fine enough that chance cannot explain this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from windtunnel.published.numbers import NumberError, Span
from windtunnel.published.profile import Column, Profile, unit_of
from windtunnel.published.table import Row

FINE = 0.1
"""A test is informative if both numbers together are known to this fraction of their size."""
MOST = 0.7
"""Fraction of the rows that must follow a relation that nobody declared."""
LEAST = 3
"""Rows with different values that must follow such a relation."""


@dataclass(frozen=True)
class Trial:
    """One row of a relation: the stated number and the number that the relation gives.

    ``others`` are the rows of other places from which ``found`` was computed.
    """

    row: Row
    stated: Span
    found: Span
    others: tuple[Row, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether both can be the same number; printed digits may also be cut off.

        Counts and nominal numbers are exact: they have no digits to cut off.
        """
        stated = self.stated
        up = stated.high + (stated.high - stated.value if stated.value >= 0 else 0.0)
        down = stated.low - (stated.value - stated.low if stated.value < 0 else 0.0)
        return Span(stated.value, down, up).meets(self.found)

    @property
    def informative(self) -> bool:
        """Whether agreement says something."""
        width = (self.stated.high - self.stated.low) + (self.found.high - self.found.low)
        size = max(abs(self.stated.value), abs(self.found.value))
        return size > 0 and width <= FINE * size


@dataclass(frozen=True)
class Judged:
    """A relation with its trials: those that follow it and those that do not."""

    fitting: Sequence[Trial]
    failing: Sequence[Trial]

    @property
    def accepted(self) -> bool:
        """Whether most informative rows follow it, and these rows differ."""
        fine = [t for t in self.fitting if t.informative]
        values = {t.stated.value for t in fine}
        return len(values) >= LEAST and len(fine) >= MOST * (len(fine) + len(self.failing))

    @property
    def holds_for_some(self) -> bool:
        """Whether at least half of the rows follow it: enough for a relation of physics."""
        return bool(self.fitting) and len(self.fitting) >= len(self.failing)

    def factor(self) -> float | None:
        """The common ratio stated / found if no row fits and all differ by the same factor."""
        if self.fitting or len(self.failing) < 2:
            return None
        ratios = [t.stated.value / t.found.value for t in self.failing if t.found.value]
        if len(ratios) < 2 or min(ratios) <= 0 or max(ratios) / min(ratios) > 1.03:
            return None
        return sum(ratios) / len(ratios)

    @property
    def one_factor(self) -> bool:
        """Whether the printed digits of different rows permit one and the same factor."""
        fine = [t for t in self.failing if t.informative and t.found.low > 0 < t.stated.low]
        if len(fine) < len(self.failing) or len({t.found.value for t in fine}) < LEAST:
            return False
        lowest = max(t.stated.low / t.found.high for t in fine)
        return lowest <= min(t.stated.high / t.found.low for t in fine) * (1 + 1e-9)


def judged(trials: Iterable[Trial]) -> Judged:
    """The trials of a relation, sorted."""
    all_ = list(trials)
    return Judged([t for t in all_ if t.fits], [t for t in all_ if not t.fits])


def shown(value: float, column: Column, row: Row | None = None) -> str:
    """A number in the unit of its column, as in ``12.5 (elapsed_min)``."""
    factor = column.factor
    if column.unit_column is not None and row is not None:
        unit = row[column.unit_column]
        factor = 60.0 if unit == "m" else (unit_of(unit) or ("", 1.0))[1]
        return f"{figure(value / factor)} {unit}"
    return figure(value / factor)


def figure(value: float) -> str:
    """A number with five significant digits, and without an exponent below 10 million."""
    return f"{value:,.0f}" if 99_999.5 <= abs(value) < 1e7 else f"{value:.5g}"


def place(row: Row, column: str = "") -> str:
    """``runs.csv:12:elapsed_s``: the place of a cell, or of a row."""
    name = f"{row.file.rsplit('/', 1)[-1]}:{row.line}"
    return f"{name}:{column}" if column else name


def spans(profile: Profile, row: Row, columns: Sequence[Column]) -> list[Span] | None:
    """The numbers of a row, None if one of them is missing."""
    try:
        return [profile.span(row, column) for column in columns]
    except NumberError:
        return None
