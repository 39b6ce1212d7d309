"""Section "Replica placement": the number of physical hosts that hold a block's replicas."""

from __future__ import annotations

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.formatting import digits, listed, percent
from windtunnel.analysis.observations import TOTAL
from windtunnel.report.sections.base import Section, Table, column

# metrics of windtunnel.workloads.rows.placement
_SPREAD, _ALONE = "machines_per_block", "blocks_on_one_machine"


def section(analysis: Analysis) -> Section | None:
    """The number of hosts of each block's replicas; None if no workload reported it."""
    alone = [c for c in analysis.cells if c.metric == _ALONE and c.phase != TOTAL]
    if not alone:
        return None
    order = {name: place for place, name in enumerate(analysis.treatments())}
    alone.sort(key=lambda cell: (cell.workload, cell.phase, order[cell.treatment]))
    rows = []
    for cell in alone:
        spread = analysis.cell(cell.treatment, cell.workload, cell.phase, _SPREAD)
        rows.append(
            [
                cell.phase if cell.phase == cell.workload else f"{cell.workload} {cell.phase}",
                analysis.name(cell.treatment),
                "unknown" if spread is None else digits(spread.mean),
                percent(cell.mean, signed=False),
                str(cell.n),
            ]
        )
    return Section(
        id="copies",
        title="Replica placement",
        said=[_said(analysis, alone)],
        tables=[
            Table(
                "Physical hosts that hold a block's replicas",
                column(
                    "phase", "treatment", "hosts per block", "all on one host", "trials", text=2
                ),
                rows,
                strong=frozenset(i for i, cell in enumerate(alone) if cell.mean > 0),
                hint="All on one host: the fraction of blocks that have all replicas on one "
                "physical host and are lost if that host fails.",
            )
        ],
        hint="Source: the NameNode's list of the DataNodes of each block. A virtual machine "
        "counts as its physical host",
        data=[
            {"treatment": c.treatment, "workload": c.workload, "phase": c.phase, "share": c.mean}
            for c in alone
        ],
    )


def _said(analysis: Analysis, alone: list[Cell]) -> str:
    lost = [cell for cell in alone if cell.mean > 0]
    if not lost:
        return "Every block has replicas on more than one physical host"
    named = [
        f"{percent(cell.mean, signed=False)} with {analysis.name(cell.treatment)}" for cell in lost
    ]
    return (
        f"One physical host holds all replicas of some blocks: {listed(named)}. "
        "These blocks are lost if that host fails"
    )
