"""Section "Elapsed time by phase": the elapsed time of each phase at each treatment."""

from __future__ import annotations

from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.effects.findings import EQUAL
from windtunnel.analysis.formatting import digits, percent, quantity
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.report.sections.base import Column, Section, Table
from windtunnel.report.sections.known import without_unknown

_COLUMNS = (
    Column("workload phase", weight=3, group=True),
    Column("treatment", weight=3),
    Column("n", numeric=True, weight=1),
    Column("mean", numeric=True, weight=3),
    Column("95 % interval", numeric=True, weight=2),
    Column("median", numeric=True, weight=0),
    Column("CV", numeric=True, weight=0),
)
_CV = len(_COLUMNS) - 1
FOLDED_FROM = 20
"""Number of rows from which the table is folded."""


def section(analysis: Analysis) -> Section:
    """The stacked phases, then means, intervals and spread."""
    table = cells_table(analysis)
    return Section(
        id="cells",
        title="Elapsed time by phase",
        charts=("phases",) if table is not None else (),
        tables=[] if table is None else [table],
        data=[{**asdict(cell), "indicative": cell.indicative} for cell in analysis.cells],
        group="why",
    )


def cells_table(analysis: Analysis) -> Table | None:
    """Mean elapsed time of each phase at each treatment, the total first."""
    elapsed = (c for c in analysis.cells if c.metric == ELAPSED)
    cells = [c for c in elapsed if not analysis.is_whole(c.workload, c.phase)]
    if not cells:
        return None
    order = {name: i for i, name in enumerate(analysis.treatments())}
    ranks = analysis.ranks
    cells.sort(key=lambda c: (c.workload, ranks[(c.workload, c.phase)], order[c.treatment]))
    limit = analysis.study.protocol.variation_limit
    spread = any(c.cv is not None for c in cells)
    hints = ["* fewer than 5 trials: indicative"] if spread and _few(cells) else []
    if spread:
        hints.append(
            "CV: coefficient of variation, the standard deviation divided by the mean; the limit "
            f"of this study is {percent(limit, signed=False)}"
        )
    if any(c.equal for c in cells):
        hints.append("unknown: " + EQUAL)
    made = Table(
        caption="Elapsed time by phase and treatment",
        columns=_COLUMNS,
        rows=[_row(analysis, c) for c in cells],
        strong=frozenset(i for i, c in enumerate(cells) if c.phase == TOTAL),
        hint=". ".join(hints),
        alert=frozenset((i, _CV) for i, c in enumerate(cells) if c.cv is not None and c.cv > limit),
        folded=len(cells) >= FOLDED_FROM,
    )
    return without_unknown(made, "95 % interval", "CV")


def _few(cells: list[Cell]) -> bool:
    return any(c.indicative for c in cells)


def _row(analysis: Analysis, c: Cell) -> tuple[str, ...]:
    span = "unknown"
    if c.ci_low is not None and c.ci_high is not None:
        span = f"{digits(c.ci_low)} to {digits(c.ci_high)}"
    return (
        f"{c.workload} {c.phase}",
        analysis.name(c.treatment),
        f"{c.n}{' *' if c.indicative and c.n > 1 else ''}",
        quantity(c.mean, c.unit),
        span,
        quantity(c.median, c.unit),
        percent(c.cv, signed=False),
    )
