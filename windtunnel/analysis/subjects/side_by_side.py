"""Ratios of one effect from three sources: published, measured, predicted; and their agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from windtunnel.analysis.subjects.claims import Evidence

Source = Literal["published", "measured", "predicted"]
SOURCES: tuple[Source, ...] = ("published", "measured", "predicted")
LARGE = 0.10
"""Effects above this fraction have a direction that counts."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """The ratio level / baseline of a phase's elapsed time; None where a source has no value."""

    workload: str
    phase: str
    factor: str
    level: str
    baseline: str
    published: Evidence | None
    measured: Evidence | None
    predicted: Evidence | None

    def of(self, source: Source) -> Evidence | None:
        """The ratio of one source."""
        found: Evidence | None = getattr(self, source)
        return found


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far the ratios of one source are from those of a reference.

    ``error`` is the mean of ``abs(ratio / reference - 1)`` over ``ratios`` effects; ``right`` of
    ``large`` effects whose reference differs from 1 by more than :data:`LARGE` have the same
    direction.
    """

    source: Source
    reference: Source
    ratios: int
    error: float
    large: int
    right: int


def agreements(rows: Sequence[Ratios]) -> list[Agreement]:
    """The agreement of each pair of sources that have effects in common."""
    pairs: list[tuple[Source, Source]] = [
        ("measured", "published"),
        ("predicted", "published"),
        ("predicted", "measured"),
    ]
    found = [_agreement(source, reference, rows) for source, reference in pairs]
    return [one for one in found if one is not None]


def _agreement(source: Source, reference: Source, rows: Sequence[Ratios]) -> Agreement | None:
    both = [(row.of(source), row.of(reference)) for row in rows]
    known = [(one.ratio, truth.ratio) for one, truth in both if one and truth]
    if not known:
        return None
    large = [(one, truth) for one, truth in known if max(truth, 1.0 / truth) - 1.0 > LARGE]
    return Agreement(
        source,
        reference,
        len(known),
        fmean(abs(one / truth - 1.0) for one, truth in known),
        len(large),
        sum((one > 1.0) == (truth > 1.0) for one, truth in large),
    )
