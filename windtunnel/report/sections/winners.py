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
    return f"{_lead(w, known=known)}{_difference(w, known=known)}{_missing(w)}"


def _lead(w: Winner, *, known: bool) -> str:
    """The best level with its mean, and the levels of the other factors."""
    n = f", n = {w.n}" if known else ""
    mean = quantity(w.mean, w.unit)
    return f"{w.factor}{_at(w)}, {w.workload}, {w.words}: {w.level} is best ({mean}{n})"


def _at(w: Winner) -> str:
    """`` at net 10``: the levels of the other factors; empty if none of them varies."""
    return f" at {listed([f'{f} {level}' for f, level in w.others])}" if w.others else ""


def _difference(w: Winner, *, known: bool) -> str:
    """Which of the other levels differ from the best."""
    if not known:
        return ""
    if any(rival.low is None for rival in w.rivals):
        return "; the spread is unknown, so the order may be due to chance"
    if not w.tied:
        first = w.rivals[0]
        return f"; all other levels are higher, the next is {first.level} with {_more(first)}"
    clear = [rival.level for rival in w.rivals if rival.distinguishable]
    rest = f"; higher: {listed(clear)}" if clear else ""
    return f"; no difference from {listed(w.tied)} was detected{rest}"


def _missing(w: Winner) -> str:
    if not w.missing:
        return ""
    return f"; not compared, because a value is missing: {listed(list(w.missing))}"


def _more(rival: Rival, *, known: bool = True) -> str:
    low, high = (None if bound is None else bound - 1 for bound in (rival.low, rival.high))
    return with_interval(rival.ratio - 1, low, high, known=known)


def _table(found: list[Winner], *, known: bool) -> Table:
    rows: list[list[str]] = []
    strong = set()
    for w in found:
        strong.add(len(rows))
        rows.append([f"{w.workload}: {w.words}{_at(w)}", w.level, quantity(w.mean, w.unit), "best"])
        rows += [["", r.level, quantity(r.mean, w.unit), _more(r, known=known)] for r in w.rivals]
        rows += [["", level, "unknown", "not compared"] for level in w.missing]
    return Table(
        "Levels in order, compared with the best",
        column("workload: metric", "level", "mean", "difference from the best", text=2),
        rows,
        frozenset(strong),
    )
