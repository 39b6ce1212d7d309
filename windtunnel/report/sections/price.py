"""Price of the clusters, cost of their work, and the front of time, price and energy."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.analysis import Analysis, Cell
from windtunnel.analysis.fronts import Front, Point, fronts
from windtunnel.analysis.observations import TOTAL
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
    percent,
    percent_interval,
    quantity,
)
from windtunnel.report.sections.base import Section, Table, column


def section(analysis: Analysis) -> Section | None:
    """None where nothing has a price, and time and energy need no weighing."""
    found, weighed = analysis.once(prices), analysis.once(fronts)
    if found is None and not weighed:
        return None
    said = [sentence for front in weighed for sentence in _front_words(front)]
    tables = []
    if found is not None:
        said += found.notes
        said += _changes(found)
        tables += [_clusters(found), *_figures(analysis, found)]
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
    said += [_beaten(front, point) for point in beaten[:8]]
    if len(beaten) > 8:
        said.append(f"{front.workload}: {len(beaten) - 8} more are beaten, see the table")
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


def _changes(found: Prices) -> list[str]:
    """The change of price/performance by each level of a factor."""
    said = []
    for e in found.effects:
        if e.metric != PRICE_PERFORMANCE or e.phase != TOTAL or e.relative is None:
            continue
        span = percent_interval(e.ci_low, e.ci_high, e.relative)
        said.append(
            f"{e.workload}, {e.factor} {e.level} against {e.baseline}: price/performance "
            f"{percent(e.relative)} {span} (lower is better)"
        )
    return said


def _clusters(found: Prices) -> Table:
    rows = [(p.treatment, _amount(p), _parts(p), _lacking(p)) for p in found.clusters]
    columns = column("treatment", "price", "made of", "without a price", text=1)
    columns = (columns[0], columns[1], *column("made of", "without a price", text=2))
    return Table("Price of the cluster", columns, rows)


def _amount(price: ClusterPrice) -> str:
    if price.amount is None:
        return price.refused or "unknown"
    return money(price.amount.amount, price.amount.currency)


def _parts(price: ClusterPrice) -> str:
    return " + ".join(
        f"{count} {name} x {one.amount:,.2f} {one.currency}" for name, count, one in price.parts
    )


def _lacking(price: ClusterPrice) -> str:
    return ", ".join(f"{name} ({count})" for name, count in price.lacking) or "none"


def _figures(analysis: Analysis, found: Prices) -> list[Table]:
    rows = [
        (
            workload,
            treatment,
            *(
                _figure(cells.get(name))
                for name in (PRICE_PERFORMANCE, HARDWARE_PER_TB, COST_PER_TB, COST_OVER_YEARS)
            ),
        )
        for (workload, treatment), cells in figure_cells(found).items()
    ]
    if not rows:
        return []
    columns = column(
        "workload",
        "treatment",
        f"price/ performance, {found.currency} per TB/h",
        f"hardware, {found.currency}/TB",
        f"with energy, {found.currency}/TB",
        f"{analysis.tariff.span} with energy, {found.currency}",
        text=2,
    )
    hint = "price/performance: price of the cluster over TB per hour, all phases; lower is better."
    return [Table("What the work costs (mean, 95 % interval)", columns, rows, hint=hint)]


def _figure(cell: Cell | None) -> str:
    if cell is None:
        return "unknown"
    mean = money(cell.mean, "").strip()
    if cell.ci_low is None or cell.ci_high is None:
        return f"{mean} (n = 1)"
    low, high = (money(bound, "").strip() for bound in (cell.ci_low, cell.ci_high))
    return f"{mean} [{low}, {high}]"


def _front_table(front: Front) -> Table:
    coin = front.currency or ""
    rows = [
        (
            point.treatment,
            quantity(point.time.mean, point.time.unit),
            money(point.price, coin),
            "unknown" if point.energy is None else quantity(point.energy.mean, point.energy.unit),
            f"by {listed(list(point.beaten_by))}" if point.beaten_by else "on the front",
        )
        for point in front.points
    ]
    strong = frozenset(i for i, point in enumerate(front.points) if not point.beaten_by)
    columns = (*column("treatment", "time", "price", "energy"), *column("beaten"))
    return Table(f"Front of {', '.join(front.objectives)}: {front.workload}", columns, rows, strong)


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
