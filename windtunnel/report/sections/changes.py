"""A table of effects of one metric: what changed, by how much, and whether it is clear."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.analysis import Effect
from windtunnel.analysis.words import percent, percent_interval
from windtunnel.report.sections.base import Table, column


def changes(caption: str, effects: Sequence[Effect]) -> list[Table]:
    """One row per effect, those that are clear set strong; no table without effects."""
    if not effects:
        return []
    rows = [
        (
            e.workload,
            f"{e.factor} {e.level} : {e.baseline}",
            percent(e.relative),
            percent_interval(e.ci_low, e.ci_high, e.relative),
            _verdict(e),
        )
        for e in effects
    ]
    columns = (*column("workload", "level : baseline", text=2), *column("change", "95 %", text=0))
    strong = frozenset(place for place, e in enumerate(effects) if e.distinguishable)
    return [Table(caption, (*columns, *column("difference")), rows, strong)]


def _verdict(e: Effect) -> str:
    if e.distinguishable is None:
        return "spread unknown"
    if e.distinguishable:
        return "found"
    return "not after correction" if e.clear_alone else "not found"
