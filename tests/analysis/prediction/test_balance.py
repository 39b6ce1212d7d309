"""The balance of a cluster: what binds, what is never used, what a step brings."""

from __future__ import annotations

from typing import Any

import pytest

from windtunnel.analysis.prediction.balance import balance
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.errors import UsageError
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


def test_a_workload_without_equations_is_one_message() -> None:
    with pytest.raises(UsageError, match="no equations for 'scan'"):
        made({}, "scan")
