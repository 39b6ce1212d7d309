"""Price of each treatment's cluster, and cost of its work.

- Price/performance is the price divided by the throughput in TB per hour, as in TPCx-HS
  ($/HSph@SF: TPC Express Benchmark HS, clause 5): price x hours / TB, with the time of all
  phases. Lower is better.
- Cost per TB divides the price by the hours of work in the assumed years; energy is added if it
  is known.
- Cost over the years is the price plus the electricity: the mean power of the workload while the
  cluster works, and the idle power otherwise.

Prices are exact numbers; times and energies vary. Every figure is computed for each trial and
then summarised like any metric, so its interval includes the spread of time and energy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windtunnel.analysis.bottleneck.described_hosts import number
from windtunnel.analysis.cost.energy import covered_idle, energy, metered_hosts, power
from windtunnel.analysis.cost.tariff import Tariff
from windtunnel.analysis.effects.cells import Cell, Key, Sample, cells
from windtunnel.analysis.effects.effects import Effect, effects
from windtunnel.analysis.formatting import plural
from windtunnel.analysis.observations import TOTAL, counts, total_elapsed
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
WITH_ENERGY = frozenset({COST_PER_TB, COST_OVER_YEARS})


@dataclass(frozen=True, slots=True)
class ClusterPrice:
    """The price of a treatment's cluster.

    ``amount`` is the sum over the classes in ``parts`` (class, hosts, price of one); ``lacking``
    names the classes without a price. ``amount`` is None without any price, or if prices cannot
    be added, for the reason in ``refused``.
    """

    treatment: str
    amount: Money | None
    parts: tuple[tuple[str, int, Money], ...]
    lacking: tuple[tuple[str, int], ...]
    refused: str = ""


MODEL_COSTS = (
    "the price is that of the full size and the time that of the model: only changes of costs are "
    "given"
)


@dataclass(frozen=True)
class Prices:
    """Prices of all treatments, and the figures computed from them.

    Of a scale model, only the relative values of ``effects`` are given.

    ``kind`` is the kind of energy in the figures; ``notes`` state what the figures do not cover.
    """

    clusters: Sequence[ClusterPrice]
    currency: str | None
    kind: Kind | None
    cells: Sequence[Cell]
    effects: Sequence[Effect]
    notes: Sequence[str]
    table: Mapping[Key, Sample]

    def amount(self, treatment: str) -> float | None:
        """The price of a treatment's cluster, in ``currency``; None if unknown."""
        if self.currency is None:
            return None
        found = {price.treatment: price.amount for price in self.clusters}.get(treatment)
        return None if found is None else found.amount


def prices(analysis: Analysis) -> Prices | None:
    """Prices and figures; None if the description has no price."""
    study = analysis.study
    if "price" not in str(study.cluster) and not any(
        "price" in path for t in study.treatments for path in t.overrides
    ):
        return None
    clusters = ClusterOf(study)
    found = [cluster_price(t.id, clusters.of(t)) for t in study.treatments]
    if not any(price.parts for price in found):
        return None
    currency, notes = _comparable(found, analysis.names)
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
                sample = table.setdefault(key, Sample(unit, [], printed=study.kind == "published"))
                sample.values.append(value)
                if study.protocol.rounds_known:
                    sample.rounds.append(trial.round)
        table = {key: sample.by_round() for key, sample in table.items()}
        notes += _energy_notes(analysis.tariff, currency, kind)
        if kind == "metered" and WITH_ENERGY & {metric for *_, metric in table}:
            notes += _coverage_notes(analysis, clusters)
    changes = effects(study, table)
    if study.scale is not None and table:
        changes, table = [_relative(effect) for effect in changes], {}
        notes.append(MODEL_COSTS)
    return Prices(found, currency, kind, cells(table), changes, notes, table)


def _relative(effect: Effect) -> Effect:
    """The effect without its absolute values."""
    return replace(
        effect,
        mean=math.nan,
        mean_baseline=math.nan,
        absolute=math.nan,
        absolute_ci_low=None,
        absolute_ci_high=None,
    )


def cluster_price(treatment: str, cluster: Cluster | None) -> ClusterPrice:
    """The price of the hosts of a cluster, for all classes that have a price."""
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
    """(name, unit, value) of all figures from one trial's time, data and energy."""
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
    parts = [phase.metrics.get(energy(kind)) for phase in trial.phases if not phase.beside]
    known = [part.value for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def data_bytes(trial: Trial) -> float | None:
    """Bytes that the trial processed: its metric, else the workload's parameter; None if neither.

    A TeraSort row has 100 bytes.
    """
    metric = trial.metrics.get("data_bytes")
    if metric is not None and metric.unit == "bytes" and metric.value > 0:
        return metric.value
    size = number(trial.parameters.get("size"))
    return size if size else None


def energy_kind(analysis: Analysis) -> Kind | None:
    """The kind of energy of which costs are computed: the most direct one in the study."""
    seen = {
        kind
        for kind in KINDS
        for trial in analysis.results.trials
        if counts(trial) and _joules(trial, kind) is not None
    }
    return next((kind for kind in KINDS if kind in seen), None)


def _comparable(
    found: Sequence[ClusterPrice], called: Mapping[str, str]
) -> tuple[str | None, list[str]]:
    """The common currency, None if prices cannot be compared, and notes about it."""
    notes = [f"{called[price.treatment]}: {price.refused}" for price in found if price.refused]
    coins = sorted({price.amount.currency for price in found if price.amount is not None})
    if len(coins) > 1:
        notes.append(f"treatments have prices in {' and '.join(coins)}: costs are not compared")
    missing = {tuple(name for name, _ in p.lacking) for p in found if p.amount is not None}
    if len(missing) > 1:
        names = sorted({name for lacking in missing for name in lacking})
        notes.append(
            f"the price of {', '.join(names)} is unknown in some treatments: costs are not compared"
        )
    elif missing != {()} and missing:
        priced = next(p for p in found if p.amount is not None)
        hosts = sum(count for _, count in priced.lacking)
        names = sorted(name for name, _ in priced.lacking)
        notes.append(
            f"the price of {', '.join(names)} ({hosts} hosts) is unknown: all figures cover only "
            "the other hosts"
        )
    unpriced = [called[p.treatment] for p in found if p.amount is None and not p.refused]
    if unpriced:
        notes.append(f"treatments without a price: {', '.join(unpriced)}")
    return (coins[0] if len(coins) == 1 and len(missing) == 1 else None), notes


def _energy_notes(tariff: Tariff, currency: str, kind: Kind | None) -> list[str]:
    if kind is None:
        return ["the energy is unknown: costs include only the hardware"]
    if tariff.electricity.currency != currency:
        return [
            f"the price of electricity is in {tariff.electricity.currency} and that of the hosts "
            f"in {currency}: costs include only the hardware; set --electricity in {currency}"
        ]
    if kind == "rapl":
        return ["RAPL covers only processors and memory: the real cost of energy is higher"]
    return []


def _coverage_notes(analysis: Analysis, clusters: ClusterOf) -> list[str]:
    """Notes if the meters do not cover the hosts whose price is in the same figures."""
    notes: dict[str, None] = {}
    for trial in analysis.results.trials:
        cluster = clusters.of(trial.treatment)
        if not counts(trial) or cluster is None or _joules(trial, "metered") is None:
            continue
        described = sum(host_class.count for host_class in cluster.hosts.values())
        metered = metered_hosts(trial.power_source or "")
        if metered is None:
            words = f"the power source does not state how many of the {described} hosts it covers"
        else:
            states = f"the power source states {plural(metered, 'host')}"
            words = f"{states}, and the description has {described}"
        if metered != described:
            notes[
                f"{words}: costs with energy contain the price of the described hosts and the "
                "energy of the metered ones"
            ] = None
    return list(notes)


def figure_cells(found: Prices) -> Mapping[tuple[str, str], dict[str, Cell]]:
    """The figures by (workload, treatment), in the order of the trials."""
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in found.cells:
        rows.setdefault((cell.workload, cell.treatment), {})[cell.metric] = cell
    return rows
