"""Section "Workload metrics": what each workload measures in addition to its time, and CPU time.

The section has the workload's own metrics (``about.metrics``), with warm starts those of the start
of tasks, and all metrics without a description, such as those of published studies and of other
packages' workloads. Names, units and meanings are those of the catalogue (``results/metrics.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.formatting import quantity, with_interval
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.engines.hadoop.pool_metrics import POOL_FILL, POOL_MEMORY, STOCK_STARTS
from windtunnel.engines.hadoop.start_up import START_SHARE, TASK_START
from windtunnel.engines.job_metrics import CPU_TIME
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.results.metrics import CATALOGUE, describe
from windtunnel.workloads import WORKLOADS

CPU = CPU_TIME.name
COLUMNS = 4
"""Up to this number of treatments, each is a column; with more, each is a row."""
STARTS = [m.name for m in (TASK_START, START_SHARE, STOCK_STARTS, POOL_FILL, POOL_MEMORY)]


def section(analysis: Analysis) -> Section | None:
    """None if no workload has metrics of its own."""
    tables, data, hints = [], [], []
    for workload, phases in analysis.phases.items():
        names = _names(analysis, workload)
        if not names:
            continue
        tables.append(_table(analysis, workload, phases, [ELAPSED, *names, CPU]))
        data += [_plain(cell) for cell in _cells(analysis, workload, [*names, CPU])]
        described = (CATALOGUE.find(name) for name in names)
        hints += [f"{info.label}: {info.meaning}" for info in described if info is not None]
    if not tables:
        return None
    cpu = [effect for effect in analysis.effects if _is_cpu(analysis, effect)]
    known = any(effect.ci_low is not None for effect in cpu)
    return Section(
        id="figures",
        title="Workload metrics",
        said=[_said(effect, known=known) for effect in cpu],
        tables=tables,
        hint=". ".join(dict.fromkeys(hints)),
        data=data,
    )


def _names(analysis: Analysis, workload: str) -> list[str]:
    """The workload's own metrics that its phases have, those of starts, and undescribed ones."""
    kind = WORKLOADS.get(workload)
    own = [info.name for info in kind.about.metrics if info.name != CPU] if kind else []
    recorded = {
        cell.metric: cell.unit
        for cell in analysis.cells
        if cell.workload == workload and cell.phase != TOTAL
    }
    starts = [name for name in STARTS if name in recorded] if POOL_FILL.name in recorded else []
    strange = [name for name, unit in recorded.items() if not describe(name, unit).meaning]
    return list(dict.fromkeys([*(name for name in own if name in recorded), *starts, *strange]))


def _table(analysis: Analysis, workload: str, phases: Sequence[str], names: Sequence[str]) -> Table:
    """A column for each treatment, or a row for each if there are many."""
    treatments, rows, counts = analysis.treatments(), [], set()
    wide = len(treatments) <= COLUMNS
    for phase in phases:
        having = [
            t for t in treatments if phase != TOTAL and _own(analysis, workload, phase, t, names)
        ]
        for name in names if having else ():
            cells = {t: analysis.cell(t, workload, phase, name) for t in treatments}
            counts |= {cell.n for cell in cells.values() if cell}
            said = {t: quantity(c.mean, c.unit) if c else "" for t, c in cells.items()}
            if wide and any(said.values()):
                rows.append([phase, _words(name), *said.values()])
            elif not wide:
                rows += [
                    [phase, _words(name), analysis.name(t), words]
                    for t, words in said.items()
                    if words
                ]
    heads = [
        "phase",
        "metric",
        *(map(analysis.name, treatments) if wide else ("treatment", "mean")),
    ]
    trials = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
    columns = column(*heads, text=2 if wide else 3)
    return Table(f"{workload} (means, n = {trials})", columns, rows)


def _own(
    analysis: Analysis, workload: str, phase: str, treatment: str, names: Sequence[str]
) -> bool:
    """Whether a phase has a metric of the workload's own in addition to time and CPU time."""
    return any(analysis.cell(treatment, workload, phase, name) for name in names[1:-1])


def _words(name: str) -> str:
    info = CATALOGUE.find(name)
    return name.replace("_", " ") if info is None else info.label


def _cells(analysis: Analysis, workload: str, names: Sequence[str]) -> Iterator[Cell]:
    return (
        cell
        for cell in analysis.cells
        if cell.workload == workload and cell.metric in names and cell.phase != TOTAL
    )


def _plain(cell: Cell) -> dict[str, object]:
    keys = ("workload", "phase", "treatment", "metric", "unit", "mean", "ci_low", "ci_high", "n")
    return {key: getattr(cell, key) for key in keys}


def _is_cpu(analysis: Analysis, effect: Effect) -> bool:
    """Whether it is an effect on the total CPU time of a workload with metrics of its own."""
    whole = effect.metric == CPU and effect.phase == TOTAL
    return whole and bool(_names(analysis, effect.workload))


def _said(effect: Effect, *, known: bool) -> str:
    return (
        f"CPU time of {effect.workload}, {effect.factor} {effect.level} against "
        f"{effect.baseline}: "
        f"{with_interval(effect.relative, effect.ci_low, effect.ci_high, known=known)}, "
        f"{quantity(effect.mean_baseline, effect.unit)} -> {quantity(effect.mean, effect.unit)}"
    )
