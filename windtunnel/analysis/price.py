"""Price of each treatment's cluster, and what its work costs: products of an analysis.

- Price/performance is the price over the throughput in TB per hour, as TPCx-HS has it
  ($/HSph@SF: TPC Express Benchmark HS, clause 5): price x hours / TB, with the time of all
  phases. Lower is better.
- Cost per TB shares the price out over the hours of work of so many years; energy is added
  where it is known.
- Cost over the years is the price and the electricity: the mean power of the workload while the
  cluster works, that of idle hosts otherwise.

Prices are exact numbers; times and energies vary. Every figure is worked out for each trial and
then summarised like any metric, so its interval carries the spread of time and energy together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windtunnel.analysis.cells import Cell, Key, Sample, cells
from windtunnel.analysis.effects import Effect, effects
from windtunnel.analysis.energy import covered_idle, energy, power
from windtunnel.analysis.limits import number
from windtunnel.analysis.observations import TOTAL, counts, total_elapsed
from windtunnel.analysis.tariff import Tariff
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster, Money
from windtunnel.results.power import KINDS, Kind
from windtunnel.results.record import Trial

if TYPE_CHECKING:
    from windtunnel.analysis.analyse import Analysis

TB = 1e12
KWH = 3.6e6
PRICE_PERFORMANCE, HARDWARE_PER_TB, COST_PER_TB, COST_OVER_YEARS = (
    "price_performance",
    "hardware_cost_per_tb",
    "cost_per_tb",
    "cost_over_years",
)


@dataclass(frozen=True, slots=True)
class ClusterPrice:
    """The price of a treatment's cluster.

    ``amount`` is that of the classes in ``parts`` (class, hosts, price of one); ``lacking`` names
    the classes without a price. ``amount`` is None with no price at all, or where ``refused`` says
    why prices cannot be added.
    """

    treatment: str
    amount: Money | None
    parts: tuple[tuple[str, int, Money], ...]
    lacking: tuple[tuple[str, int], ...]
    refused: str = ""


@dataclass(frozen=True)
class Prices:
    """Prices of all treatments, and the figures made from them.

    ``kind`` is the kind of energy in them; ``notes`` say what they do not cover.
    """

    clusters: Sequence[ClusterPrice]
    currency: str | None
    kind: Kind | None
    cells: Sequence[Cell]
    effects: Sequence[Effect]
    notes: Sequence[str]
    table: Mapping[Key, Sample]

    def amount(self, treatment: str) -> float | None:
        """The price of a treatment's cluster, in ``currency``; None where it is not known."""
        if self.currency is None:
            return None
        found = {price.treatment: price.amount for price in self.clusters}.get(treatment)
        return None if found is None else found.amount


def prices(analysis: Analysis) -> Prices | None:
    """Prices and figures; None where the description has no price."""
    study = analysis.study
    if "price" not in str(study.cluster) and not any(
        "price" in path for t in study.treatments for path in t.overrides
    ):
        return None
    clusters = ClusterOf(study)
    found = [cluster_price(t.id, clusters.of(t)) for t in study.treatments]
    if not any(price.parts for price in found):
        return None
    currency, notes = _comparable(found)
    kind = energy_kind(analysis) if currency else None
    table: dict[Key, Sample] = {}
    if currency is not None:
        amounts = {price.treatment: price.amount for price in found}
        for trial in analysis.results.trials:
            amount = amounts.get(trial.treatment.id)
            if not counts(trial) or amount is None:
                continue
            cluster = clusters.of(trial.treatment)
            for name, unit, value in figures(trial, amount, analysis.tariff, kind, cluster):
                key = (trial.treatment.id, trial.workload, TOTAL, name)
                table.setdefault(key, Sample(unit, [])).values.append(value)
        notes += _energy_notes(analysis.tariff, currency, kind)
    return Prices(found, currency, kind, cells(table), effects(study, table), notes, table)


def cluster_price(treatment: str, cluster: Cluster | None) -> ClusterPrice:
    """What the hosts of a cluster cost together, as far as their classes have a price."""
    if cluster is None:
        return ClusterPrice(treatment, None, (), ())
    parts, lacking = [], []
    for name, host_class in cluster.hosts.items():
        if host_class.host_price is None:
            lacking.append((name, host_class.count))
        else:
            parts.append((name, host_class.count, host_class.host_price))
    currencies = sorted({price.currency for _, _, price in parts})
    if len(currencies) > 1:
        refused = f"prices in {' and '.join(currencies)} cannot be added"
        return ClusterPrice(treatment, None, tuple(parts), tuple(lacking), refused)
    amount = Money(sum(n * p.amount for _, n, p in parts), currencies[0]) if parts else None
    return ClusterPrice(treatment, amount, tuple(parts), tuple(lacking))


def figures(
    trial: Trial, price: Money, tariff: Tariff, kind: Kind | None, cluster: Cluster | None
) -> Iterator[tuple[str, str, float]]:
    """(name, unit, value) of everything that one trial's time, data and energy tell."""
    elapsed, size = total_elapsed(trial), data_bytes(trial)
    coin = price.currency
    if not elapsed or elapsed <= 0:
        return
    hours, joules, watts = elapsed / 3600, None, None
    if kind is not None:
        joules = _joules(trial, kind)
        mean = trial.metrics.get(power(kind))
        watts = None if mean is None else mean.value
    if tariff.electricity.currency != coin:
        joules = watts = None
    per_kwh = tariff.electricity.amount * tariff.pue
    if size:
        hardware = price.amount / tariff.busy_hours * hours / (size / TB)
        yield PRICE_PERFORMANCE, f"{coin} per TB/h", price.amount * hours / (size / TB)
        yield HARDWARE_PER_TB, f"{coin}/TB", hardware
        if joules is not None:
            yield COST_PER_TB, f"{coin}/TB", hardware + joules / KWH * per_kwh / (size / TB)
    idle = covered_idle(trial, kind, cluster) if kind else None
    if tariff.idle_hours == 0:
        idle = 0.0
    if watts is not None and idle is not None:
        kwh = (watts * tariff.busy_hours + idle * tariff.idle_hours) / 1000
        yield COST_OVER_YEARS, coin, price.amount + kwh * per_kwh


def _joules(trial: Trial, kind: Kind) -> float | None:
    """Energy of the whole trial: its own, else the sum over its phases if all have it."""
    own = trial.metrics.get(energy(kind))
    if own is not None:
        return own.value
    parts = [phase.metrics.get(energy(kind)) for phase in trial.phases]
    known = [part.value for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def data_bytes(trial: Trial) -> float | None:
    """Bytes that the trial processed: its metric, else the workload's parameter; None if neither.

    TeraSort's rows have 100 bytes each.
    """
    metric = trial.metrics.get("data_bytes")
    if metric is not None and metric.unit == "bytes" and metric.value > 0:
        return metric.value
    size = number(trial.parameters.get("size"))
    return size if size else None


def energy_kind(analysis: Analysis) -> Kind | None:
    """The one kind of energy that costs are made from: the most direct that the study has."""
    seen = {
        kind
        for kind in KINDS
        for trial in analysis.results.trials
        if counts(trial) and any(energy(kind) in phase.metrics for phase in trial.phases)
    }
    return next((kind for kind in KINDS if kind in seen), None)


def _comparable(found: Sequence[ClusterPrice]) -> tuple[str | None, list[str]]:
    """The common currency, None where prices cannot be compared; what to say about it."""
    notes = [f"{price.treatment}: {price.refused}" for price in found if price.refused]
    coins = sorted({price.amount.currency for price in found if price.amount is not None})
    if len(coins) > 1:
        notes.append(f"treatments are priced in {' and '.join(coins)}: no costs are compared")
    missing = {tuple(name for name, _ in p.lacking) for p in found if p.amount is not None}
    if len(missing) > 1:
        names = sorted({name for lacking in missing for name in lacking})
        notes.append(
            f"not every treatment has a price of {', '.join(names)}: no costs are compared"
        )
    elif missing != {()} and missing:
        priced = next(p for p in found if p.amount is not None)
        hosts = sum(count for _, count in priced.lacking)
        names = sorted(name for name, _ in priced.lacking)
        notes.append(
            f"the price of {', '.join(names)} ({hosts} hosts) is unknown: all figures cover the "
            "other hosts only"
        )
    unpriced = [p.treatment for p in found if p.amount is None and not p.refused]
    if unpriced:
        notes.append(f"without any price: {', '.join(unpriced)}")
    return (coins[0] if len(coins) == 1 and len(missing) == 1 else None), notes


def _energy_notes(tariff: Tariff, currency: str, kind: Kind | None) -> list[str]:
    if kind is None:
        return ["no energy is known: costs are those of the hardware alone"]
    if tariff.electricity.currency != currency:
        return [
            f"electricity is priced in {tariff.electricity.currency} and the hosts in {currency}: "
            "costs are those of the hardware alone; give --electricity in that currency"
        ]
    if kind == "rapl":
        return ["RAPL sees processors and memory only: the cost of energy is larger than shown"]
    return []


def figure_cells(found: Prices) -> Mapping[tuple[str, str], dict[str, Cell]]:
    """The figures by (workload, treatment), in the order of the trials."""
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in found.cells:
        rows.setdefault((cell.workload, cell.treatment), {})[cell.metric] = cell
    return rows
