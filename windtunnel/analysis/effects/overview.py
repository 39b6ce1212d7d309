"""Effects on elapsed time, sorted: the largest first, by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.effects.findings import RESOURCES, STAGES, effect_size
from windtunnel.analysis.names import level_words, short_names
from windtunnel.analysis.observations import ELAPSED, TOTAL

FROM = 3
"""Number of effects from which the report has one chart of all effects."""
ROWS_SHOWN = 30
LEVELS_SHOWN = 12
"""Number of levels for which the report has a chart of the phases."""
TOGETHER = 4
"""Number of workloads up to which one row shows all workloads of a level."""

Row = tuple[str, list[Effect]]
Level = tuple[str, str, str, str]
"""(factor, level, baseline, workload)"""


def totals(analysis: Analysis) -> list[Effect]:
    """Known effects on the total's elapsed time, the largest first."""
    found = [e for e in analysis.effects if e.metric == ELAPSED and e.phase == TOTAL]
    return sorted((e for e in found if e.relative is not None), key=lambda e: -effect_size(e))


def worthwhile(analysis: Analysis) -> bool:
    """Whether there are enough effects for a chart of all effects."""
    return len(totals(analysis)) >= FROM


def common_baseline(effects: Sequence[Effect]) -> tuple[str, str] | None:
    """The factor and its baseline, if several effects share them."""
    shared = {(e.factor, e.baseline) for e in effects}
    return next(iter(shared)) if len(effects) > 1 and len(shared) == 1 else None


def overview(analysis: Analysis) -> list[Row]:
    """Name and effects of each row of the chart of all effects, the largest first.

    If all rows have the same factor and baseline, a name is only the level.
    """
    found = totals(analysis)
    together = len({e.workload for e in found}) <= TOGETHER
    alone = common_baseline(found) is not None
    short = short_names(analysis.study.factors)
    rows: dict[Level, list[Effect]] = {}
    for e in found:
        place = (e.factor, e.level, e.baseline, "" if together else e.workload)
        rows.setdefault(place, []).append(e)
    order = list(analysis.phases)
    named = []
    for (factor, level, _, workload), effects in rows.items():
        name = level_words(factor, level) if alone else level_name(effects[0], short)
        effects.sort(key=lambda e: order.index(e.workload))
        named.append((f"{name}, {workload}" if workload else name, effects))
    return named


def level_name(e: Effect, short: Mapping[str, str]) -> str:
    """``network 1 Gb/s : 10 Gb/s``: a level and the baseline.

    ``short`` has the short name of each factor.
    """
    return f"{short[e.factor]} {e.level} : {e.baseline}"


def by_level(analysis: Analysis) -> list[tuple[Level, list[Effect]]]:
    """Effects on elapsed time by level and workload, the largest first; each phase once."""
    groups: dict[Level, list[Effect]] = {}
    for e in analysis.effects:
        if e.metric == ELAPSED and not analysis.is_whole(e.workload, e.phase):
            groups.setdefault((e.factor, e.level, e.baseline, e.workload), []).append(e)
    return sorted(groups.items(), key=lambda pair: -_of_level(pair[1]))


def _of_level(effects: list[Effect]) -> float:
    whole = [e for e in effects if e.phase == TOTAL] or effects
    return max(effect_size(e) for e in whole)


def leading_phase(analysis: Analysis) -> str:
    """The phase with most of the first finding's change."""
    return (analysis.findings[0].phase or TOTAL) if analysis.findings else TOTAL


def moved_with_it(analysis: Analysis) -> list[Effect]:
    """Effects of the first finding's phase on elapsed time, stages and resources, in that order."""
    if not analysis.findings:
        return []
    about = analysis.findings[0].effect
    order = [ELAPSED, *STAGES, *RESOURCES]
    rows = [
        e
        for e in analysis.effects
        if (e.factor, e.level, e.workload) == (about.factor, about.level, about.workload)
        and e.phase == leading_phase(analysis)
        and e.metric in order
        and e.relative is not None
    ]
    return sorted(rows, key=lambda e: order.index(e.metric))
