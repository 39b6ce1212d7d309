"""Section "Price, time and energy": prices, cost of the work, and the Pareto front."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.cost.pareto_front import Front, Point, fronts
from windtunnel.analysis.cost.price import (
    COST_OVER_YEARS,
    COST_PER_TB,
    HARDWARE_PER_TB,
    PRICE_PERFORMANCE,
    ClusterPrice,
    Prices,
    figure_cells,
    prices,
)
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.formatting import listed, money, quantity
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.changes import changes
from windtunnel.report.sections.known import INTERVALS_UNKNOWN

DOMINATED_SAID = 3
"""Sentences name up to this number of dominated treatments; the table has all."""


def section(analysis: Analysis) -> Section | None:
    """None without prices and without a Pareto front."""
    found, weighed = analysis.once(prices), analysis.once(fronts)
    if found is None and not weighed:
        return None
    said = [sentence for front in weighed for sentence in _front_words(analysis, front)]
    tables = []
    lead = ""
    if found is not None:
        lead = f"Assumed: {analysis.tariff.words()}."
        if not _known(found):
            lead += f" {INTERVALS_UNKNOWN.capitalize()}."
        said += found.notes
        tables += [_clusters(analysis, found), *_figures(analysis, found)]
        tables += changes("Change of price/performance (lower is better)", _effects(found))
    tables += [_front_table(analysis, front) for front in weighed]
    return Section(
        id="price",
        title="Price, time and energy" if found is not None else "Time and energy",
        lead=lead,
        said=said,
        charts=("pareto",),
        tables=tables,
        hint="Prices are those of the description, without uncertainty; intervals include the "
        "spread of time and energy."
        if found is not None
        else "",
        data=_data(analysis, found, weighed),
    )


def _front_words(analysis: Analysis, front: Front) -> list[str]:
    """The treatments on the front, and the dominated ones with those that dominate them."""
    on = [analysis.name(point.treatment) for point in front.points if not point.beaten_by]
    what = " and ".join(front.objectives)
    if len(front.objectives) > 2:
        what = f"{', '.join(front.objectives[:-1])} and {front.objectives[-1]}"
    verb = "is" if len(on) == 1 else "are"
    said = [f"{front.workload}: {listed(on, 8)} {verb} on the Pareto front of {what}"]
    dominated = [point for point in front.points if point.beaten_by]
    if len(dominated) <= DOMINATED_SAID:
        said += [_dominated(analysis, front, point) for point in dominated]
    if front.left_out:
        names = listed([analysis.name(name) for name in front.left_out])
        said.append(f"{front.workload}: not compared, because a value is missing: {names}")
    return said


def _dominated(analysis: Analysis, front: Front, point: Point) -> str:
    better = listed([analysis.name(name) for name in point.beaten_by])
    doubt = "" if point.clear else ", but the difference may be due to chance"
    return (
        f"{front.workload}: {analysis.name(point.treatment)} is dominated by {better} "
        f"(better in one objective, worse in none){doubt}"
    )


def _known(found: Prices) -> bool:
    """Whether at least one figure has an interval; also true without figures."""
    cells = [cell for row in figure_cells(found).values() for cell in row.values()]
    return not cells or any(cell.ci_low is not None for cell in cells)


def _effects(found: Prices) -> list[Effect]:
    return [e for e in found.effects if e.metric == PRICE_PERFORMANCE]


def _clusters(analysis: Analysis, found: Prices) -> Table:
    """The prices of the treatments that have trials."""
    ran = {trial.treatment for trial in analysis.trials}
    rows = [
        (analysis.name(price.treatment), _amount(price), _parts(price), _lacking(price))
        for price in found.clusters
        if price.treatment in ran
    ]
    columns = (*column("treatment", "price"), *column("hosts", "without a price", text=2))
    return Table("Price of the cluster", columns, rows)


def _amount(price: ClusterPrice) -> str:
    if price.amount is None:
        return price.refused or "unknown"
    return money(price.amount.amount, price.amount.currency)


def _parts(price: ClusterPrice) -> str:
    return " + ".join(f"{count} {name} x {one.amount:,.2f}" for name, count, one in price.parts)


def _lacking(price: ClusterPrice) -> str:
    return ", ".join(f"{name} ({count})" for name, count in price.lacking) or "none"


def _figures(analysis: Analysis, found: Prices) -> list[Table]:
    """The cost of the work, one table per workload."""
    by_workload: dict[str, list[tuple[str, dict[str, Cell]]]] = {}
    order = {name: place for place, name in enumerate(analysis.treatments())}
    for (workload, treatment), cells in figure_cells(found).items():
        by_workload.setdefault(workload, []).append((treatment, cells))
    known = _known(found)
    tables = []
    for workload, rows in by_workload.items():
        rows.sort(key=lambda row: order[row[0]])
        largest = max((_mean(cells) for _, cells in rows), default=0.0)
        thousands = largest >= 1e4
        coin = found.currency
        columns = column(
            "treatment",
            f"price/performance, {'k' if thousands else ''}{coin} per TB/h",
            f"hardware cost, {coin}/TB",
            f"hardware and energy cost, {coin}/TB",
            f"hardware and energy cost of {analysis.tariff.span}, {coin}",
        )
        words = [
            (
                analysis.name(treatment),
                _figure(cells.get(PRICE_PERFORMANCE), 1e3 if thousands else 1.0, known=known),
                *(
                    _figure(cells.get(name), known=known)
                    for name in (HARDWARE_PER_TB, COST_PER_TB, COST_OVER_YEARS)
                ),
            )
            for treatment, cells in rows
        ]
        caption = f"Cost of the work: {workload} ({'mean [95 % interval]' if known else 'mean'})"
        tables.append(Table(caption, columns, words))
    if tables:
        tables[-1] = replace(
            tables[-1],
            hint="price/performance: price of the cluster divided by TB per hour over all phases; "
            "lower is better.",
        )
    return tables


def _mean(cells: dict[str, Cell]) -> float:
    cell = cells.get(PRICE_PERFORMANCE)
    return 0.0 if cell is None else cell.mean


def _figure(cell: Cell | None, scale: float = 1.0, *, known: bool) -> str:
    if cell is None:
        return "unknown"
    mean = money(cell.mean / scale, "").strip()
    if cell.ci_low is None or cell.ci_high is None:
        return f"{mean} (n = 1)" if known else mean
    low, high = (money(bound / scale, "").strip() for bound in (cell.ci_low, cell.ci_high))
    return f"{mean} [{low}, {high}]"


def _front_table(analysis: Analysis, front: Front) -> Table:
    coin = front.currency or ""
    rows = [
        (
            analysis.name(point.treatment),
            quantity(point.time.mean, point.time.unit),
            money(point.price, coin),
            "unknown" if point.energy is None else quantity(point.energy.mean, point.energy.unit),
            _place(analysis, point),
        )
        for point in front.points
    ]
    strong = frozenset(i for i, point in enumerate(front.points) if not point.beaten_by)
    columns = (*column("treatment", "time", "price", "energy"), *column("dominated by"))
    caption = f"Pareto front of {', '.join(front.objectives)}: {front.workload}"
    return Table(caption, columns, rows, strong)


def _place(analysis: Analysis, point: Point) -> str:
    if not point.beaten_by:
        return "none: on the front"
    doubt = "" if point.clear else " (may be due to chance)"
    return f"{listed([analysis.name(name) for name in point.beaten_by])}{doubt}"


def _data(analysis: Analysis, found: Prices | None, weighed: list[Front]) -> dict[str, Any]:
    return {
        "tariff": asdict(analysis.tariff),
        "clusters": [] if found is None else [asdict(price) for price in found.clusters],
        "notes": [] if found is None else list(found.notes),
        "energy_kind": None if found is None else found.kind,
        "figures": [] if found is None else [asdict(cell) for cell in found.cells],
        "effects": [] if found is None else [asdict(effect) for effect in found.effects],
        "fronts": [asdict(front) for front in weighed],
    }
