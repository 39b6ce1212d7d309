"""Section "Where the copies lie": over how many physical hosts a block's replicas are spread."""

from __future__ import annotations

from windtunnel.analysis import Analysis
from windtunnel.analysis.cells import Cell
from windtunnel.analysis.observations import TOTAL
from windtunnel.analysis.words import digits, listed, percent
from windtunnel.report.sections.base import Section, Table, column

# metrics of windtunnel.workloads.rows.placement
_SPREAD, _ALONE = "machines_per_block", "blocks_on_one_machine"


def section(analysis: Analysis) -> Section | None:
    """None where no workload told of its blocks."""
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
                cell.treatment,
                "unknown" if spread is None else digits(spread.mean),
                percent(cell.mean, signed=False),
                str(cell.n),
            ]
        )
    return Section(
        id="copies",
        title="Where the copies lie",
        said=[_said(alone)],
        tables=[
            Table(
                "Physical hosts that hold a block's copies",
                column(
                    "phase", "treatment", "hosts per block", "all on one host", "trials", text=2
                ),
                rows,
                strong=frozenset(i for i, cell in enumerate(alone) if cell.mean > 0),
                hint="All on one host: the share of blocks that are lost if that host fails.",
            )
        ],
        hint="By the NameNode's list of each block's DataNodes; a virtual machine counts as its "
        "host",
        data=[
            {"treatment": c.treatment, "workload": c.workload, "phase": c.phase, "share": c.mean}
            for c in alone
        ],
    )


def _said(alone: list[Cell]) -> str:
    lost = [cell for cell in alone if cell.mean > 0]
    if not lost:
        return "Every block has copies on more than one physical host"
    named = [f"{percent(cell.mean, signed=False)} with {cell.treatment}" for cell in lost]
    return (
        f"One physical host holds all copies of some blocks: {listed(named)}. "
        "They are lost if it fails"
    )
