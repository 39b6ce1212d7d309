"""The answer of a study in one sentence, from its findings, rankings and cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.effects.findings import Finding, effect_size, missed, spread_out
from windtunnel.analysis.effects.ranking import Entry, Ranking, first_place, led_by
from windtunnel.analysis.formatting import listed, percent, percent_interval, plural, quantity
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.statistics.summary import INDICATIVE_BELOW
from windtunnel.results.record import StudyRecord

THINGS_NAMED = 3
"""Maximum number of items in the first sentence; the overview has the others."""


def answer(
    study: StudyRecord,
    found: Sequence[Finding],
    cells: Sequence[Cell],
    rankings: Sequence[Ranking] = (),
    names: Mapping[str, str] | None = None,
) -> str:
    """The study's answer in one sentence; with several factors, the one that matters most.

    ``names`` are the names of the treatments, by id.
    """
    if any(first_place(ranking) is not None for ranking in rankings):
        return _matters(rankings)
    if not found:
        return _plain_answer(study, cells, names or {})
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
    elif spread_out(first.phase_share):
        where = ", distributed over the phases"
    more = f"; {len(clear)} of {len(found)} effects were detected" if len(clear) > 1 else ""
    n = min(e.n, e.n_baseline)
    hint = f"; indicative, n = {n} per cell" if n < INDICATIVE_BELOW else ""
    hint = "; predicted" if e.predicted else hint
    word = "less" if faster else "more"
    return (
        f"{e.workload} takes {size} {word} time{_range(e)} with {e.factor} {e.level} "
        f"than with {e.baseline}{where}{hint}{more}."
    )


def _matters(rankings: Sequence[Ranking]) -> str:
    """The factors that matter most and their workloads, the largest effect first."""
    firsts = [(r, entry) for r in rankings if (entry := first_place(r)) is not None]
    firsts.sort(key=lambda pair: -_size(pair[1]))
    named = firsts[:THINGS_NAMED]
    parts: list[str] = []
    for name in dict.fromkeys(entry.name for _, entry in named):
        own = [(ranking, entry) for ranking, entry in named if entry.name == name]
        parts.append(led_by(own))
    left = len(firsts) - len(named)
    more = f"; {plural(left, 'more workload')} below" if left else ""
    effects = [entry.effect for ranking in rankings for entry in ranking.entries]
    n = min((min(e.n, e.n_baseline) for e in effects if e is not None), default=None)
    hint = f"; indicative, n = {n} per cell" if n is not None and n < INDICATIVE_BELOW else ""
    hint = "; intervals unknown, n = 1 per treatment" if n == 1 else hint
    hint = "; predicted" if any(e is not None and e.predicted for e in effects) else hint
    return f"{'; '.join(parts)}{more}{hint}."


def _size(entry: Entry) -> float:
    """Size of the largest effect."""
    return effect_size(entry.effect) if entry.effect is not None else 0.0


def _range(e: Effect) -> str:
    """The interval of a detected effect in words; empty if there is none."""
    if e.ci_low is None or e.ci_high is None:
        return ""
    low, high = sorted((abs(e.ci_low), abs(e.ci_high)))
    bounds = percent_interval(low, high, e.relative).strip("[]").replace("+", "")
    return f" (95 % interval {bounds.replace(', ', ' to ')} %)"


def _plain_answer(study: StudyRecord, cells: Sequence[Cell], names: Mapping[str, str]) -> str:
    totals = [c for c in cells if c.phase == TOTAL and c.metric == ELAPSED]
    if not totals:
        known = sorted({f"{c.metric} ({c.unit})" for c in cells})
        if not known:
            if study.kind == "published":
                return "The results of this study are not in this catalogue."
            return "There is no valid trial yet."
        return f"No elapsed time is known: the trials contain only {listed(known)}."
    shown = totals[:THINGS_NAMED]
    single = all(c.n == 1 for c in shown)
    parts = []
    for c in shown:
        why = f"n = {c.n}, printed times are equal" if c.equal else "one trial"
        span = "" if single else f" (spread unknown, {why})"
        if c.ci_low is not None and c.ci_high is not None:
            low, high = quantity(max(c.ci_low, 0.0), c.unit), quantity(c.ci_high, c.unit)
            span = f" (95 % interval {low} to {high}, n = {c.n})"
        where = names.get(c.treatment, c.treatment)
        parts.append(f"{c.workload} at {where} takes {quantity(c.mean, c.unit)}{span}")
    left = len(totals) - len(shown)
    more = f"; {plural(left, 'more cell')} below" if left else ""
    each = " each" if len(shown) > 1 else ""
    note = f" (one trial{each}, spread unknown)" if single else ""
    note += "" if not study.factors else "; no two levels can be compared yet"
    return "; ".join(parts) + more + note + "."


def _no_answer(found: Sequence[Finding]) -> str:
    """No difference was detected, or there are too few trials, with the levels of each of both."""
    compared = [f.effect for f in found if f.distinguishable is not None]
    single = [f.effect for f in found if f.distinguishable is None]
    few = "are too few trials for an interval and a conclusion"
    if any(e.equal for e in single):
        few = "is no interval and no conclusion (too few trials, or equal printed times)"
    if not compared:
        return f"There {few}; {_largest(single)}."
    seen = [e for e in compared if e.detectable is not None]
    floor = f"; {missed(max(seen, key=lambda e: e.detectable or 0.0))}" if seen else ""
    text = f"No difference in elapsed time was detected {_between(compared, single)}{floor}"
    if not single:
        return f"{text}."
    levels = dict.fromkeys(_level(e, compared) for e in single)
    return f"{text}; there {few} on {listed(list(levels), THINGS_NAMED)}: {_largest(single)}."


def _largest(effects: Sequence[Effect]) -> str:
    first = effects[0]
    which = f"largest of {len(effects)} changes" if len(effects) > 1 else "change"
    return (
        f"the {which} is {percent(first.relative)} ({first.workload}, {first.factor} "
        f"{first.level} against {first.baseline})"
    )


def _between(compared: Sequence[Effect], single: Sequence[Effect]) -> str:
    """The baseline of each factor and the levels that were compared with it.

    ``single`` are the effects without an interval.
    """
    parts = []
    factors = dict.fromkeys((e.factor, e.baseline) for e in compared)
    for factor, baseline in factors:
        own = [e for e in compared if e.factor == factor]
        levels = list(dict.fromkeys(_level(e, single) for e in own))
        many = len(levels) > THINGS_NAMED
        if many and len(factors) == 1:
            which = "" if any(e.factor == factor for e in single) else "the "
            others = f"{which}{len(levels)} other levels of {factor}"
        else:
            others = listed(levels, THINGS_NAMED)
        named = f"the baseline {baseline}" if len(factors) == 1 else f"{factor} {baseline}"
        parts.append(f"between {named} and {others}")
    return ", nor ".join(parts)


def _level(effect: Effect, others: Sequence[Effect]) -> str:
    """``net 40``, with the workload if ``others`` have the same level with another workload."""
    level = f"{effect.factor} {effect.level}"
    shared = any((e.factor, e.level) == (effect.factor, effect.level) for e in others)
    return f"{level} ({effect.workload})" if shared else level
