"""Selects the pairs of treatments to compare, so that an effect is that of one factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from windtunnel.results.record import Treatment

Kind = Literal["matched", "main effect"]


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of treatment ids (at the level, at the baseline level).

    ``matched``: the treatments of each pair differ in this factor only.
    ``main effect``: no two treatments differ in this factor alone (a fractional factorial
    design), but the design has the same number of treatments at both levels. Only the average
    over *all* pairs is an effect of the factor; it includes the effects that the design
    confounds with it.
    """

    kind: Kind
    pairs: list[tuple[str, str]]


def match(treatments: Sequence[Treatment], factor: str, level: str, baseline: str) -> Matching:
    """The pairs with which two levels of a factor are compared."""
    pairs = matched_treatments(treatments, factor, level, baseline)
    if pairs:
        return Matching("matched", pairs)
    ours = [t.id for t in treatments if t.levels.get(factor) == level]
    base = [t.id for t in treatments if t.levels.get(factor) == baseline]
    even = len(ours) == len(base)
    return Matching("main effect", list(zip(ours, base, strict=True)) if even else [])


def matched_treatments(
    treatments: Sequence[Treatment], factor: str, level: str, baseline: str
) -> list[tuple[str, str]]:
    """Pairs of treatment ids (level, baseline) that differ in this factor only."""

    def others(treatment: Treatment) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((f, v) for f, v in treatment.levels.items() if f != factor))

    base = {others(t): t.id for t in treatments if t.levels.get(factor) == baseline}
    return [
        (t.id, base[others(t)])
        for t in treatments
        if t.levels.get(factor) == level and others(t) in base
    ]
