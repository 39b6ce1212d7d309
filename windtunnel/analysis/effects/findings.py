"""Findings: sentences with the effect, its interval, the phase, the resource and caveats."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.effects.rounds import MOST_ROUNDS, rounds_needed
from windtunnel.analysis.formatting import (
    digits,
    percent,
    percent_interval,
    quantity,
)
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.statistics.summary import INDICATIVE_BELOW, POWER

STAGES = {
    "map_time": "map",
    "shuffle_time": "shuffle",
    "merge_time": "merge",
    "reduce_time": "reduce",
}
"""Task times of the stages of a MapReduce job; the stage with the largest change is named."""

RESOURCES = {
    "cpu_time": ("CPU time", "CPU"),
    "gc_time": ("garbage collection", "GC"),
    "spilled_records": ("spilled records", "spill"),
    "file_bytes_written": ("local bytes written", "local disk"),
    "file_bytes_read": ("local bytes read", "local disk"),
    "hdfs_bytes_read": ("HDFS bytes read", "HDFS"),
    "hdfs_bytes_written": ("HDFS bytes written", "HDFS"),
    "reduce_shuffle_bytes": ("bytes shuffled", "network"),
}
"""Metrics that indicate a resource: (words, resource)."""

MOVED_AT_LEAST = 0.05
MOST = 0.50
"""A phase is named only if it contains more than this fraction of the change."""
EVIDENCE_SHOWN = 3
FACTOR_FROM = 5.0
"""A detectable ratio from this on is stated as a factor, because its percentage is hard to read."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A metric, or a stage, that changed in the same direction as the elapsed time."""

    metric: str
    words: str
    relative: float | None
    absolute: float
    unit: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement with its numbers.

    ``distinguishable`` is None if there is no interval. ``phase`` is the phase with most of the
    change, if a difference is detected in that phase; else None. ``phase_share`` is the
    fraction of the total's change that is in the phase with the largest part (above 1 if other
    phases changed in the other direction). ``brief`` is the statement without caveats, for a
    list that states the common caveats once.
    """

    text: str
    effect: Effect
    distinguishable: bool | None
    phase: str | None
    phase_share: float | None
    stage: Moved | None
    moved: tuple[Moved, ...]
    caveats: tuple[str, ...]
    brief: str = ""


EQUAL = "printed times are equal, so the spread is unknown and not 0"
LOWEST = 0.02
"""The smallest ratio that is distinguished from 0."""


def findings(effects: Sequence[Effect], beside: Collection[tuple[str, str]] = ()) -> list[Finding]:
    """One finding per factor level and workload: detected effects first, then by size.

    ``beside`` are the reference phases, as (workload, phase): they are no part of the total.
    """
    effects = [e for e in effects if (e.workload, e.phase) not in beside]
    totals = [e for e in effects if e.phase == TOTAL and e.metric == ELAPSED]
    found = [_finding(total, effects) for total in totals]
    return sorted(found, key=lambda f: (f.distinguishable is not True, -effect_size(f.effect)))


def effect_size(e: Effect) -> float:
    """Distance of the ratio from 1 in either direction, on logarithms; -1 if it is unknown."""
    return -1.0 if e.relative is None else abs(math.log(max(1 + e.relative, LOWEST)))


def missed(e: Effect) -> str:
    """The minimum detectable effect in both directions."""
    after = f", after correction for {e.comparisons} comparisons" if e.comparisons > 1 else ""
    return (
        f"the minimum detectable effect is {_detectable(e)} "
        f"({percent(POWER, signed=False)} power{after})"
    )


def _rounds(e: Effect) -> str:
    """The number of rounds that a difference of the measured size needs."""
    rounds = rounds_needed(e)
    if rounds is None:
        return ""
    many = f"about {rounds:,.0f}" if math.isfinite(rounds) else f"more than {MOST_ROUNDS:,}"
    return f"; to detect {percent(e.relative)}, a study needs {many} rounds"


def _detectable(e: Effect) -> str:
    """The detectable ratio r and its inverse, 1 / r, each minus 1; a large ratio as a factor."""
    ratio = 1 + (e.detectable or 0.0)
    if ratio < FACTOR_FROM:
        return f"{percent(ratio - 1)} / {percent(1 / ratio - 1)}"
    return "a factor above 100" if ratio > 100 else f"a factor of {ratio:.0f}"


def spread_out(share: float | None) -> bool:
    """Whether no phase holds most of the change."""
    return share is not None and share <= MOST


def _finding(total: Effect, effects: Sequence[Effect]) -> Finding:
    same = [
        e
        for e in effects
        if (e.factor, e.level, e.workload) == (total.factor, total.level, total.workload)
    ]
    clear = total.distinguishable
    phase, share = _phase(total, same) if clear is not False else (None, None)
    within = [e for e in same if e.phase == (phase or TOTAL)]
    leading = next((e for e in within if e.metric == ELAPSED), total)
    stage = _stage(leading, within) if clear is not False else None
    moved = _moved(leading, within) if clear is not False else ()
    caveats = tuple(_caveats(total))
    reason = _reason(phase, share, stage, moved)
    text = _sentence(total, reason, caveats)
    return Finding(
        text, total, clear, phase, share, stage, moved, caveats, brief=_brief(total, reason)
    )


def _phase(total: Effect, same: Sequence[Effect]) -> tuple[str | None, float | None]:
    """The phase with most of the change, if a change is detected in it, and its fraction."""
    parts = [e for e in same if e.metric == ELAPSED and e.phase != TOTAL]
    if len(parts) < 2 or total.absolute == 0:
        return None, None
    largest = max(parts, key=lambda e: e.absolute / total.absolute)
    share = largest.absolute / total.absolute
    return (largest.phase if share > MOST and largest.distinguishable else None), share


def _stage(leading: Effect, within: Sequence[Effect]) -> Moved | None:
    """The stage of the job whose task time changed most, in the direction of the elapsed time."""
    stages = [
        e
        for e in within
        if e.metric in STAGES and e.absolute * leading.absolute > 0 and e.distinguishable
    ]
    if not stages:
        return None
    most = max(stages, key=lambda e: abs(e.absolute))
    return Moved(most.metric, STAGES[most.metric], most.relative, most.absolute, most.unit)


def _moved(leading: Effect, within: Sequence[Effect]) -> tuple[Moved, ...]:
    """Resource metrics with a detected change of at least 5 % in the same direction.

    One per resource, the largest first. They changed together with the elapsed time, which does
    not prove that they caused its change.
    """
    rows = [
        e
        for e in within
        if e.metric in RESOURCES
        and e.relative is not None
        and abs(e.relative) >= MOVED_AT_LEAST
        and e.absolute * leading.absolute > 0
        and e.distinguishable
    ]
    best: dict[str, Effect] = {}
    for e in sorted(rows, key=lambda e: -effect_size(e)):
        best.setdefault(RESOURCES[e.metric][1], e)
    return tuple(
        Moved(e.metric, RESOURCES[e.metric][0], e.relative, e.absolute, e.unit)
        for e in list(best.values())[:EVIDENCE_SHOWN]
    )


def _caveats(total: Effect) -> list[str]:
    n = min(total.n, total.n_baseline)
    caveats = []
    if total.predicted:
        caveats.append("predicted")
    elif n < 2:
        caveats.append("n = 1, the spread is unknown")
    elif n < INDICATIVE_BELOW:
        caveats.append(f"n = {n} per cell, indicative")
    if total.equal:
        caveats.append(EQUAL)
    if total.comparisons > 1 and total.distinguishable:
        caveats.append(f"detected after correction for {total.comparisons} comparisons")
    if total.comparison == "main effect":
        caveats.append(
            f"main effect, {total.matched} treatments against {total.matched}, which includes "
            "the effects that the design confounds with it"
        )
    elif total.matched > 1:
        caveats.append(f"averaged over {total.matched} combinations of the other factors")
    return caveats


def _sentence(total: Effect, reason: str, caveats: Sequence[str]) -> str:
    lead = f"{total.factor} {total.baseline} -> {total.level}: {total.workload} total "
    span = percent_interval(total.ci_low, total.ci_high, total.relative)
    interval = f"{span} (95 %)" if total.ci_low is not None else span
    tail = f" ({'; '.join(caveats)})" if caveats else ""
    if total.distinguishable is False:
        floor = f"; {missed(total)}{_rounds(total)}" if total.detectable else ""
        size = f"{percent(total.relative)} {interval}"
        if total.clear_alone and total.p is not None and total.p_adjusted is not None:
            return (
                f"{lead}{size}, not detected after correction for {total.comparisons} comparisons "
                f"(p {digits(total.p)}, corrected {digits(total.p_adjusted)}){floor}{tail}"
            )
        return f"{lead}no difference detected, {size}{floor}{tail}"
    return f"{lead}{percent(total.relative)} {interval}{_seconds(total)}{reason}{tail}"


def _brief(total: Effect, reason: str) -> str:
    """The sentence without the caveats that a list of findings states once."""
    lead = f"{total.factor} {total.baseline} -> {total.level}: {total.workload} total"
    size = percent(total.relative)
    if total.ci_low is not None:
        size += f" {percent_interval(total.ci_low, total.ci_high, total.relative)}"
    if total.distinguishable is not False:
        return f"{lead} {size}{_seconds(total)}{reason}"
    word = "not detected after correction" if total.clear_alone else "no difference detected"
    floor = ""
    if total.detectable:
        floor = f"; minimum detectable effect {_detectable(total)}{_rounds(total)}"
    return f"{lead} {word}, {size}{floor}"


def _reason(
    phase: str | None, share: float | None, stage: Moved | None, moved: Sequence[Moved]
) -> str:
    """The phase of the change, and the metrics that changed with it."""
    text = ""
    if phase is not None and share is not None:
        text += f"; {percent(share, signed=False)} of the change is in {phase}"
        text += f", most in its {stage.words} stage" if stage else ""
    elif spread_out(share):
        text += "; the change is distributed over the phases"
    if moved:
        text += "; also changed: " + ", ".join(f"{m.words} {percent(m.relative)}" for m in moved)
    return text


def _seconds(total: Effect) -> str:
    """The change in seconds; empty if its direction differs from that of the ratio.

    The directions can differ if combinations of very different duration are averaged: all have
    the same weight in the ratio, and the longest dominate the seconds.
    """
    if total.relative is not None and total.relative * total.absolute < 0:
        return ""
    return f", {quantity(total.absolute, 's', signed=True)}"
