"""Where the change comes from: the deciding phase's task times and resources, with intervals."""

from __future__ import annotations

from windtunnel.analysis import Analysis, Effect
from windtunnel.analysis.findings import RESOURCES, STAGES
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.report.charts.forest import forest
from windtunnel.report.charts.parts import Drawing


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """The forest of the first finding's phase; None where nothing but elapsed time is known."""
    rows = chosen(analysis)
    if len(rows) < 2:
        return None
    return forest([(_label(e), e) for e in rows], width, "change against the baseline")


def describe(analysis: Analysis) -> str:
    """The plot in words."""
    rows = chosen(analysis)
    clear = [_label(e) for e in rows if e.distinguishable]
    said = f"clearly changed: {', '.join(clear)}" if clear else "none changed clearly"
    return f"Forest plot of task times and resources in {phase(analysis)}; {said}."


def phase(analysis: Analysis) -> str:
    """The phase that holds most of the first finding's change."""
    return (analysis.findings[0].phase or TOTAL) if analysis.findings else TOTAL


def chosen(analysis: Analysis) -> list[Effect]:
    """Effects of the first finding's phase on elapsed time, stages and resources, in that order."""
    if not analysis.findings:
        return []
    about = analysis.findings[0].effect
    order = [ELAPSED, *STAGES, *RESOURCES]
    rows = [
        e
        for e in analysis.effects
        if (e.factor, e.level, e.workload) == (about.factor, about.level, about.workload)
        and e.phase == phase(analysis)
        and e.metric in order
        and e.relative is not None
    ]
    return sorted(rows, key=lambda e: order.index(e.metric))


def _label(e: Effect) -> str:
    if e.metric in STAGES:
        return f"{STAGES[e.metric]} task time"
    return RESOURCES[e.metric][0] if e.metric in RESOURCES else "elapsed"
