"""The tables that every report has: effects, cells, invalid trials. Finished words, no layout."""

from __future__ import annotations

from windtunnel.analysis import Analysis, Cell, Effect
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.words import digits, percent, percent_interval, quantity
from windtunnel.report.sections.base import Column, Table

_EFFECTS = (
    Column("level : baseline", weight=3),
    Column("phase", weight=2),
    Column("change", numeric=True, weight=3),
    Column("interval", numeric=True, weight=2),
    Column("absolute", numeric=True, weight=1),
    Column("detectable", numeric=True, weight=0),
)
_CELLS = (
    Column("workload phase", weight=3),
    Column("treatment", weight=3),
    Column("n", numeric=True, weight=1),
    Column("mean", numeric=True, weight=3),
    Column("95 % interval", numeric=True, weight=2),
    Column("CV", numeric=True, weight=0),
)
_INVALID = (
    Column("trial", weight=3),
    Column("round", numeric=True, weight=0),
    Column("treatment", weight=2),
    Column("reason", weight=3),
)


def effects_table(analysis: Analysis, *, totals_only: bool = False) -> Table | None:
    """Effects on elapsed time against the baseline; the totals lead, and are strong.

    ``totals_only``: without the phases, the largest first.
    """
    groups: dict[tuple[str, str, str], list[Effect]] = {}
    for e in analysis.effects:
        if e.metric == ELAPSED and not analysis.is_whole(e.workload, e.phase):
            groups.setdefault((e.factor, e.level, e.workload), []).append(e)
    ordered = [
        e
        for group in groups.values()
        for e in sorted(group, key=lambda e: e.phase != TOTAL)
        if not totals_only or e.phase == TOTAL or len(group) == 1
    ]
    if not ordered:
        return None
    if totals_only:
        ordered.sort(key=lambda e: -abs(e.relative or 0.0))
    several = len(analysis.phases) > 1
    return Table(
        caption="Effects on elapsed time, against the baseline (95 % intervals)",
        columns=_EFFECTS,
        rows=[_effect(e, several) for e in ordered],
        strong=frozenset(i for i, e in enumerate(ordered) if e.phase == TOTAL),
    )


def _effect(e: Effect, several: bool) -> tuple[str, ...]:
    return (
        f"{e.factor} {e.level} : {e.baseline}",
        f"{e.workload} {e.phase}" if several else e.phase,
        percent(e.relative),
        percent_interval(e.ci_low, e.ci_high, e.relative),
        _absolute(e),
        percent(e.detectable, signed=False),
    )


def _absolute(e: Effect) -> str:
    text = quantity(e.absolute, e.unit, signed=True)
    if e.absolute_ci_low is None or e.absolute_ci_high is None:
        return text
    return f"{text} [{digits(e.absolute_ci_low)}, {digits(e.absolute_ci_high)}]"


def cells_table(analysis: Analysis) -> Table | None:
    """Mean elapsed time of each phase at each treatment."""
    elapsed = (c for c in analysis.cells if c.metric == ELAPSED)
    cells = [c for c in elapsed if not analysis.is_whole(c.workload, c.phase)]
    if not cells:
        return None
    order = {name: i for i, name in enumerate(analysis.treatments())}
    ranks = analysis.ranks
    cells.sort(key=lambda c: (c.workload, ranks[(c.workload, c.phase)], order[c.treatment]))
    indicative = any(c.indicative for c in cells)
    return Table(
        caption="Elapsed time by phase and treatment",
        columns=_CELLS,
        rows=[_cell(c) for c in cells],
        hint="* fewer than 5 trials: indicative" if indicative else "",
    )


def _cell(c: Cell) -> tuple[str, ...]:
    span = "unknown"
    if c.ci_low is not None and c.ci_high is not None:
        span = f"{digits(c.ci_low)} to {digits(c.ci_high)}"
    return (
        f"{c.workload} {c.phase}",
        c.treatment,
        f"{c.n}{' *' if c.indicative else ''}",
        quantity(c.mean, c.unit),
        span,
        percent(c.cv, signed=False),
    )


def invalid_table(analysis: Analysis) -> Table | None:
    """Invalid trials with their reasons."""
    rows = [
        (t.id, str(t.round), t.treatment, t.reason or "not recorded")
        for t in analysis.trials
        if t.verdict == "invalid"
    ]
    if not rows:
        return None
    return Table("Invalid trials: kept, shown, never averaged", _INVALID, rows)
