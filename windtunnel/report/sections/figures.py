"""Section "Figures of their own": what each workload measures beside its time, with CPU time.

What the figures mean is told by the workloads themselves (``about.metrics``); those that no phase
has are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windtunnel.analysis import Analysis, Cell
from windtunnel.analysis.effects import Effect
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.words import percent, percent_interval, quantity
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.workloads import WORKLOADS

CPU = "cpu_time"
COLUMNS = 4
"""Treatments that stand side by side; more stand one below the other."""


def section(analysis: Analysis) -> Section | None:
    """None where no workload told figures of its own."""
    tables, data, hints = [], [], []
    for workload, phases in analysis.phases.items():
        names = _names(analysis, workload)
        if not names:
            continue
        tables.append(_table(analysis, workload, phases, [ELAPSED, *names, CPU]))
        data += [_plain(cell) for cell in _cells(analysis, workload, [*names, CPU])]
        about = WORKLOADS[workload].about.metrics
        hints += [f"{_words(name)}: {about[name]}" for name in names]
    if not tables:
        return None
    return Section(
        id="figures",
        title="Figures of their own",
        said=[_said(effect) for effect in analysis.effects if _is_cpu(analysis, effect)],
        tables=tables,
        hint=". ".join(dict.fromkeys(hints)),
        data=data,
    )


def _names(analysis: Analysis, workload: str) -> list[str]:
    """The workload's own metrics that its phases have."""
    kind = WORKLOADS.get(workload)
    own = kind.about.metrics if kind else {}
    told = {c.metric for c in analysis.cells if c.workload == workload and c.phase != TOTAL}
    return [name for name in own if name in told]


def _table(analysis: Analysis, workload: str, phases: Sequence[str], names: Sequence[str]) -> Table:
    """A column for each treatment; of many, a row."""
    treatments, rows, counts = analysis.treatments(), [], set()
    wide = len(treatments) <= COLUMNS
    for phase in phases:
        told = [
            t for t in treatments if phase != TOTAL and _own(analysis, workload, phase, t, names)
        ]
        for name in names if told else ():
            cells = {t: analysis.cell(t, workload, phase, name) for t in treatments}
            counts |= {cell.n for cell in cells.values() if cell}
            said = {t: quantity(c.mean, c.unit) if c else "" for t, c in cells.items()}
            if wide and any(said.values()):
                rows.append([phase, _words(name), *said.values()])
            elif not wide:
                rows += [[phase, _words(name), t, words] for t, words in said.items() if words]
    heads = ["phase", "figure", *(treatments if wide else ("treatment", "mean"))]
    trials = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
    columns = column(*heads, text=2 if wide else 3)
    return Table(f"{workload} (means, n = {trials})", columns, rows)


def _own(
    analysis: Analysis, workload: str, phase: str, treatment: str, names: Sequence[str]
) -> bool:
    """Whether a phase has a figure of the workload's own, beside time and CPU time."""
    return any(analysis.cell(treatment, workload, phase, name) for name in names[1:-1])


def _words(name: str) -> str:
    return "CPU time" if name == CPU else name.replace("_", " ")


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
    """Whether it is an effect on the CPU time of a whole workload with figures of its own."""
    whole = effect.metric == CPU and effect.phase == TOTAL
    return whole and bool(_names(analysis, effect.workload))


def _said(effect: Effect) -> str:
    return (
        f"CPU time of {effect.workload}, {effect.factor} {effect.level} against "
        f"{effect.baseline}: {percent(effect.relative)} "
        f"{percent_interval(effect.ci_low, effect.ci_high, effect.relative)}, "
        f"{quantity(effect.mean_baseline, effect.unit)} -> {quantity(effect.mean, effect.unit)}"
    )
