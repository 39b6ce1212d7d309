"""Section "What matters": factors and interactions by the variance that they explain."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.analysis import Analysis
from windtunnel.analysis.anova import Anova
from windtunnel.analysis.observations import TOTAL
from windtunnel.analysis.ranking import Entry, Ranking, said, share
from windtunnel.analysis.words import digits, percent, percent_interval, plural
from windtunnel.report.sections.base import Section, Table, column

CONFOUNDED_SHOWN = 8


def section(analysis: Analysis) -> Section | None:
    """The ranking of each workload; None where fewer than two factors were varied."""
    found = analysis.rankings
    if not found:
        return None
    return Section(
        id="ranking",
        title="What matters",
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
            "Analysis of variance of the logarithm of elapsed time: how much of the variance "
            "between the trials each factor explains, with 95 % intervals"
        )
    return found[0].why[0].upper() + found[0].why[1:]


def _aliases(ranking: Ranking) -> list[str]:
    """What the design cannot separate, so that a share may belong to another effect."""
    lines = ranking.confounded[:CONFOUNDED_SHOWN]
    more = len(ranking.confounded) - len(lines)
    spoken = [f"the design does not separate: {line}" for line in lines]
    return [*spoken, f"{plural(more, 'more such line')} in the JSON export"] if more else spoken


def _hint(found: list[Ranking]) -> str:
    total = next((r.total for r in found if r.total is not None), None)
    if total is None:
        return ""
    blocks = (
        "Rounds are blocks: what a round's trials share is taken out before the shares are worked "
        "out. "
        if total.blocks_df
        else "Rounds are not blocks here (some round holds one treatment only). "
    )
    source = (
        "The error is the spread of repeated trials"
        if total.error_from == "repetition"
        else "Nothing was repeated: the error is taken from interactions, as if there were none"
    )
    mixed = "" if total.interactions else " Interactions cannot be told apart in this design."
    return (
        f"Least squares, type II sums of squares. {blocks}{source} ({total.error_df} degrees of "
        "freedom). Share: omega squared; it holds for the levels chosen here, wider levels "
        f"explain more. p is corrected for all {len(total.terms)} terms by Holm.{mixed}"
    )


def _tables(ranking: Ranking) -> list[Table]:
    if ranking.total is None:
        return [_by_range(ranking)]
    tables = [_by_share(ranking, ranking.total)]
    several = len(ranking.tables) > 2  # the total, and phases that tell more than it does
    return [*tables, _by_phase(ranking)] if several else tables


def _by_range(ranking: Ranking) -> Table:
    names = ("factor", "slowest : fastest", "largest change", "95 % interval", "level : baseline")
    rows = [[entry.name, percent(entry.range), *_largest(entry)] for entry in ranking.entries]
    strong = frozenset(i for i, entry in enumerate(ranking.entries) if entry.clear)
    caption = f"{ranking.workload}, total: factors by the range of their effects"
    return Table(caption, column(*names), rows, strong)


def _largest(entry: Entry) -> list[str]:
    e = entry.effect
    if e is None:
        return ["", "", ""]
    span = percent_interval(e.ci_low, e.ci_high, e.relative)
    return [percent(e.relative), span, f"{e.level} : {e.baseline}"]


def _by_share(ranking: Ranking, total: Anova) -> Table:
    names = ("term", "share", "95 % interval", "df", "F", "p corrected", "slowest : fastest")
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
    return Table(caption, column(*names), rows, strong)


def _by_phase(ranking: Ranking) -> Table:
    """Shares by phase; what is not clear is in brackets."""
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
        f"{ranking.workload}: share of the variance, %, by phase",
        column("term", *(TOTAL if phase == TOTAL else phase for phase in by_phase)),
        rows,
        hint="in brackets: not clear after correction within the phase",
    )


def _f(value: float) -> str:
    return digits(value) if value < 1e6 else "very large"


def probability(p: float | None) -> str:
    """A p value in words: never 0."""
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
