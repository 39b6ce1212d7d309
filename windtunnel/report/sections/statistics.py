"""Section "Statistics": which interval, which test, which correction was used here."""

from __future__ import annotations

from collections import Counter

from windtunnel.analysis import Analysis, Cell
from windtunnel.analysis.intervals import BCA_FROM
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.words import digits, plural
from windtunnel.report.sections.base import Section, Table, column


def section(analysis: Analysis) -> Section | None:
    """What was chosen and where it applied; None without any interval."""
    cells = [c for c in analysis.cells if c.metric == ELAPSED and c.ci_method is not None]
    if not cells:
        return None
    totals = [e for e in analysis.effects if e.metric == ELAPSED and e.phase == TOTAL]
    methods = Counter(e.method for e in totals if e.ci_low is not None)
    families = {e.workload: e.comparisons for e in totals if e.p is not None}
    beside = [c for c in cells if c.phase == TOTAL and c.bca_low is not None]
    said = [_intervals(analysis, cells)]
    if methods:
        said.append(
            "effects: "
            + "; ".join(f"{name} ({plural(n, 'comparison')})" for name, n in methods.items())
        )
    said += [
        f"{workload}: p values corrected for {count} comparisons of the total with the baseline "
        "(Holm); intervals are those of one comparison alone"
        for workload, count in families.items()
        if count > 1
    ]
    return Section(
        id="statistics",
        title="Statistics",
        said=said,
        tables=[_table(beside)] if beside else [],
        data={
            "interval": analysis.interval,
            "ci_methods": dict(Counter(str(c.ci_method) for c in cells)),
            "effect_methods": dict(methods),
            "comparisons": families,
        },
    )


def _intervals(analysis: Analysis, cells: list[Cell]) -> str:
    boot = sum(c.ci_method == "bca" for c in cells)
    if boot == len(cells):
        return "intervals of means: bootstrap BCa, 95 % (asked for)"
    if boot:
        return (
            f"intervals of means: bootstrap BCa (asked for) in {boot} of {len(cells)} cells, "
            f"Student's t where there are fewer than {BCA_FROM} trials or all are equal; 95 %"
        )
    asked = " (BCa was asked for" if analysis.interval == "bca" else ""
    few = f"{asked}, no cell has {BCA_FROM} trials)" if asked else ""
    return f"intervals of means: Student's t, 95 %{few}"


def _table(cells: list[Cell]) -> Table:
    rows = [
        [
            f"{c.treatment} / {c.workload}",
            str(c.n),
            _span(c.ci_low, c.ci_high),
            str(c.ci_method),
            _span(c.bca_low, c.bca_high),
            digits(c.median),
            _span(c.median_low, c.median_high),
        ]
        for c in cells
    ]
    names = ("cell", "n", "interval used", "by", "BCa", "median", "median's interval")
    caption = "Total elapsed time, s: intervals side by side (95 %)"
    return Table(caption, column(*names), rows)


def _span(low: float | None, high: float | None) -> str:
    return "unknown" if low is None or high is None else f"{digits(low)} to {digits(high)}"
