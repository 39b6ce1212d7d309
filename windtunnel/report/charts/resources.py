"""Task times and resources of the phase that contributes most to the change, with intervals."""

from __future__ import annotations

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.effects.findings import RESOURCES, STAGES
from windtunnel.analysis.effects.overview import leading_phase, moved_with_it
from windtunnel.report.charts.forest import forest
from windtunnel.report.charts.parts import Drawing


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """The forest plot of the first finding's phase; None if only elapsed time is known."""
    rows = moved_with_it(analysis)
    if len(rows) < 2:
        return None
    return forest([(_label(e), e) for e in rows], width, "change against the baseline")


def describe(analysis: Analysis) -> str:
    """The plot in words."""
    rows = moved_with_it(analysis)
    clear = [_label(e) for e in rows if e.distinguishable]
    said = f"changes detected: {', '.join(clear)}" if clear else "no change detected"
    return f"Forest plot of task times and resources in {leading_phase(analysis)}; {said}."


def _label(e: Effect) -> str:
    if e.metric in STAGES:
        return f"{STAGES[e.metric]} task time"
    return RESOURCES[e.metric][0] if e.metric in RESOURCES else "elapsed"
