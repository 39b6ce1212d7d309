"""Section "Best level per factor": for each factor with three levels or more."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.cost.best_level import Rival, Winner, winners
from windtunnel.analysis.formatting import listed, quantity, with_interval
from windtunnel.report.sections.base import Section, Table, column


def section(analysis: Analysis) -> Section | None:
    """None if no factor has three levels."""
    found = analysis.once(winners)
    if not found:
        return None
    known = any(rival.low is not None for w in found for rival in w.rivals)
    return Section(
        id="winners",
        title="Best level per factor",
        lead="" if known else "The spread is unknown: the order may be due to chance",
        said=[_sentence(winner, known=known) for winner in _first(found)],
        tables=[_table(found, known=known)],
        hint="Lower is better. Ratios of geometric means"
        + ("; intervals: Tukey's HSD on logarithms, " if known else ".")
        + ("simultaneous 95 % confidence for all pairs of levels." if known else ""),
        data=[{**asdict(w), "tied": w.tied} for w in found],
    )


def _first(found: list[Winner]) -> list[Winner]:
    """The best levels for the first workload of each factor; the table has the others."""
    first: dict[str, str] = {}
    return [w for w in found if first.setdefault(w.factor, w.workload) == w.workload]


def _sentence(w: Winner, *, known: bool) -> str:
    lead = f"{w.factor}, {w.workload}, {w.words}: {w.level} is best ({quantity(w.mean, w.unit)}"
    if not known:
        return f"{lead})"
    lead += f", n = {w.n})"
    if any(rival.low is None for rival in w.rivals):
        return f"{lead}; the spread is unknown, so the order may be due to chance"
    if not w.tied:
        return (
            f"{lead}; all other levels are higher, the next is {w.rivals[0].level} with "
            f"{_more(w.rivals[0])}"
        )
    clear = [rival.level for rival in w.rivals if rival.distinguishable]
    rest = f"; higher: {listed(clear)}" if clear else ""
    return f"{lead}; no difference from {listed(w.tied)} was detected{rest}"


def _more(rival: Rival, *, known: bool = True) -> str:
    low, high = (None if bound is None else bound - 1 for bound in (rival.low, rival.high))
    return with_interval(rival.ratio - 1, low, high, known=known)


def _table(found: list[Winner], *, known: bool) -> Table:
    rows: list[list[str]] = []
    strong = set()
    for w in found:
        strong.add(len(rows))
        rows.append([f"{w.workload}: {w.words}", w.level, quantity(w.mean, w.unit), "best"])
        rows += [["", r.level, quantity(r.mean, w.unit), _more(r, known=known)] for r in w.rivals]
    return Table(
        "Levels in order, compared with the best",
        column("workload: metric", "level", "mean", "difference from the best", text=2),
        rows,
        frozenset(strong),
    )
