"""Prices from descriptions, what work costs, and the front, all against sums by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.powered import METERED, busy, cluster, powered, steady
from tests.support.synthetic import DATA
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.cost.pareto_front import Front, fronts
from windtunnel.analysis.cost.price import Prices, cluster_price, prices
from windtunnel.analysis.cost.tariff import Tariff, parse_tariff
from windtunnel.cluster import Cluster, Money
from windtunnel.errors import UsageError
from windtunnel.report.sections import sections

PRICE = 4000 + 3 * 10_000
DEARER = {"tuned": {"hosts.worker.price": "15000 USD"}}


def found(analysis: Analysis) -> Prices:
    made = prices(analysis)
    assert made is not None
    return made


def front(analysis: Analysis) -> Front:
    (made,) = fronts(analysis)
    return made


def means(analysis: Analysis, metric: str) -> dict[str, float]:
    return {c.treatment: c.mean for c in found(analysis).cells if c.metric == metric}


def time_of(analysis: Analysis, treatment: str) -> float:
    cell = analysis.cell(treatment, "terasort", "total", "elapsed")
    assert cell is not None
    return cell.mean


# --- prices -----------------------------------------------------------------------------------


def test_parts_and_hosts_are_added_up() -> None:
    parts = {"cpu": "6000 USD", "memory": "2000 USD", "disks": "1500.50 USD"}
    described = Cluster.model_validate(cluster(price=None, price_parts=parts))
    price = cluster_price("stock", described)

    assert price.amount == Money(4000 + 3 * 9500.5, "USD")
    assert price.parts[1] == ("worker", 3, Money(9500.5, "USD"))
    assert price.lacking == ()


def test_a_class_without_a_price_is_named(tmp_path: Path) -> None:
    made = found(analyse(powered(tmp_path, cluster=cluster(price=None))))
    assert made.clusters[0].amount == Money(4000, "USD")
    assert made.clusters[0].lacking == (("worker", 3),)
    assert any("price of worker (3 hosts) is unknown" in note for note in made.notes)


def test_a_price_that_only_some_treatments_lack_stops_the_comparison(tmp_path: Path) -> None:
    none = {"tuned": {"hosts.worker.price": None}}
    made = found(analyse(powered(tmp_path, overrides=none)))

    assert made.currency is None
    assert not made.cells
    assert any("the price of worker is unknown in some treatments" in note for note in made.notes)


def test_currencies_within_a_cluster_are_not_added(tmp_path: Path) -> None:
    made = found(analyse(powered(tmp_path, cluster=cluster(price="9000 EUR"))))
    assert made.clusters[0].amount is None
    assert made.clusters[0].refused == "prices in EUR and USD cannot be added"
    assert not made.cells


def test_currencies_of_treatments_are_not_compared(tmp_path: Path) -> None:
    euros = {"tuned": {"hosts.worker.price": "9000 EUR", "hosts.master.price": "3000 EUR"}}
    analysis = analyse(powered(tmp_path, overrides=euros))

    assert found(analysis).currency is None
    assert any("EUR and USD" in note for note in found(analysis).notes)
    assert not fronts(analysis)


def test_no_price_no_product(tmp_path: Path) -> None:
    assert prices(analyse(powered(tmp_path / "a", cluster={}))) is None
    bare = cluster(price=None)
    del bare["hosts"]["master"]["price"]
    assert prices(analyse(powered(tmp_path / "b", cluster=bare))) is None


# --- costs ------------------------------------------------------------------------------------


def test_price_performance_is_price_over_throughput(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, overrides=DEARER))
    for name, price in (("stock", PRICE), ("tuned", PRICE + 15_000)):
        tb_per_hour = DATA / 1e12 / (time_of(analysis, name) / 3600)
        assert means(analysis, "price_performance")[name] == pytest.approx(price / tb_per_hour)


def test_the_interval_is_that_of_the_time_because_prices_are_exact(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, noise=0.1))
    time = analysis.cell("stock", "terasort", "total", "elapsed")
    (cost,) = [
        c
        for c in found(analysis).cells
        if (c.treatment, c.metric) == ("stock", "price_performance")
    ]
    assert time is not None
    assert cost.cv == pytest.approx(time.cv)
    assert time.ci_low is not None
    assert cost.ci_low == pytest.approx(time.ci_low * cost.mean / time.mean)


def test_with_equal_prices_the_effect_is_that_of_the_time_paired_by_round(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, trials=12, drift=0.1, effect=-0.05, noise=0.004))
    time = next(e for e in analysis.effects if (e.phase, e.metric) == ("total", "elapsed"))
    cost = next(e for e in found(analysis).effects if e.metric == "price_performance")
    stock, _ = front(analysis).points

    assert time.method == cost.method == "paired by round, on logs"
    assert (cost.ci_low, cost.ci_high) == pytest.approx((time.ci_low, time.ci_high))
    assert time.distinguishable is cost.distinguishable is True
    assert (stock.beaten_by, stock.clear) == (("tuned",), True)


def test_a_dearer_cluster_that_is_no_faster_costs_what_its_price_says(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, overrides=DEARER, effect=0.0, noise=1e-9))
    (effect,) = [e for e in found(analysis).effects if e.metric == "price_performance"]
    assert effect.relative == pytest.approx(15_000 / PRICE, rel=1e-6)


def test_costs_with_energy(tmp_path: Path) -> None:
    tariff = parse_tariff(years=5, electricity="0.20 USD/kWh", pue=1.5)
    results = powered(tmp_path, samples=steady(800.0), source=METERED)
    analysis = analyse(results, tariff)
    tb, seconds = DATA / 1e12, time_of(analysis, "stock")
    hardware = PRICE / (5 * 8760) * seconds / 3600 / tb
    energy = 800.0 * seconds / 3.6e6 * 0.20 * 1.5 / tb

    assert means(analysis, "hardware_cost_per_tb")["stock"] == pytest.approx(hardware)
    assert means(analysis, "cost_per_tb")["stock"] == pytest.approx(hardware + energy)
    years = PRICE + 0.8 * 5 * 8760 * 0.20 * 1.5
    assert means(analysis, "cost_over_years")["stock"] == pytest.approx(years)


def test_idle_hours_take_idle_power(tmp_path: Path) -> None:
    results = powered(tmp_path, samples=steady(800.0), source=METERED)
    analysis = analyse(results, Tariff(utilisation=0.25, electricity=Money(0.10, "USD")))
    hours = 3 * 8760
    expected = PRICE + (0.8 * 0.25 + 0.4 * 0.75) * hours * 0.10
    assert means(analysis, "cost_over_years")["stock"] == pytest.approx(expected)


def test_idle_hours_of_unknown_power_leave_the_cost_unknown(tmp_path: Path) -> None:
    source = "metered: Intel DCM"  # of how many hosts is not said
    results = powered(tmp_path, samples=steady(800.0), source=source)
    assert means(analyse(results), "cost_over_years")
    assert not means(analyse(results, Tariff(utilisation=0.5)), "cost_over_years")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (METERED, None),
        ("metered: Intel DCM, 2 hosts", "states 2 hosts, and the description has 4: costs"),
        ("metered: Intel DCM", "does not state how many of the 4 hosts it covers: costs"),
    ],
)
def test_a_cost_with_the_energy_of_other_hosts_than_the_described_ones_has_a_note(
    source: str, words: str | None, tmp_path: Path
) -> None:
    """At full utilisation no idle power is needed, which is unknown for some of the hosts."""
    analysis = analyse(powered(tmp_path, samples=steady(800.0), source=source))
    assert means(analysis, "cost_over_years")
    notes = [note for note in found(analysis).notes if "energy of the metered" in note]
    assert len(notes) == (words is not None)
    assert all((words or "") in note for note in notes)

    other = analyse(analysis.results, Tariff(electricity=Money(0.2, "EUR")))
    assert not [note for note in found(other).notes if "energy of the metered" in note]


def test_electricity_in_another_currency_is_left_out_and_told(tmp_path: Path) -> None:
    results = powered(tmp_path, samples=steady(800.0), source=METERED)
    analysis = analyse(results, Tariff(electricity=Money(0.2, "EUR")))

    assert not means(analysis, "cost_per_tb")
    assert means(analysis, "hardware_cost_per_tb")
    assert any("EUR" in note and "--electricity" in note for note in found(analysis).notes)


def test_one_kind_of_energy_only(tmp_path: Path) -> None:
    results = powered(tmp_path, samples=busy(0.5))
    assert found(analyse(results)).kind == "modelled"
    bare = powered(tmp_path / "bare")
    assert found(analyse(bare)).kind is None
    assert any("the energy is unknown" in note for note in found(analyse(bare)).notes)


@pytest.mark.parametrize(
    "given",
    [
        {"years": 0.0},
        {"years": float("nan")},
        {"pue": 0.9},
        {"utilisation": "0 %"},
        {"utilisation": "60"},
        {"electricity": "0.15 USD"},
        {"electricity": "0.15 USD/MWh"},
        {"electricity": "cheap/kWh"},
        {"electricity": "-1 USD/kWh"},
    ],
)
def test_a_tariff_that_makes_no_sense(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        parse_tariff(**given)


def test_a_tariff_in_words() -> None:
    tariff = parse_tariff(years=1, utilisation="60 %", electricity="0.2 EUR/kWh", pue=1.25)
    assert tariff.words() == "1 year at 60 % utilisation, electricity 0.2 EUR/kWh, PUE 1.25"


# --- front ------------------------------------------------------------------------------------


def test_faster_and_as_cheap_beats(tmp_path: Path) -> None:
    stock, tuned = front(analyse(powered(tmp_path, trials=8))).points
    assert (stock.beaten_by, stock.clear) == (("tuned",), True)
    assert tuned.beaten_by == ()


def test_faster_but_dearer_are_both_on_the_front(tmp_path: Path) -> None:
    made = front(analyse(powered(tmp_path, overrides=DEARER)))
    assert [point.beaten_by for point in made.points] == [(), ()]
    assert made.objectives == ("time", "price")


def test_energy_is_weighed_where_it_is_known(tmp_path: Path) -> None:
    results = powered(tmp_path, samples=steady(800.0), source=METERED, effect=-0.05)
    made = front(analyse(results))
    assert made.objectives == ("time", "price", "energy")
    assert [point.beaten_by for point in made.points] == [(), ()]  # tuned is faster, but 1.5 x W


def test_beaten_by_chance_is_called_so(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, effect=0.0, noise=0.05, trials=6))
    (beaten,) = [point for point in front(analysis).points if point.beaten_by]
    assert not beaten.clear
    (section,) = [s for s in sections(analysis) if s.id == "price"]
    assert any("may be due to chance" in sentence for sentence in section.said)


def test_the_section_states_assumptions_and_figures(tmp_path: Path) -> None:
    analysis = analyse(powered(tmp_path, overrides=DEARER), Tariff(years=4.0))
    (section,) = [s for s in sections(analysis) if s.id == "price"]

    assert "4 years at 100 % utilisation" in section.lead
    assert section.data["tariff"]["years"] == 4.0
    assert section.data["clusters"][1]["amount"] == {"amount": PRICE + 15_000, "currency": "USD"}
    assert section.data["fronts"][0]["points"][0]["price"] == PRICE
    assert any(t.caption.startswith("Change of price/performance") for t in section.tables)
