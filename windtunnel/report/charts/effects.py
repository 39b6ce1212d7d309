"""Effects on elapsed time: each level against the baseline, by phase, with intervals."""

from __future__ import annotations

from windtunnel.analysis import Analysis, Effect
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.words import percent, percent_interval
from windtunnel.report.charts.forest import forest
from windtunnel.report.charts.parts import Drawing, stack

LEVELS_SHOWN = 12


def draw(analysis: Analysis, width: int) -> Drawing | None:
    """One forest per factor level, the total first; None without effects."""
    groups = grouped(analysis)
    if not groups:
        return None
    plots = []
    for (factor, level, baseline, workload), effects in list(groups.items())[:LEVELS_SHOWN]:
        ordered = sorted(effects, key=lambda e: e.phase != TOTAL)
        rows = [(e.phase, e) for e in ordered]
        title = "change of elapsed time against the baseline"
        head = f"{factor}: {level} against {baseline}, {workload}"
        plots.append({**forest(rows, width, title), "title": head})
    return stack(*plots, spacing=28)


def describe(analysis: Analysis) -> str:
    """The plot in words: every total with its interval."""
    totals = [e for e in analysis.effects if e.metric == ELAPSED and e.phase == TOTAL]
    said = [
        f"{e.factor} {e.level} against {e.baseline} on {e.workload}: {percent(e.relative)} "
        f"{percent_interval(e.ci_low, e.ci_high, e.relative)}"
        for e in totals[:LEVELS_SHOWN]
    ]
    return "Forest plot of effects on elapsed time. " + ". ".join(said) + "."


def grouped(analysis: Analysis) -> dict[tuple[str, str, str, str], list[Effect]]:
    """Effects on elapsed time by factor, level, baseline and workload; no phase told twice."""
    groups: dict[tuple[str, str, str, str], list[Effect]] = {}
    for e in analysis.effects:
        if e.metric == ELAPSED and not analysis.is_whole(e.workload, e.phase):
            groups.setdefault((e.factor, e.level, e.baseline, e.workload), []).append(e)
    return groups
