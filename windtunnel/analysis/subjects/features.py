"""Rows of a table of features: what was measured about each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """One cell: what was measured, in words; ``measured`` is False if there is only a reason."""

    system: str
    of: str
    words: str
    measured: bool


@dataclass(frozen=True)
class FeatureRow:
    """A feature with its cells, in the order of the file."""

    name: str
    cells: Sequence[Found]


def systems(rows: Sequence[FeatureRow]) -> list[str]:
    """The systems of the table, in the order of their first cells."""
    return list(dict.fromkeys(cell.system for row in rows for cell in row.cells))
