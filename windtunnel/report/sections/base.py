"""The content of a section of the report: sentences, charts, tables and data, without layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from windtunnel.analysis.analyse import Analysis

FIRST = 6
"""Default number of sentences of a section that are shown; the others are folded."""

Group = Literal["answer", "effects", "why", "trials", "trust"]
GROUPS: dict[Group, str] = {
    "answer": "Findings",
    "effects": "Effects",
    "why": "Causes",
    "trials": "Trials",
    "trust": "Validity of the results",
}
"""The groups of sections in their order; each section belongs to one of them."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; ``numeric`` columns are right-aligned.

    If a table is too wide, the columns of the lowest ``weight`` are omitted first, the last
    of them before the others. Consecutive rows with the same text in a ``group`` column form one
    group; a renderer may show that text once. The texts of a column that ``wraps`` may take several
    lines.
    """

    name: str
    numeric: bool = False
    weight: int = 1
    group: bool = False
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of formatted texts. ``strong`` holds the indices of the most important rows.

    ``alert`` holds (row, column) of the cells that need attention. A ``folded`` table holds
    details: a renderer that supports folding shows only its caption until the user opens it.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    strong: frozenset[int] = frozenset()
    hint: str = ""
    alert: frozenset[tuple[int, int]] = frozenset()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A warning: the condition, its severity and the advice."""

    id: str
    severity: str
    text: str
    advice: str
    rule: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report, the same for terminal, page, Markdown and JSON.

    ``said`` are full sentences without the final full stop. ``charts`` are ids of
    :data:`windtunnel.report.charts.CHARTS`: the page draws them, the terminal does not.
    ``data`` is plain data for the JSON export, under the section's id. ``answer`` is the first
    sentence of the report if this section, and not the elapsed times, answers the study's
    question.

    ``group`` decides the place of the section. ``first`` is the number of sentences in ``said``
    that are shown before the others are folded (None: all). ``unclear`` holds the indices of
    sentences about an effect that was not detected. ``details`` are charts that are folded.
    ``brief`` is the section in one line, for renderers that fold it.
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
    group: Group = "effects"
    notes: Sequence[Note] = ()
    first: int | None = FIRST
    unclear: frozenset[int] = frozenset()
    details: Sequence[str] = ()
    brief: str = ""

    @property
    def shown(self) -> bool:
        """Whether the section has content to show; otherwise it is only data."""
        return any((self.lead, self.said, self.charts, self.tables, self.notes, self.details))

    @property
    def line(self) -> str:
        """The section in one line: ``brief``, else the first sentence, else the lead."""
        return self.brief or next(iter(self.said), "") or self.lead


Maker = Callable[[Analysis], Section | None]


def column(*names: str, text: int = 1) -> tuple[Column, ...]:
    """Columns: the first ``text`` columns hold texts, the others numbers."""
    return tuple(Column(name, place >= text) for place, name in enumerate(names))
