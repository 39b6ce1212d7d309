"""Effects on elapsed time: each level against the baseline, by phase, with intervals."""

from __future__ import annotations

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.overview import LEVELS_SHOWN, by_level
from windtunnel.analysis.observations import TOTAL
from windtunnel.report.charts.forest import domain, forest, size
from windtunnel.report.charts.parts import Drawing, stack


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """One forest plot per factor level on a common scale, largest first; None without effects."""
    groups = by_level(analysis)[:LEVELS_SHOWN]
    if not groups:
        return None
    scale = domain([e for _, effects in groups for e in effects])
    count = len(by_level(analysis))
    left = f"; the {LEVELS_SHOWN} largest of {count}" if count > LEVELS_SHOWN else ""
    plots = []
    for (factor, level, baseline, workload), effects in groups:
        ordered = sorted(effects, key=lambda e: e.phase != TOTAL)
        rows = [(e.phase, e) for e in ordered]
        title = "change of elapsed time against the baseline" + left
        head = f"{factor}: {level} against {baseline}, {workload}"
        plots.append({**forest(rows, width, title, scale), "title": head})
    return stack(*plots, spacing=28)


def describe(analysis: Analysis) -> str:
    """The plot in words: every total with its interval."""
    totals = [
        e for _, effects in by_level(analysis)[:LEVELS_SHOWN] for e in effects if e.phase == TOTAL
    ]
    said = [f"{e.factor} {e.level} against {e.baseline} on {e.workload}: {size(e)}" for e in totals]
    return "Forest plot of effects on elapsed time. " + ". ".join(said) + "."
