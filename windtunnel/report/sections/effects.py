"""Section "Effects against the baseline": each level compared with the baseline, by phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.effects.findings import effect_size
from windtunnel.analysis.effects.overview import level_name, worthwhile
from windtunnel.analysis.formatting import digits, percent, percent_interval, quantity
from windtunnel.analysis.names import short_names
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.report.sections.base import Column, Section, Table
from windtunnel.report.sections.known import without_unknown

_COLUMNS = (
    Column("level : baseline", weight=3, group=True),
    Column("phase", weight=2),
    Column("change", numeric=True, weight=3),
    Column("interval", numeric=True, weight=2),
    Column("absolute", numeric=True, weight=1),
    Column("detectable", numeric=True, weight=0),
    Column("trials", numeric=True, weight=0),
)


def section(analysis: Analysis) -> Section:
    """The forest plots and the table, folded if the report begins with the overview."""
    folded = worthwhile(analysis)
    table = effects_table(analysis, folded=folded)
    charts = ("effects",) if table is not None else ()
    return Section(
        id="effects",
        title="Effects against the baseline",
        charts=() if folded else charts,
        details=charts if folded else (),
        tables=[] if table is None else [table],
        data=[_data(e) for e in analysis.effects],
    )


def effects_table(
    analysis: Analysis, *, totals_only: bool = False, folded: bool = False
) -> Table | None:
    """Effects on elapsed time against the baseline; the totals come first, in bold.

    ``totals_only``: only the totals, the largest effect first.
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
        ordered.sort(key=lambda e: -effect_size(e))
    several, short = len(analysis.phases) > 1, short_names(analysis.study.factors)
    known = any(e.ci_low is not None for e in ordered)
    made = Table(
        caption="Effects on elapsed time, against the baseline"
        + (" (95 % intervals)" if known else ""),
        columns=_COLUMNS,
        rows=[_row(e, short, several=several) for e in ordered],
        strong=frozenset(i for i, e in enumerate(ordered) if e.phase == TOTAL),
        folded=folded,
    )
    return without_unknown(made, "interval", "detectable")


def size(e: Effect) -> str:
    """``+2,590 s [2,400, 2,800]``: the absolute change with its interval."""
    text = quantity(e.absolute, e.unit, signed=True)
    if e.absolute_ci_low is None or e.absolute_ci_high is None:
        return text
    return f"{text} [{digits(e.absolute_ci_low)}, {digits(e.absolute_ci_high)}]"


def _row(e: Effect, short: Mapping[str, str], *, several: bool) -> tuple[str, ...]:
    return (
        level_name(e, short),
        f"{e.workload} {e.phase}" if several else e.phase,
        percent(e.relative),
        percent_interval(e.ci_low, e.ci_high, e.relative),
        size(e),
        percent(e.detectable, signed=False),
        f"{e.n} : {e.n_baseline}",
    )


def _data(effect: Effect) -> dict[str, object]:
    return {**asdict(effect), "ci_scale": "relative", "distinguishable": effect.distinguishable}
