"""Section "Statistics": the intervals, tests and corrections that this report uses."""

from __future__ import annotations

from collections import Counter

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.formatting import digits, plural
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.statistics.intervals import BCA_FROM
from windtunnel.report.sections.base import Section, Table, column


def section(analysis: Analysis) -> Section | None:
    """The methods and where each is used; None without intervals."""
    cells = [c for c in analysis.cells if c.metric == ELAPSED and c.ci_method is not None]
    if not cells:
        return None
    totals = [e for e in analysis.effects if e.metric == ELAPSED and e.phase == TOTAL]
    methods = Counter(e.method for e in totals if e.ci_low is not None)
    families = {e.workload: e.comparisons for e in totals if e.p is not None}
    compared = [c for c in cells if c.phase == TOTAL and c.bca_low is not None]
    said = [_intervals(analysis, cells)]
    if methods:
        said.append(
            "effects: "
            + "; ".join(f"{name} ({plural(n, 'comparison')})" for name, n in methods.items())
        )
    said += [
        f"{workload}: p values corrected for {count} comparisons of the total with the baseline "
        "(Holm); intervals are not corrected"
        for workload, count in families.items()
        if count > 1
    ]
    return Section(
        id="statistics",
        title="Statistics",
        said=said,
        tables=[_table(analysis, compared)] if compared else [],
        group="trust",
        data={
            "interval": analysis.interval,
            "ci_methods": dict(Counter(str(c.ci_method) for c in cells)),
            "effect_methods": dict(methods),
            "comparisons": families,
        },
    )


def _intervals(analysis: Analysis, cells: list[Cell]) -> str:
    if all(c.ci_method == "model" for c in cells):
        return "intervals of predicted times: error of the physics model, 95 %"
    boot = sum(c.ci_method == "bca" for c in cells)
    if boot == len(cells):
        return "intervals of means: bootstrap BCa, 95 % (as requested)"
    if boot:
        return (
            f"intervals of means: bootstrap BCa (as requested) in {boot} of {len(cells)} cells, "
            f"Student's t in cells with fewer than {BCA_FROM} trials or equal values; 95 %"
        )
    requested = analysis.interval == "bca"
    few = f" (BCa was requested, but no cell has {BCA_FROM} trials)" if requested else ""
    return f"intervals of means: Student's t, 95 %{few}"


def _table(analysis: Analysis, cells: list[Cell]) -> Table:
    rows = [
        [
            f"{analysis.name(c.treatment)} / {c.workload}",
            str(c.n),
            _span(c.ci_low, c.ci_high),
            str(c.ci_method),
            _span(c.bca_low, c.bca_high),
            digits(c.median),
            _span(c.median_low, c.median_high),
        ]
        for c in cells
    ]
    names = ("cell", "n", "interval used", "method", "BCa", "median", "median's interval")
    caption = "Total elapsed time, s: 95 % intervals by method"
    return Table(caption, column(*names), rows)


def _span(low: float | None, high: float | None) -> str:
    return "unknown" if low is None or high is None else f"{digits(low)} to {digits(high)}"
