"""What matters: factors and interactions ordered by the variance that they explain.

Where there is no analysis of variance (one factor at a time, nothing repeated) the factors
are ordered by the range of their effects instead, and the reason is said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.analysis.anova import Anova, Term, anova, one_at_a_time, varied
from windtunnel.analysis.cells import Key, Sample
from windtunnel.analysis.effects import Effect, baseline_of
from windtunnel.analysis.interactions import Interaction, interaction
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.words import listed, percent, percent_interval
from windtunnel.results.record import StudyRecord

INTERACTIONS_SHOWN = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A factor or an interaction in its place.

    ``term`` is its row in the analysis of variance, if there is one. ``range`` is how much
    longer the slowest level takes than the fastest (a ratio minus 1). ``effect`` is the
    largest one against the baseline; both are None for interactions.
    """

    name: str
    term: Term | None
    range: float | None
    effect: Effect | None

    @property
    def clear(self) -> bool:
        """Whether it is more than chance, after correction."""
        if self.term is not None:
            return self.term.clear
        return self.effect is not None and self.effect.distinguishable is True


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of one workload's total, strongest first.

    ``tables`` holds the analysis of variance of the total and of each phase; it is empty where
    the order is by range, and ``why`` then says why. ``interactions`` are the strongest ones.
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
    """One ranking per workload; none where fewer than two factors were varied."""
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
        entries.sort(key=lambda e: -(e.range or 0.0))
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
    """Slowest level over fastest level, minus 1, and the largest effect against the baseline."""
    known = [
        (e, math.log1p(e.relative))
        for e in effects
        if (e.factor, e.workload, e.phase, e.metric) == (factor, workload, TOTAL, ELAPSED)
        and e.relative is not None
        and e.relative > -1
    ]
    if not known:
        return None, None
    logs = [0.0, *(log for _, log in known)]
    largest = max(known, key=lambda pair: abs(pair[1]))[0]
    return math.expm1(max(logs) - min(logs)), largest


def _why(study: StudyRecord) -> str:
    if one_at_a_time(study):
        return (
            "each factor was varied alone: the factors are ordered by the range of their "
            "effects, and interactions cannot be seen"
        )
    return (
        "nothing is left to estimate the error from (no repetition, or trials are missing): "
        "the factors are ordered by the range of their effects"
    )


def _strongest(
    study: StudyRecord,
    table: Mapping[Key, Sample],
    workload: str,
    total: Anova,
    sizes: Mapping[str, tuple[float | None, Effect | None]],
) -> list[Interaction]:
    """The interactions with the largest shares; the factor with more levels goes along."""
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
    """The ranking in sentences: what matters most, what else does, what was not found."""
    clear = [entry for entry in ranking.entries if entry.clear]
    unclear = [entry.name for entry in ranking.entries if not entry.clear]
    sentences = [_sentence(ranking, entry, first=place == 0) for place, entry in enumerate(clear)]
    if not clear:
        sentences.append(f"{ranking.workload}: nothing was found to matter clearly")
    if unclear:
        after = f" after correction for {len(ranking.entries)} terms" if ranking.tables else ""
        sentences.append(f"{ranking.workload}: not clear{after}: {listed(unclear, 8)}")
    return sentences


def lead(ranking: Ranking) -> str | None:
    """The first place in one sentence; None if nothing is clear."""
    first = next((entry for entry in ranking.entries if entry.clear), None)
    return None if first is None else _sentence(ranking, first, first=True)


def _sentence(ranking: Ranking, entry: Entry, *, first: bool) -> str:
    parts = []
    if entry.term is not None:
        parts.append(f"{share(entry.term)} of the variance of {ranking.workload} total")
    if entry.effect is not None:
        parts.append(_level(entry.effect))
    members = set(entry.term.factors) if entry.term is not None else set()
    drawn = [each for each in ranking.interactions if {each.across, each.line} == members]
    parts.extend(_at_levels(each) for each in drawn)
    head = "matters most" if first else "matters too"
    if entry.term is None and first:
        head = f"has the largest effect on {ranking.workload} total"
    return f"{entry.name} {head}: {'; '.join(parts)}"


def share(term: Term) -> str:
    """``71 % [55, 83]``."""
    span = percent_interval(term.share_low, term.share_high, term.share, signed=False)
    return f"{percent(term.share, signed=False)} {span}"


def _level(e: Effect) -> str:
    span = percent_interval(e.ci_low, e.ci_high, e.relative)
    return f"{e.baseline} -> {e.level}: {percent(e.relative)} {span}"


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
