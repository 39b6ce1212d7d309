"""Ranking of factors and interactions by the variance that they explain.

Without an analysis of variance (one factor at a time, no repetition), the factors are sorted
by the range of their effects, and the ranking states the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.analysis.effects.anova import Anova, Term, anova, one_at_a_time, separated, varied
from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.analysis.effects.effects import Effect, baseline_of
from windtunnel.analysis.effects.interactions import Interaction, interaction
from windtunnel.analysis.formatting import listed, percent, percent_interval, with_interval
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.results.record import StudyRecord

INTERACTIONS_SHOWN = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A factor or an interaction in the ranking.

    ``term`` is its row in the analysis of variance, if there is one. ``range`` is the time of
    the slowest level divided by that of the fastest, minus 1. ``effect`` is the largest detected
    one against the baseline; the largest one if none is detected. Both are None for interactions.
    """

    name: str
    term: Term | None
    range: float | None
    effect: Effect | None

    @property
    def clear(self) -> bool:
        """Whether its effect is detected, after correction."""
        if self.term is not None:
            return self.term.clear
        return self.effect is not None and self.effect.distinguishable is True


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking for one workload's total, strongest first.

    ``tables`` holds the analysis of variance of the total and of each phase; it is empty if the
    order is by range, and ``why`` then states the reason. ``interactions`` are the strongest.
    """

    workload: str
    entries: list[Entry]
    tables: list[Anova]
    interactions: list[Interaction]
    why: str
    confounded: list[str]

    @property
    def total(self) -> Anova | None:
        """The analysis of variance of the total."""
        return self.tables[0] if self.tables else None


def rankings(
    study: StudyRecord,
    table: Mapping[Key, Sample],
    effects: Sequence[Effect],
    phases: Mapping[str, Sequence[str]],
) -> list[Ranking]:
    """One ranking per workload; none if fewer than two factors were varied."""
    if len(varied(study)) < 2:
        return []
    made = (_ranking(study, table, effects, w, phases[w]) for w in phases)
    return [ranking for ranking in made if ranking.entries]


def _ranking(
    study: StudyRecord,
    table: Mapping[Key, Sample],
    effects: Sequence[Effect],
    workload: str,
    phases: Sequence[str],
) -> Ranking:
    named = [phase for phase in phases if phase != TOTAL]
    order = [TOTAL, *(named if len(named) > 1 else [])]
    made = [anova(study, table, workload, phase) for phase in order]
    tables = [each for each in made if each is not None] if made[0] is not None else []
    sizes = {factor: _size(factor, workload, effects) for factor in varied(study)}
    if tables:
        entries = [
            Entry(term.name, term, *sizes.get(term.name, (None, None))) for term in tables[0].terms
        ]
    else:
        entries = [Entry(name, None, *size) for name, size in sizes.items() if size[1] is not None]
        entries.sort(key=lambda e: -_detected_range(e.name, workload, effects))
    return Ranking(
        workload=workload,
        entries=entries,
        tables=tables,
        interactions=_strongest(study, table, workload, tables[0], sizes) if tables else [],
        why="" if tables else _why(study),
        confounded=list(study.design.confounded),
    )


def _size(
    factor: str, workload: str, effects: Sequence[Effect]
) -> tuple[float | None, Effect | None]:
    """Slowest level over fastest level, minus 1, and the largest effect against the baseline.

    Detected effects come before larger ones whose noise hides a difference.
    """
    known = _on_logs(factor, workload, effects)
    if not known:
        return None, None
    largest = max(known, key=lambda pair: (pair[0].distinguishable is True, abs(pair[1])))[0]
    return _range([log for _, log in known]), largest


def _detected_range(factor: str, workload: str, effects: Sequence[Effect]) -> float:
    """The range over the detected effects and the baseline; over all effects if none is."""
    known = _on_logs(factor, workload, effects)
    detected = [log for e, log in known if e.distinguishable is True]
    return _range(detected or [log for _, log in known])


def _range(logs: Sequence[float]) -> float:
    """Slowest over fastest, minus 1, from logarithms of ratios to the baseline."""
    return math.expm1(max(0.0, *logs) - min(0.0, *logs))


def _on_logs(factor: str, workload: str, effects: Sequence[Effect]) -> list[tuple[Effect, float]]:
    """The factor's effects on the workload's total time, with their logarithms."""
    return [
        (e, math.log1p(e.relative))
        for e in effects
        if (e.factor, e.workload, e.phase, e.metric) == (factor, workload, TOTAL, ELAPSED)
        and e.relative is not None
        and e.relative > -1
    ]


def _why(study: StudyRecord) -> str:
    if one_at_a_time(study):
        return (
            "each factor was varied alone: the factors are sorted by the range of their "
            "effects, and interactions cannot be estimated"
        )
    if not separated(study):
        return (
            "the treatments do not separate the factors, because some change together: the "
            "factors are sorted by the range of their effects"
        )
    if study.kind == "predicted":
        return "times are predicted: the factors are sorted by the range of their effects"
    return (
        "the error cannot be estimated (no repetition, trials are missing, or treatments differ "
        "only between rounds): the factors are sorted by the range of their effects"
    )


def _strongest(
    study: StudyRecord,
    table: Mapping[Key, Sample],
    workload: str,
    total: Anova,
    sizes: Mapping[str, tuple[float | None, Effect | None]],
) -> list[Interaction]:
    """The interactions that explain most; the factor with more levels is on the axis."""
    found = []
    for term in [t for t in total.terms if len(t.factors) == 2][:INTERACTIONS_SHOWN]:
        ordered = sorted(
            term.factors, key=lambda f: (-len(study.factors[f]), -(sizes[f][0] or 0.0))
        )
        across, line = ordered
        largest = sizes[across][1]
        level = largest.level if largest is not None else _other(study, across)
        found.append(interaction(study, table, (workload, TOTAL), across, line, level))
    return found


def _other(study: StudyRecord, factor: str) -> str:
    """A level that is not the baseline."""
    return next(level for level in study.factors[factor] if level != baseline_of(study, factor))


def said(ranking: Ranking) -> list[str]:
    """The ranking in sentences: the detected effects, strongest first, then the others."""
    clear = [entry for entry in ranking.entries if entry.clear]
    unclear = [entry.name for entry in ranking.entries if not entry.clear]
    sentences = [_sentence(ranking, entry, first=place == 0) for place, entry in enumerate(clear)]
    if not clear:
        sentences.append(f"{ranking.workload}: no effect was detected")
    if unclear:
        after = f" after correction for {len(ranking.entries)} terms" if ranking.tables else ""
        sentences.append(f"{ranking.workload}: not detected{after}: {listed(unclear, 8)}")
    return sentences


def first_place(ranking: Ranking) -> Entry | None:
    """The factor or interaction in the first place; None if no effect is detected."""
    return next((entry for entry in ranking.entries if entry.clear), None)


def led_by(firsts: Sequence[tuple[Ranking, Entry]]) -> str:
    """A factor and its effect on each of the workloads on which it is first."""
    name, by_variance = firsts[0][1].name, firsts[0][1].term is not None
    largest = [entry.effect for _, entry in firsts if entry.effect is not None]
    changes = {f"{e.baseline} -> {e.level}" for e in largest}
    same = len(changes) == 1 and len(largest) == len(firsts)
    head = f"{name} {changes.pop()}" if same else name
    verb = " matters most for" if by_variance else " has the largest effect on"
    each = [_first_words(ranking, entry, level=not same) for ranking, entry in firsts]
    words = " and ".join([", ".join(each[:-1]), each[-1]]) if len(each) > 1 else each[0]
    return f"{head}{verb} {words}"


def _first_words(ranking: Ranking, entry: Entry, *, level: bool) -> str:
    """``terasort total (+170 % [+148, +194])``, with the levels or the variance if required."""
    parts = []
    if entry.effect is not None:
        e = entry.effect
        parts.append(_level(e) if level else _change(e))
    if entry.term is not None:
        parts.append(f"{share(entry.term)} of the variance")
    return f"{ranking.workload} total" + (f" ({'; '.join(parts)})" if parts else "")


def _sentence(ranking: Ranking, entry: Entry, *, first: bool) -> str:
    parts = []
    if entry.term is not None:
        parts.append(f"{share(entry.term)} of the variance of {ranking.workload} total")
    if entry.effect is not None:
        parts.append(_level(entry.effect))
    members = set(entry.term.factors) if entry.term is not None else set()
    drawn = [each for each in ranking.interactions if {each.across, each.line} == members]
    parts.extend(_at_levels(each) for each in drawn)
    head = "matters most" if first else "also matters"
    if entry.term is None and first:
        head = f"has the largest effect on {ranking.workload} total"
    return f"{entry.name} {head}: {'; '.join(parts)}"


def share(term: Term) -> str:
    """``71 % [55, 83]``."""
    span = percent_interval(term.share_low, term.share_high, term.share, signed=False)
    return f"{percent(term.share, signed=False)} {span}"


def _level(e: Effect) -> str:
    return f"{e.baseline} -> {e.level}: {_change(e)}"


def _change(e: Effect) -> str:
    return with_interval(e.relative, e.ci_low, e.ci_high, known=False)


def _at_levels(found: Interaction) -> str:
    if not found.within:
        return f"the effect of {found.across} depends on {found.line}"
    e = found.within[0][1]
    each = [
        f"{percent(x.relative)} {percent_interval(x.ci_low, x.ci_high, x.relative)} "
        f"at {found.line} {level}"
        for level, x in found.within
    ]
    return f"{found.across} {e.baseline} -> {e.level} is {', '.join(each)}"
