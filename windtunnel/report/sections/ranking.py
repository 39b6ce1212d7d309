"""Section "Factor ranking": factors and interactions by the variance that they explain."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.anova import Anova
from windtunnel.analysis.effects.ranking import Entry, Ranking, said, share
from windtunnel.analysis.formatting import digits, percent, percent_interval, plural
from windtunnel.analysis.observations import TOTAL
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.known import INTERVALS_UNKNOWN, without_unknown

CONFOUNDED_SHOWN = 8
DETECTED_FIRST = "Largest change: the largest one that was detected, if any was detected."


def section(analysis: Analysis) -> Section | None:
    """The ranking of each workload; None if fewer than two factors were varied."""
    found = analysis.rankings
    if not found:
        return None
    return Section(
        id="ranking",
        title="Factor ranking",
        lead=_lead(found),
        said=[*(sentence for ranking in found for sentence in said(ranking)), *_aliases(found[0])],
        charts=("ranking", "interactions"),
        tables=[table for ranking in found for table in _tables(ranking)],
        hint=_hint(found),
        data=[_data(ranking) for ranking in found],
    )


def _lead(found: list[Ranking]) -> str:
    if any(ranking.tables for ranking in found):
        return (
            "Analysis of variance of the logarithm of elapsed time: the fraction of the variance "
            "between the trials that each factor explains, with 95 % intervals"
        )
    why = found[0].why[0].upper() + found[0].why[1:]
    largest = [e.effect for ranking in found for e in ranking.entries if e.effect is not None]
    if largest and all(effect.ci_low is None for effect in largest):
        return f"{why}. {INTERVALS_UNKNOWN.capitalize()}"
    return why


def _aliases(ranking: Ranking) -> list[str]:
    """The effects that the design cannot separate (aliased effects)."""
    lines = ranking.confounded[:CONFOUNDED_SHOWN]
    more = len(ranking.confounded) - len(lines)
    said = [f"the design does not separate these effects: {line}" for line in lines]
    return (
        [*said, f"the JSON export has {plural(more, 'more line')} of this kind"] if more else said
    )


def _hint(found: list[Ranking]) -> str:
    total = next((r.total for r in found if r.total is not None), None)
    if total is None:
        return ""
    source = (
        "The error is the spread of repeated trials"
        if total.error_from == "repetition"
        else "No trial was repeated: the error is estimated from the interactions, which are "
        "assumed to be zero"
    )
    mixed = "" if total.interactions else " The design cannot separate interactions."
    return (
        f"Least squares, type II sums of squares. {_blocks(total)} {source} ({total.error_df} "
        "degrees of freedom). Variance explained: omega squared; it applies to the levels of this "
        "study, levels that differ more explain more. p values are corrected for all "
        f"{len(total.terms)} terms (Holm).{mixed}"
    )


def _blocks(total: Anova) -> str:
    """Whether the rounds are blocks; if not, the reason."""
    if total.blocks_df:
        return (
            "Rounds are blocks: the variance between rounds is removed before the fractions are "
            "computed."
        )
    if total.rounds == 0:
        return "The rounds of the trials are unknown, so they are not blocks."
    if total.rounds == 1:
        return "All trials are in one round, so there are no blocks."
    return "Rounds are not blocks, because at least one round has only one treatment."


def _tables(ranking: Ranking) -> list[Table]:
    if ranking.total is None:
        return [_by_range(ranking)]
    tables = [_by_share(ranking, ranking.total)]
    several = len(ranking.tables) > 2  # the total and at least two phases
    return [*tables, _by_phase(ranking)] if several else tables


def _by_range(ranking: Ranking) -> Table:
    names = ("factor", "slowest : fastest", "largest change", "95 % interval", "level : baseline")
    rows = [[entry.name, percent(entry.range), *_largest(entry)] for entry in ranking.entries]
    strong = frozenset(i for i, entry in enumerate(ranking.entries) if entry.clear)
    caption = f"{ranking.workload}, total: factors by the range of their effects"
    made = Table(caption, column(*names), rows, strong, hint=DETECTED_FIRST if strong else "")
    return without_unknown(made, "95 % interval")


def _largest(entry: Entry) -> list[str]:
    e = entry.effect
    if e is None:
        return ["", "", ""]
    span = percent_interval(e.ci_low, e.ci_high, e.relative)
    return [percent(e.relative), span, f"{e.level} : {e.baseline}"]


def _by_share(ranking: Ranking, total: Anova) -> Table:
    names = ("term", "variance", "95 % interval", "df", "F", "p corrected", "slowest : fastest")
    rows = []
    for entry in ranking.entries:
        t = entry.term
        if t is None:
            continue
        rows.append(
            [
                t.name,
                percent(t.share, signed=False),
                percent_interval(t.share_low, t.share_high, t.share, signed=False),
                str(t.df),
                _f(t.f),
                probability(t.p_adjusted),
                "" if entry.range is None else percent(entry.range),
            ]
        )
    strong = frozenset(i for i, entry in enumerate(ranking.entries) if entry.clear)
    if total.blocks_df:
        rows.append(["rounds (blocks)", "", "", str(total.blocks_df), "", "", ""])
    rows.append(["error", "", "", str(total.error_df), "", "", ""])
    caption = f"{ranking.workload}, total: analysis of variance of {total.trials} trials"
    made = Table(caption, column(*names), rows, strong, hint=DETECTED_FIRST if strong else "")
    return without_unknown(made, "95 % interval")


def _by_phase(ranking: Ranking) -> Table:
    """Explained variance by phase; effects that were not detected are in brackets."""
    by_phase = {each.phase: {t.name: t for t in each.terms} for each in ranking.tables}
    rows = []
    for entry in ranking.entries:
        row = [entry.name]
        for terms in by_phase.values():
            term = terms.get(entry.name)
            text = "" if term is None else share(term)
            row.append(text if term is None or term.clear else f"({text})")
        rows.append(row)
    return Table(
        f"{ranking.workload}: variance explained, %, by phase",
        column("term", *(TOTAL if phase == TOTAL else phase for phase in by_phase)),
        rows,
        hint="in brackets: not detected after correction within the phase",
    )


def _f(value: float) -> str:
    return digits(value) if value < 1e6 else "very large"


def probability(p: float | None) -> str:
    """A p value as text; never 0."""
    if p is None:
        return "unknown"
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def _data(ranking: Ranking) -> dict[str, Any]:
    return {
        "workload": ranking.workload,
        "by": "share of variance" if ranking.tables else "range of effects",
        "why": ranking.why,
        "entries": [
            {
                "name": entry.name,
                "share": None if entry.term is None else entry.term.share,
                "share_low": None if entry.term is None else entry.term.share_low,
                "share_high": None if entry.term is None else entry.term.share_high,
                "range": entry.range,
                "clear": entry.clear,
            }
            for entry in ranking.entries
        ],
        "anova": [asdict(table) for table in ranking.tables],
        "interactions": [asdict(each) for each in ranking.interactions],
        "confounded": ranking.confounded,
    }
