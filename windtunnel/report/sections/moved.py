"""Section "Related changes": task times and counters of the phase with the largest change."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.overview import leading_phase, moved_with_it
from windtunnel.analysis.formatting import percent, percent_interval, quantity
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.known import without_unknown


def section(analysis: Analysis) -> Section | None:
    """None if only elapsed time is known."""
    rows = moved_with_it(analysis)
    if len(rows) < 2:
        return None
    phase = leading_phase(analysis)
    names = ("metric", "baseline mean", "level mean", "change", "95 % interval")
    table = Table(
        f"Task times and counters of {phase}",
        column(*names),
        [
            (
                e.metric,
                quantity(e.mean_baseline, e.unit),
                quantity(e.mean, e.unit),
                percent(e.relative),
                percent_interval(e.ci_low, e.ci_high, e.relative),
            )
            for e in rows
        ],
        folded=True,
    )
    return Section(
        id="moved",
        title=f"Related changes: {phase}",
        lead="Task times and counters of the phase that contributes most to the change. A "
        "correlated change is not necessarily the cause.",
        charts=("resources",),
        tables=[without_unknown(table, "95 % interval")],
        data=[asdict(e) for e in rows],
        group="why",
    )
