"""The balance of a cluster: what binds, what is never used, what a step brings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from windtunnel.analysis.prediction.alternatives import alternatives
from windtunnel.analysis.prediction.balance import _faster_nic, balance
from windtunnel.cli import run
from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.errors import UsageError
from windtunnel.model.hardware import hardware
from windtunnel.model.store import shipped_fit


def made(changes: dict[str, Any], *workloads: str) -> dict[str, Any]:
    cluster = apply_overrides(load_cluster("cisco-2014"), changes)
    return balance("cisco", cluster, workloads, shipped_fit())


def step(found: dict[str, Any], name: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = found["steps"]
    return next(row for row in rows if row["step"].endswith(name))


def test_a_slow_nic_binds_and_a_faster_one_brings_most() -> None:
    found = made({"hosts.worker.nics.0.rate": "1 Gb/s"}, "teragen")
    assert found["phases"][0]["bottleneck"] == "network"
    nic, cores = step(found, "rate of the NICs"), step(found, "more cores")
    assert nic["high"] < -0.3
    assert nic["change"] < cores["change"]


def test_a_resource_that_no_phase_uses_is_named() -> None:
    found = made({}, "wordcount")
    assert set(found["never_used"]) == {"disk", "network"}
    assert step(found, "more disks")["change"] == pytest.approx(0.0, abs=1e-3)


def test_prices_are_those_of_the_description() -> None:
    found = made({}, "teragen")
    assert step(found, "more cores")["price"] == pytest.approx(6500.86 * 0.25 * 5)
    assert step(found, "rate of the NICs")["price"] is None
    assert all(row["low"] <= row["change"] <= row["high"] for row in found["steps"])


RACKED = {"hosts.worker.count": 16, "hosts.worker.nics.0.rate": "10 Gb/s", "hosts.name.nics": None}


@pytest.mark.parametrize(
    ("network", "factor"),
    [
        ({"spread_over": 2, "uplink": "40 Gb/s"}, 2.0),
        ({"spread_over": 4, "uplink": "40 Gb/s"}, 1.0),
        ({"spread_over": 2, "oversubscription": 4.0}, 4.0),
        ({"switch": {"total_rate": "40 Gb/s"}}, None),
        (None, None),
    ],
)
def test_racks_are_oversubscribed_by_the_nominal_rates(
    network: dict[str, Any] | None, factor: float | None
) -> None:
    changes = {**RACKED, "hosts.store": None, "network": network}
    assert made(changes, "teragen")["per_host"]["oversubscription"] == factor


def test_the_next_rate_is_that_of_each_port() -> None:
    def by(*nics: dict[str, Any]) -> float:
        cluster = apply_overrides(load_cluster("cisco-2014"), {"hosts.worker.nics": list(nics)})
        before = hardware(cluster)
        return _faster_nic(before, cluster).nic_bytes_s / before.nic_bytes_s

    assert by({"rate": "25 Gb/s", "count": 2}) == pytest.approx(40 / 25)
    assert by({"rate": "10 Gb/s"}) == pytest.approx(25 / 10)
    assert by({"rate": "2 Gb/s"}) == pytest.approx(10 / 2)
    assert by({"rate": "10 Gb/s", "measured_rate": "9 Gb/s"}) == pytest.approx(25 / 10)
    assert by({"rate": "400 Gb/s"}) == pytest.approx(2)
    assert by({"rate": "25 Gb/s"}, {"rate": "1 Gb/s"}) == pytest.approx(50 / 26)
    assert by() == pytest.approx(25 / 10), "10 Gb/s are assumed"


def test_one_more_worker_has_the_mean_price_of_all() -> None:
    def price(second: str, **worker: Any) -> tuple[float | None, str]:
        given = load_cluster("cisco-2014").model_dump(mode="json")
        first = {**given["hosts"]["worker"], "price_parts": {}, "price": "10000 USD"}
        other = {**first, "count": 15, "price": second}
        given["hosts"] |= {"worker": {**first, **worker}, "other": other}
        found = balance("two", Cluster.model_validate(given), ["teragen"], shipped_fit())
        row = step(found, "more worker")
        return row["price"], row["currency"]

    assert price("20000 USD") == (pytest.approx(17500), "USD")
    assert price("20000 EUR") == (None, "")
    one = {"roles": ["datanode"], "extra_roles": {"0": ["nodemanager"]}}
    assert price("20000 USD", **one) == (pytest.approx(310000 / 16), "USD")


def test_a_workload_without_equations_is_one_message() -> None:
    with pytest.raises(UsageError, match="no equations for 'scan'"):
        made({}, "scan")


def compared(changes: dict[str, Any], *workloads: str, with_: str = "cisco-2014") -> dict[str, Any]:
    reference = load_cluster("cisco-2014")
    other = apply_overrides(load_cluster(with_), changes)
    return alternatives({"cisco-2014": reference, "other": other}, workloads, shipped_fit())


def rows(found: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["workload"], row["cluster"]): row for row in found["workloads"]}


def test_an_equal_cluster_brings_and_costs_the_same() -> None:
    found = compared({}, "teragen", "terasort")
    for workload in ("teragen", "terasort"):
        row = rows(found)[workload, "other"]
        assert row["change"] == pytest.approx(0.0, abs=1e-9)
        assert row["low"] <= row["change"] <= row["high"]
        assert row["price_time_change"] == pytest.approx(0.0, abs=1e-9)
        assert row["equal_price"] == pytest.approx(found["clusters"][0]["price"])


def test_at_the_same_price_only_the_time_counts() -> None:
    found = compared({"hosts.worker.nics.0.rate": "1 Gb/s"}, "teragen")
    row, price = rows(found)["teragen", "other"], found["clusters"][0]["price"]
    assert row["low"] > 1.0
    assert row["price_time_change"] == pytest.approx(row["change"])  # the same price
    assert row["equal_price"] * (1.0 + row["change"]) == pytest.approx(price)


def test_the_alternate_disks_of_the_study_hold_more_and_take_longer() -> None:
    found = compared({}, "terasort", "wordcount", "dfsio", with_="cisco-2014-alternate")
    before, other = found["clusters"]
    assert (before["capacity_bytes"], other["capacity_bytes"]) == (86.4e12, 144e12)
    assert before["price"] == pytest.approx(2 * 23447.78 + 6 * 29988.92, rel=1e-4)
    assert other["price"] is None, "the disks have no published price, so the cluster has none"
    made = rows(found)
    assert made["dfsio", "other"]["change"] > made["terasort", "other"]["low"] > 0.0
    assert abs(made["wordcount", "other"]["change"]) < 0.001
    assert made["terasort", "other"]["price_time_change"] is None
    assert made["terasort", "other"]["equal_price"] < before["price"]


def test_several_clusters_are_printed_against_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "terasort", "--balance", "cisco-2014", "--balance", "cisco-2014-alternate"]
    assert run(words) == 0
    said = capsys.readouterr().out
    assert "cisco-2014-alternate against cisco-2014" in said
    assert "equal price" in said and "not stated" in said and "144 TB" in said
    assert run([*words, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [one["cluster"] for one in data["balances"]] == ["cisco-2014", "cisco-2014-alternate"]
    assert data["compared"]["reference"] == "cisco-2014"
