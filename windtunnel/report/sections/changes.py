"""A table of the effects on one metric: the change, its interval and whether it was detected."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.formatting import percent, percent_interval
from windtunnel.report.sections.base import Table, column
from windtunnel.report.sections.known import without_unknown


def changes(caption: str, effects: Sequence[Effect]) -> list[Table]:
    """One row per effect, detected effects in bold; no table without effects."""
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
    columns = (
        *column("workload", "level : baseline", text=2),
        *column("change", "95 % interval", text=0),
    )
    strong = frozenset(place for place, e in enumerate(effects) if e.distinguishable)
    made = Table(caption, (*columns, *column("difference")), rows, strong)
    return [without_unknown(made, "95 % interval", "difference")]


def _verdict(e: Effect) -> str:
    if e.distinguishable is None:
        return "spread unknown"
    if e.distinguishable:
        return "detected"
    return "not detected after correction" if e.clear_alone else "not detected"
