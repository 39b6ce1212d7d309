"""Findings: sentences built from numbers. Effect, interval, phase, resource, caveat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.analysis.cells import Cell
from windtunnel.analysis.effects import Effect
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.ranking import Ranking, lead
from windtunnel.analysis.stats import INDICATIVE_BELOW, POWER
from windtunnel.analysis.words import digits, listed, percent, percent_interval, quantity
from windtunnel.results.record import StudyRecord

STAGES = {
    "map_time": "map",
    "shuffle_time": "shuffle",
    "merge_time": "merge",
    "reduce_time": "reduce",
}
"""Task times that split a MapReduce job; the one that moved most names the stage."""

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
"""Metrics that stand for a resource: (words, resource)."""

MOVED_AT_LEAST = 0.05
MOST = 0.50
"""A phase is named only if more than this share of the change lies in it."""
EVIDENCE_SHOWN = 3
WORKLOADS_SAID = 3


@dataclass(frozen=True, slots=True)
class Moved:
    """A metric that moved with the elapsed time, or the stage that did."""

    metric: str
    words: str
    relative: float | None
    absolute: float
    unit: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement with its numbers.

    ``distinguishable`` is None where there is no interval. ``phase`` holds most of the change and
    differs clearly itself; else it is None. ``phase_share`` is the part of the total's change
    that lies in the phase with most of it (a ratio; above 1 if others moved the other way).
    """

    text: str
    effect: Effect
    distinguishable: bool | None
    phase: str | None
    phase_share: float | None
    stage: Moved | None
    moved: tuple[Moved, ...]
    caveats: tuple[str, ...]


def findings(effects: Sequence[Effect]) -> list[Finding]:
    """One finding per factor level and workload, the clearest and largest first."""
    totals = [e for e in effects if e.phase == TOTAL and e.metric == ELAPSED]
    found = [_finding(total, effects) for total in totals]
    return sorted(
        found, key=lambda f: (f.distinguishable is not True, -abs(f.effect.relative or 0.0))
    )


def answer(
    study: StudyRecord,
    found: Sequence[Finding],
    cells: Sequence[Cell],
    rankings: Sequence[Ranking] = (),
) -> str:
    """The study's answer in one sentence: with several factors, what matters most."""
    leads = [sentence for ranking in rankings if (sentence := lead(ranking)) is not None]
    if leads:
        return _matters(rankings, leads)
    if not found:
        return _plain_answer(study, cells)
    clear = [f for f in found if f.distinguishable]
    if not clear:
        return _no_answer(found)
    first = clear[0]
    e = first.effect
    faster = (e.relative or 0.0) < 0
    size = percent(abs(e.relative or 0.0), signed=False)
    where = ""
    if first.phase is not None:
        where = f", mostly in the {first.phase} phase"
        where += f" ({first.stage.words} stage)" if first.stage else ""
    elif _spread_out(first.phase_share):
        where = ", spread over the phases"
    more = f"; {len(clear) - 1} more of {len(found)} effects are clear" if len(clear) > 1 else ""
    n = min(e.n, e.n_baseline)
    hint = f"; indicative, n = {n} per cell" if n < INDICATIVE_BELOW else ""
    word = "less" if faster else "more"
    return (
        f"{e.workload} takes {size} {word} time{_range(e)} with {e.factor} {e.level} "
        f"than with {e.baseline}{where}{hint}{more}."
    )


def _matters(rankings: Sequence[Ranking], leads: Sequence[str]) -> str:
    more = f"; {len(leads) - WORKLOADS_SAID} more workloads below"
    effects = [entry.effect for ranking in rankings for entry in ranking.entries]
    n = min((min(e.n, e.n_baseline) for e in effects if e is not None), default=None)
    hint = f"; indicative, n = {n} per cell" if n is not None and n < INDICATIVE_BELOW else ""
    return (
        "; ".join(leads[:WORKLOADS_SAID])
        + (more if len(leads) > WORKLOADS_SAID else "")
        + (f"{hint}.")
    )


def _range(e: Effect) -> str:
    """The interval of a clear effect in words; empty where there is none."""
    if e.ci_low is None or e.ci_high is None:
        return ""
    low, high = sorted((abs(e.ci_low), abs(e.ci_high)))
    bounds = percent_interval(low, high, e.relative).strip("[]").replace("+", "")
    return f" (95 % interval {bounds.replace(', ', ' to ')} %)"


def _plain_answer(study: StudyRecord, cells: Sequence[Cell]) -> str:
    totals = [c for c in cells if c.phase == TOTAL and c.metric == ELAPSED]
    if not totals:
        known = sorted({f"{c.metric} ({c.unit})" for c in cells})
        if not known:
            return "No valid trial yet: there is nothing to say."
        return f"No elapsed time is known: the trials tell no more than {listed(known)}."
    parts = []
    for c in totals[:4]:
        span = (
            "spread unknown, one trial"
            if c.ci_low is None or c.ci_high is None
            else f"95 % interval {quantity(max(c.ci_low, 0.0), c.unit)} "
            f"to {quantity(c.ci_high, c.unit)}, n = {c.n}"
        )
        parts.append(f"{c.workload} at {c.treatment} takes {quantity(c.mean, c.unit)} ({span})")
    more = f"; {len(totals) - 4} more cells below" if len(totals) > 4 else ""
    note = "" if not study.factors else "; no two levels can be compared yet"
    return "; ".join(parts) + more + note + "."


def _no_answer(found: Sequence[Finding]) -> str:
    first = found[0].effect
    if found[0].distinguishable is None:
        return (
            f"Nothing can be concluded: {first.factor} {first.level} against {first.baseline} "
            f"is {percent(first.relative)} on {first.workload}, with too few trials for an "
            "interval."
        )
    seen = [f.effect for f in found if f.effect.detectable is not None]
    floor = f"; {_missed(max(seen, key=lambda e: e.detectable or 0.0))}" if seen else ""
    names = listed([f"{f.effect.factor} {f.effect.level}" for f in found])
    return (
        f"No difference found in elapsed time between {names} and the baseline "
        f"{first.baseline}{floor}."
    )


def _missed(e: Effect) -> str:
    """The smallest detectable change both ways: the detectable ratio r and its mirror, 1 / r."""
    up = e.detectable or 0.0
    down = 1 / (1 + up) - 1
    after = f", after correction for {e.comparisons} comparisons" if e.comparisons > 1 else ""
    return (
        f"differences smaller than about {percent(up)} / {percent(down)} "
        f"may well have been missed ({percent(POWER, signed=False)} power{after})"
    )


def _spread_out(share: float | None) -> bool:
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
    text = _sentence(total, phase, share, stage, moved, caveats)
    return Finding(text, total, clear, phase, share, stage, moved, caveats)


def _phase(total: Effect, same: Sequence[Effect]) -> tuple[str | None, float | None]:
    """The phase that holds most of the change and differs clearly itself, and the largest share."""
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
    """Resource metrics that moved the same way, clearly and by at least 5 %, largest first.

    One per resource. They moved with the elapsed time; that they caused it is not proven.
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
    for e in sorted(rows, key=lambda e: -abs(e.relative or 0.0)):
        best.setdefault(RESOURCES[e.metric][1], e)
    return tuple(
        Moved(e.metric, RESOURCES[e.metric][0], e.relative, e.absolute, e.unit)
        for e in list(best.values())[:EVIDENCE_SHOWN]
    )


def _caveats(total: Effect) -> list[str]:
    n = min(total.n, total.n_baseline)
    caveats = []
    if n < 2:
        caveats.append("n = 1, the spread is unknown")
    elif n < INDICATIVE_BELOW:
        caveats.append(f"n = {n} per cell, indicative")
    if total.comparisons > 1 and total.distinguishable:
        caveats.append(f"clear after correction for {total.comparisons} comparisons")
    if total.comparison == "main effect":
        caveats.append(
            f"main effect, {total.matched} treatments against {total.matched}: it holds what "
            "the design confounds with it"
        )
    elif total.matched > 1:
        caveats.append(f"averaged over {total.matched} combinations of the other factors")
    return caveats


def _sentence(
    total: Effect,
    phase: str | None,
    share: float | None,
    stage: Moved | None,
    moved: Sequence[Moved],
    caveats: Sequence[str],
) -> str:
    lead = f"{total.factor} {total.baseline} -> {total.level}: {total.workload} total "
    span = percent_interval(total.ci_low, total.ci_high, total.relative)
    interval = f"{span} (95 %)" if total.ci_low is not None else span
    tail = f" ({'; '.join(caveats)})" if caveats else ""
    if total.distinguishable is False:
        floor = f"; {_missed(total)}" if total.detectable else ""
        size = f"{percent(total.relative)} {interval}"
        if total.clear_alone and total.p is not None and total.p_adjusted is not None:
            return (
                f"{lead}{size}, not clear after correction for {total.comparisons} comparisons "
                f"(p {digits(total.p)}, corrected {digits(total.p_adjusted)}){floor}{tail}"
            )
        return f"{lead}no difference found, {size}{floor}{tail}"
    text = f"{lead}{percent(total.relative)} {interval}{_seconds(total)}"
    if phase is not None and share is not None:
        text += f"; {percent(share, signed=False)} of the change is in {phase}"
        text += f", most in its {stage.words} stage" if stage else ""
    elif _spread_out(share):
        text += "; the change is spread over the phases"
    if moved:
        text += "; with it " + ", ".join(f"{m.words} {percent(m.relative)}" for m in moved)
    return text + tail


def _seconds(total: Effect) -> str:
    """The change in seconds; nothing where it points the other way.

    It does where combinations of very different length are averaged: ratios weigh all alike,
    seconds the longest most.
    """
    if total.relative is not None and total.relative * total.absolute < 0:
        return ""
    return f", {quantity(total.absolute, 's', signed=True)}"
