"""Selects the pairs of treatments to compare, so that an effect is that of one factor."""

from __future__ import annotations

from collections import Counter
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
    design), but the design has the same number of treatments at both levels, and the levels of
    each other factor are equally frequent at both. Only the average over *all* pairs is an
    effect of the factor; it includes the effects that the design confounds with it, and those
    of factors that always change together with it.

    No pairs: the difference between the levels would contain a part of the main effect of
    another factor (a design that is not orthogonal).
    """

    kind: Kind
    pairs: list[tuple[str, str]]


def match(treatments: Sequence[Treatment], factor: str, level: str, baseline: str) -> Matching:
    """The pairs with which two levels of a factor are compared."""
    pairs = matched_treatments(treatments, factor, level, baseline)
    if pairs:
        return Matching("matched", pairs)
    ours = [t for t in treatments if t.levels.get(factor) == level]
    base = [t for t in treatments if t.levels.get(factor) == baseline]
    others = dict.fromkeys(f for t in treatments for f in t.levels if f != factor)
    even = len(ours) == len(base) and all(
        _frequencies(ours, other) == _frequencies(base, other)
        or (_identical(treatments, ours, other) and _identical(treatments, base, other))
        for other in others
    )
    ids = [(a.id, b.id) for a, b in zip(ours, base, strict=True)] if even else []
    return Matching("main effect", ids)


def _frequencies(treatments: Sequence[Treatment], factor: str) -> Counter[str | None]:
    """The number of treatments at each level of a factor."""
    return Counter(t.levels.get(factor) for t in treatments)


def _identical(treatments: Sequence[Treatment], chosen: Sequence[Treatment], factor: str) -> bool:
    """Whether the chosen treatments are exactly those at one level of the factor."""
    levels = _frequencies(chosen, factor)
    return len(levels) == 1 and all(
        _frequencies(treatments, factor)[level] == n for level, n in levels.items()
    )


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
