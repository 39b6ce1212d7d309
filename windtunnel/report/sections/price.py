"""Price of the clusters, cost of their work, and the front of time, price and energy."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from windtunnel.analysis import Analysis, Cell, Effect
from windtunnel.analysis.fronts import Front, Point, fronts
from windtunnel.analysis.price import (
    COST_OVER_YEARS,
    COST_PER_TB,
    HARDWARE_PER_TB,
    PRICE_PERFORMANCE,
    ClusterPrice,
    Prices,
    figure_cells,
    prices,
)
from windtunnel.analysis.words import (
    listed,
    money,
    quantity,
)
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.changes import changes

BEATEN_SAID = 3
"""More treatments than this are not each said to be beaten: the table says it."""


def section(analysis: Analysis) -> Section | None:
    """None where nothing has a price, and time and energy need no weighing."""
    found, weighed = analysis.once(prices), analysis.once(fronts)
    if found is None and not weighed:
        return None
    said = [sentence for front in weighed for sentence in _front_words(front)]
    tables = []
    if found is not None:
        said += found.notes
        tables += [_clusters(analysis, found), *_figures(analysis, found)]
        tables += changes("Change of price/performance (lower is better)", _effects(found))
    tables += [_front_table(front) for front in weighed]
    return Section(
        id="price",
        title="Price, time and energy" if found is not None else "Time and energy",
        lead=f"Assumed: {analysis.tariff.words()}." if found is not None else "",
        said=said,
        charts=("pareto",),
        tables=tables,
        hint="Prices are those of the description, exact; intervals carry the spread of time "
        "and energy."
        if found is not None
        else "",
        data=_data(analysis, found, weighed),
    )


def _front_words(front: Front) -> list[str]:
    """Who is on the front, and who is beaten by whom."""
    on = [point.treatment for point in front.points if not point.beaten_by]
    what = " and ".join(front.objectives)
    if len(front.objectives) > 2:
        what = f"{', '.join(front.objectives[:-1])} and {front.objectives[-1]}"
    verb = "is" if len(on) == 1 else "are"
    said = [f"{front.workload}: on the front of {what} {verb} {listed(on, 8)}"]
    beaten = [point for point in front.points if point.beaten_by]
    if len(beaten) <= BEATEN_SAID:
        said += [_beaten(front, point) for point in beaten]
    if front.left_out:
        names = listed(list(front.left_out))
        said.append(f"{front.workload}: not weighed, because a number is missing: {names}")
    return said


def _beaten(front: Front, point: Point) -> str:
    doubt = "" if point.clear else ", but by no more than chance may explain"
    return (
        f"{front.workload}: {point.treatment} is beaten by {listed(list(point.beaten_by))}, "
        f"nowhere worse and somewhere better{doubt}"
    )


def _effects(found: Prices) -> list[Effect]:
    return [e for e in found.effects if e.metric == PRICE_PERFORMANCE]


def _clusters(analysis: Analysis, found: Prices) -> Table:
    """Prices of the treatments that ran."""
    ran = {trial.treatment for trial in analysis.trials}
    rows = [
        (price.treatment, _amount(price), _parts(price), _lacking(price))
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
    """What the work costs, one table per workload."""
    by_workload: dict[str, list[tuple[str, dict[str, Cell]]]] = {}
    order = {name: place for place, name in enumerate(analysis.treatments())}
    for (workload, treatment), cells in figure_cells(found).items():
        by_workload.setdefault(workload, []).append((treatment, cells))
    tables = []
    for workload, rows in by_workload.items():
        rows.sort(key=lambda row: order[row[0]])
        largest = max((_mean(cells) for _, cells in rows), default=0.0)
        thousands = largest >= 1e4
        coin = found.currency
        columns = column(
            "treatment",
            f"price/performance, {'k' if thousands else ''}{coin} per TB/h",
            f"hardware, {coin}/TB",
            f"with energy, {coin}/TB",
            f"{analysis.tariff.span} with energy, {coin}",
        )
        words = [
            (
                treatment,
                _figure(cells.get(PRICE_PERFORMANCE), 1e3 if thousands else 1.0),
                *(_figure(cells.get(name)) for name in (HARDWARE_PER_TB, COST_PER_TB)),
                _figure(cells.get(COST_OVER_YEARS)),
            )
            for treatment, cells in rows
        ]
        caption = f"What the work costs: {workload} (mean [95 % interval])"
        tables.append(Table(caption, columns, words))
    if tables:
        tables[-1] = replace(
            tables[-1],
            hint="price/performance: price of the cluster over TB per hour, all phases; lower is "
            "better.",
        )
    return tables


def _mean(cells: dict[str, Cell]) -> float:
    cell = cells.get(PRICE_PERFORMANCE)
    return 0.0 if cell is None else cell.mean


def _figure(cell: Cell | None, scale: float = 1.0) -> str:
    if cell is None:
        return "unknown"
    mean = money(cell.mean / scale, "").strip()
    if cell.ci_low is None or cell.ci_high is None:
        return f"{mean} (n = 1)"
    low, high = (money(bound / scale, "").strip() for bound in (cell.ci_low, cell.ci_high))
    return f"{mean} [{low}, {high}]"


def _front_table(front: Front) -> Table:
    coin = front.currency or ""
    rows = [
        (
            point.treatment,
            quantity(point.time.mean, point.time.unit),
            money(point.price, coin),
            "unknown" if point.energy is None else quantity(point.energy.mean, point.energy.unit),
            _place(point),
        )
        for point in front.points
    ]
    strong = frozenset(i for i, point in enumerate(front.points) if not point.beaten_by)
    columns = (*column("treatment", "time", "price", "energy"), *column("beaten"))
    return Table(f"Front of {', '.join(front.objectives)}: {front.workload}", columns, rows, strong)


def _place(point: Point) -> str:
    if not point.beaten_by:
        return "on the front"
    doubt = "" if point.clear else " (no more than chance may explain)"
    return f"by {listed(list(point.beaten_by))}{doubt}"


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
