"""What a section of the report is made of: sentences, charts, tables, data. No layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.analysis import Analysis


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; ``numeric`` ones are set flush right.

    Where a table is too wide, columns of the least ``weight`` are left out first, of these the
    last.
    """

    name: str
    numeric: bool = False
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """A table of finished words. ``strong`` holds the places of rows that matter most."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    strong: frozenset[int] = frozenset()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report, the same for terminal, page and JSON.

    ``said`` are statements in full sentences without the last stop; ``charts`` are ids of
    :data:`windtunnel.report.charts.CHARTS` (the page draws them, the terminal does not);
    ``data`` is plain data for the JSON export, under the section's id. ``answer`` is what the whole
    report says first, where this section answers the study's question and elapsed times do not.
    """

    id: str
    title: str
    lead: str = ""
    said: Sequence[str] = ()
    charts: Sequence[str] = ()
    tables: Sequence[Table] = ()
    hint: str = ""
    data: Any = field(default=None)
    answer: str | None = None


Maker = Callable[[Analysis], Section | None]


def column(*names: str, text: int = 1) -> tuple[Column, ...]:
    """Columns of which the first ``text`` hold words and the others numbers."""
    return tuple(Column(name, place >= text) for place, name in enumerate(names))
