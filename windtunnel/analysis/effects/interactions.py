"""Interactions of two factors: the effect of one factor at each level of the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.analysis.effects.common_rounds import compared
from windtunnel.analysis.effects.effects import (
    Effect,
    are_printed,
    baseline_of,
    effect,
    model_errors,
    pool_of,
)
from windtunnel.analysis.effects.pairing import matched_treatments
from windtunnel.analysis.observations import ELAPSED
from windtunnel.analysis.statistics.summary import contrast
from windtunnel.results.record import StudyRecord


@dataclass(frozen=True, slots=True)
class Corner:
    """Geometric mean of the elapsed time, s, at these levels of the two factors.

    The mean is over the treatments with these levels; the 95 % interval is that of this mean
    alone (Welch on logs), None if the spread is unknown.
    """

    across: str
    line: str
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Interaction:
    """Two factors on one workload and phase.

    ``across`` is the factor on the axis, ``line`` the factor with one line per level;
    ``within`` holds the effect of ``across`` (its last level against its baseline, or the
    first level that is not the baseline) at each level of ``line``.
    """

    workload: str
    phase: str
    across: str
    line: str
    corners: list[Corner]
    within: list[tuple[str, Effect]]


def interaction(
    study: StudyRecord,
    table: Mapping[Key, Sample],
    where: tuple[str, str],
    across: str,
    line: str,
    level: str,
) -> Interaction:
    """The interaction on ``where`` (workload, phase); ``level`` is that of ``across``."""
    workload, phase = where
    corners = [
        corner
        for b in study.factors[line]
        for a in study.factors[across]
        if (corner := _corner(study, table, where, {across: a, line: b})) is not None
    ]
    within = [
        (b, found)
        for b in study.factors[line]
        if (found := _within(study, table, where, (across, level), (line, b))) is not None
    ]
    return Interaction(workload, phase, across, line, corners, within)


def _corner(
    study: StudyRecord,
    table: Mapping[Key, Sample],
    where: tuple[str, str],
    levels: Mapping[str, str],
) -> Corner | None:
    samples = [
        table.get((t.id, *where, ELAPSED))
        for t in study.treatments
        if all(t.levels.get(factor) == level for factor, level in levels.items())
    ]
    known = [s for s in samples if s is not None and min(s.values) > 0]
    values = [s.values for s in known]
    if not values or len(values) < len(samples):
        return None
    terms = [(1 / len(values), [math.log(v) for v in each]) for each in values]
    on_logs = contrast(terms, printed=any(s.printed for s in known))
    span = on_logs.interval()
    across, line = levels.values()
    return Corner(
        across=across,
        line=line,
        mean=math.exp(on_logs.estimate),
        low=None if span is None else math.exp(max(span[0], -700.0)),
        high=None if span is None else math.exp(min(span[1], 700.0)),
    )


def _within(
    study: StudyRecord,
    table: Mapping[Key, Sample],
    where: tuple[str, str],
    across: tuple[str, str],
    line: tuple[str, str],
) -> Effect | None:
    """The effect of a level of one factor among the treatments with one level of the other."""
    factor, level = across
    baseline = baseline_of(study, factor)
    there = [t for t in study.treatments if t.levels.get(line[0]) == line[1]]
    sides = []
    for ours, base in matched_treatments(there, factor, level, baseline):
        a, b = table.get((ours, *where, ELAPSED)), table.get((base, *where, ELAPSED))
        if a is not None and b is not None:
            sides.append((a, b))
    if not sides:
        return None
    about = (factor, level, baseline, *where, ELAPSED, sides[0][0].unit)
    values, paired = compared(sides)
    error = pool_of(study, table, (*where, ELAPSED))
    return effect(
        about,
        values,
        paired=paired,
        error=error,
        model=model_errors(sides),
        printed=are_printed(sides),
    )
