"""Section "Energy": energy of trials and phases, separately for each kind of source."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.physical_limits import shares_machine
from windtunnel.analysis.cost.energy import (
    above_idle,
    delay_product,
    energy,
    kinds_of,
    power,
    sample_count,
)
from windtunnel.analysis.cost.power_sources import described_watts
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.formatting import digits, energy_unit, listed
from windtunnel.analysis.observations import TOTAL, counts
from windtunnel.report.sections.base import Column, Section, Table, column
from windtunnel.report.sections.changes import changes
from windtunnel.report.sections.known import without_unknown
from windtunnel.results.power import KINDS, Kind

COARSE_BELOW = 2
"""With fewer power samples than this, the energy of a phase is mostly that of its neighbours."""
MODEL_ENERGY = (
    "modelled energy of a scale model: the power is that of the full size and the time that of the "
    "model, so only changes are results; absolute values are not those of the full size"
)
_COVERS: dict[Kind, str] = {
    "metered": "everything that is connected to the meter",
    "rapl": "only processors and memory, without disks, fans and power supply",
    "modelled": "computed from CPU utilisation (linear model), not measured",
}


def section(analysis: Analysis) -> Section | None:
    """None without energy, unless the testbed is the reason why energy was not modelled."""
    sources = _sources(analysis)
    if not sources:
        return _refused(analysis)
    said = [f"{kind} energy: {listed(words)}; {_COVERS[kind]}" for kind, words in sources.items()]
    if "modelled" in sources and analysis.study.scale is not None:
        said.append(MODEL_ENERGY)
    tables = [
        table
        for kind in sources
        for table in (
            *_tables(analysis, kind),
            *changes(f"Change of the energy of all phases, {kind}", _effects(analysis, kind)),
        )
    ]
    coarse = [cell for kind in sources for cell in _coarse(analysis, kind)]
    hint = ""
    if coarse:
        hint = (
            "* fewer than two power samples in at least one trial: the value is mostly the power "
            "before and after the phase. The total is more accurate."
        )
    return Section(
        id="energy",
        title="Energy",
        lead="Power samples, integrated over each phase. Values of different kinds of source are "
        "never combined.",
        said=said,
        charts=("energy",),
        tables=tables,
        hint=hint,
        data=_data(analysis, sources),
    )


def _sources(analysis: Analysis) -> dict[Kind, list[str]]:
    """The sources of each kind of energy, for the kinds that the counted trials have."""
    found: dict[Kind, dict[str, None]] = {}
    for _, kind, words in kinds_of(t for t in analysis.results.trials if counts(t)):
        found.setdefault(kind, {})[words] = None
    return {kind: list(found[kind]) for kind in KINDS if kind in found}


def _refused(analysis: Analysis) -> Section | None:
    """The reason why the power values of the description were not used, if there are any."""
    study = analysis.study
    if not shares_machine(study) or not described_watts(analysis.results):
        return None
    return Section(
        id="energy",
        title="Energy",
        said=[
            "energy is unknown: on the testbed local all hosts shared one machine, so the power "
            "values of the description do not apply to it, and no power was metered"
        ],
        hint="'windtunnel power' lists the power sources that are available on this machine.",
        data={"sources": {}, "rows": []},
    )


def _effects(analysis: Analysis, kind: Kind) -> list[Effect]:
    return [e for e in analysis.effects if e.metric == energy(kind) and e.phase == TOTAL]


def _coarse(analysis: Analysis, kind: Kind) -> list[tuple[str, str, str]]:
    """(treatment, workload, phase) of which at least one trial has too few power samples."""
    return sorted(
        {
            (row.treatment, row.workload, row.phase)
            for row in analysis.observations
            if row.metric == sample_count(kind) and row.counts and row.value < COARSE_BELOW
        }
    )


def _rows(analysis: Analysis, kind: Kind) -> list[Cell]:
    ranks = analysis.ranks
    order = {name: place for place, name in enumerate(analysis.treatments())}
    rows = [cell for cell in analysis.cells if cell.metric == energy(kind)]
    return sorted(
        rows, key=lambda c: (c.workload, ranks[(c.workload, c.phase)], order[c.treatment])
    )


def _tables(analysis: Analysis, kind: Kind) -> list[Table]:
    """A table of whole trials, then one of phases if the trials have several."""
    cells = _rows(analysis, kind)
    totals = [cell for cell in cells if cell.phase == TOTAL]
    phases = [cell for cell in cells if cell.phase != TOTAL]
    products = [analysis.cell(c.treatment, c.workload, TOTAL, delay_product(kind)) for c in totals]
    prefix, scale = _delay_unit([cell.mean for cell in products if cell is not None])
    tables = []
    if totals:
        rows: list[tuple[str, ...]] = [
            (*row, "unknown" if product is None else digits(product.mean / scale))
            for row, product in zip(_figures(analysis, kind, totals), products, strict=True)
        ]
        hint = "Energy-delay product: energy multiplied by elapsed time; lower is better."
        columns = _columns("workload", totals, f"energy-delay product, {prefix}J s")
        whole = Table(f"Energy of all phases, {kind}", columns, rows, hint=hint)
        tables.append(without_unknown(whole, "95 % interval"))
    if phases:
        rows = _figures(analysis, kind, phases)
        parts = Table(f"Energy by phase, {kind}", _columns("phase", phases), rows)
        tables.append(without_unknown(parts, "95 % interval"))
    return tables


def _columns(first: str, cells: list[Cell], *more: str) -> tuple[Column, ...]:
    unit, _ = energy_unit(max(cell.mean for cell in cells))
    numbers = ("n", f"energy, {unit}", "95 % interval", "mean W", f"above idle, {unit}", *more)
    return column(first, "treatment", *numbers, text=2)


def _figures(analysis: Analysis, kind: Kind, cells: list[Cell]) -> list[tuple[str, ...]]:
    coarse = set(_coarse(analysis, kind))
    _, scale = energy_unit(max(cell.mean for cell in cells))
    rows: list[tuple[str, ...]] = []
    last = ""
    for cell in cells:
        where = (cell.treatment, cell.workload, cell.phase)
        head = cell.workload
        if cell.phase != TOTAL:
            head = f"{head} {cell.phase}" if len(analysis.phases) > 1 else cell.phase
        rows.append(
            (
                head if head != last else "",
                analysis.name(cell.treatment),
                f"{cell.n}{' *' if where in coarse else ''}",
                digits(cell.mean / scale),
                _span(cell, scale),
                _mean(analysis, where, power(kind)),
                _mean(analysis, where, above_idle(kind), scale),
            )
        )
        last = head
    return rows


def _delay_unit(values: list[float]) -> tuple[str, float]:
    """The unit prefix for the largest value, and its factor."""
    top = max(values, default=0.0)
    prefixes = (("G", 1e9), ("M", 1e6), ("k", 1e3))
    return next(((name, factor) for name, factor in prefixes if top >= factor), ("", 1.0))


def _span(cell: Cell, scale: float) -> str:
    if cell.ci_low is None or cell.ci_high is None:
        return "unknown"
    return f"{digits(cell.ci_low / scale)} to {digits(cell.ci_high / scale)}"


def _mean(analysis: Analysis, where: tuple[str, str, str], metric: str, scale: float = 1.0) -> str:
    cell = analysis.cell(*where, metric)
    return "unknown" if cell is None else digits(cell.mean / scale)


def _data(analysis: Analysis, sources: dict[Kind, list[str]]) -> dict[str, Any]:
    names = {
        name(kind): kind
        for kind in sources
        for name in (energy, power, delay_product, above_idle, sample_count)
    }
    return {
        "sources": sources,
        "rows": [
            {"kind": names[cell.metric], **asdict(cell)}
            for cell in analysis.cells
            if cell.metric in names
        ],
        "effects": [asdict(e) for kind in sources for e in _effects(analysis, kind)],
    }
