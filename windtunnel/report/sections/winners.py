"""Section "Who wins": the best level of each factor with three levels or more."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis import Analysis
from windtunnel.analysis.winners import Rival, Winner, winners
from windtunnel.analysis.words import listed, percent, percent_interval, quantity
from windtunnel.report.sections.base import Section, Table, column


def section(analysis: Analysis) -> Section | None:
    """None where no factor has three levels."""
    found = analysis.once(winners)
    if not found:
        return None
    return Section(
        id="winners",
        title="Who wins",
        said=[_sentence(winner) for winner in _first(found)],
        tables=[_table(found)],
        hint="Less is better. Ratios of geometric means; the intervals are those of Tukey's HSD "
        "on logarithms and hold together, at 95 %, for all pairs of levels.",
        data=[{**asdict(w), "tied": w.tied} for w in found],
    )


def _first(found: list[Winner]) -> list[Winner]:
    """Those of each factor's first workload: the table has the others."""
    first: dict[str, str] = {}
    return [w for w in found if first.setdefault(w.factor, w.workload) == w.workload]


def _sentence(w: Winner) -> str:
    lead = f"{w.factor}, {w.workload}, {w.words}: {w.level} is best ({quantity(w.mean, w.unit)}"
    lead += f", n = {w.n})"
    if any(rival.low is None for rival in w.rivals):
        return f"{lead}; the spread is unknown, so the order may be chance"
    if not w.tied:
        return (
            f"{lead}, clearly ahead of {w.rivals[0].level} by {_more(w.rivals[0])} and of the rest"
        )
    clear = [rival.level for rival in w.rivals if rival.distinguishable]
    rest = f"; clearly ahead of {listed(clear)}" if clear else ""
    return f"{lead}, not distinguishable from {listed(w.tied)}{rest}"


def _more(rival: Rival) -> str:
    low, high = rival.low, rival.high
    span = (
        "interval unknown"
        if low is None or high is None
        else percent_interval(low - 1, high - 1, rival.ratio - 1)
    )
    return f"{percent(rival.ratio - 1)} {span}"


def _table(found: list[Winner]) -> Table:
    rows: list[list[str]] = []
    strong = set()
    for w in found:
        strong.add(len(rows))
        rows.append([f"{w.workload}: {w.words}", w.level, quantity(w.mean, w.unit), "best"])
        rows += [["", r.level, quantity(r.mean, w.unit), _more(r)] for r in w.rivals]
    return Table(
        "Levels in order, against the best",
        column("workload: metric", "level", "mean", "more than the best", text=2),
        rows,
        frozenset(strong),
    )
