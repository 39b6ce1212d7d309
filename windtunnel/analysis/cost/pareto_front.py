"""Pareto front of time, price and energy, by workload, and the dominated treatments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windtunnel.analysis.cost.energy import energy
from windtunnel.analysis.cost.price import energy_kind, prices
from windtunnel.analysis.effects.cells import Cell, Key, Sample
from windtunnel.analysis.effects.common_rounds import compared
from windtunnel.analysis.effects.effects import are_printed, effect, model_errors
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.statistics.pareto import dominators

if TYPE_CHECKING:
    from windtunnel.analysis.analyse import Analysis


@dataclass(frozen=True, slots=True)
class Point:
    """One treatment. ``price`` is in the currency of the front; None if it is not compared.

    ``beaten_by`` names the treatments that dominate it (better in one objective and worse in
    none), those on the front first. ``clear``: whether a difference from the first of them is
    detected, which is a lower price, or a time or energy whose interval excludes "no difference".
    """

    treatment: str
    time: Cell
    price: float | None
    energy: Cell | None
    beaten_by: tuple[str, ...]
    clear: bool


@dataclass(frozen=True, slots=True)
class Front:
    """The treatments of one workload; treatments in ``left_out`` lack one of the objectives."""

    workload: str
    objectives: tuple[str, ...]
    currency: str | None
    points: tuple[Point, ...]
    left_out: tuple[str, ...]


def fronts(analysis: Analysis) -> list[Front]:
    """One front per workload that has times and at least one of price and energy."""
    table = analysis.table
    made = (_front(analysis, workload, table) for workload in analysis.phases)
    return [front for front in made if front is not None]


def _front(analysis: Analysis, workload: str, table: Mapping[Key, Sample]) -> Front | None:
    found, kind = analysis.once(prices), energy_kind(analysis)
    rows: dict[str, tuple[Cell, float | None, Cell | None]] = {}
    for treatment in analysis.treatments():
        time = analysis.cell(treatment, workload, TOTAL, ELAPSED)
        joules = analysis.cell(treatment, workload, TOTAL, energy(kind)) if kind else None
        if time is not None:
            rows[treatment] = time, found.amount(treatment) if found else None, joules
    priced = any(price is not None for _, price, _ in rows.values())
    metered = any(cell is not None for _, _, cell in rows.values())
    if len(rows) < 2 or not (priced or metered):
        return None
    whole = {
        name: row
        for name, row in rows.items()
        if (row[1] is not None or not priced) and (row[2] is not None or not metered)
    }
    if len(whole) < 2:
        return None
    values = [
        [time.mean, *([price] if price is not None else []), *([cell.mean] if cell else [])]
        for time, price, cell in whole.values()
    ]
    names = list(whole)
    beaten = dominators(values)
    points = []
    for name, by in zip(names, beaten, strict=True):
        first = sorted(by, key=lambda i: len(beaten[i]))
        better = tuple(names[i] for i in first)
        time, price, cell = whole[name]
        metrics = [ELAPSED, *([energy(kind)] if kind and cell is not None else [])]
        clear = not better or _clear(table, workload, better[0], name, metrics)
        points.append(Point(name, time, price, cell, better, clear))
    objectives = ["time", *(["price"] if priced else []), *(["energy"] if metered else [])]
    left_out = tuple(name for name in rows if name not in whole)
    currency = found.currency if found else None
    return Front(workload, tuple(objectives), currency, tuple(points), left_out)


def _clear(
    table: Mapping[Key, Sample], workload: str, better: str, worse: str, metrics: Sequence[str]
) -> bool:
    """Whether the difference of every metric is detected, or all of its values are equal."""
    for metric in metrics:
        a, b = (table[(name, workload, TOTAL, metric)] for name in (better, worse))
        if a.values == b.values:
            continue
        about = ("", better, worse, workload, TOTAL, metric, a.unit)
        pairs, paired = compared([(a, b)])
        model, printed = model_errors([(a, b)]), are_printed([(a, b)])
        found = effect(about, pairs, paired=paired, model=model, printed=printed)
        if not found.distinguishable:
            return False
    return True
