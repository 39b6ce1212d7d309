"""Checks of correct tables that once had a point, and of odd numbers."""

from __future__ import annotations

import pytest

from tests.published.test_summaries import points
from windtunnel.published.cells import plain
from windtunnel.published.unit_names import unit_of_name

COSTS = "nodes,price_usd_per_hour,elapsed_h,cost_usd\n" + "".join(
    f"8,{price},{hours},{8 * price * hours:.2f}\n"
    for price, hours in ((0.5, 2.0), (0.7, 3.5), (0.9, 1.5), (1.1, 4.0), (0.6, 2.5))
)
LATENCIES = "store,data_mb,rate_mb_s,latency_min,latency_max\na,100,50,2.0,9.1\n"
PARAMETERS = "workload,config,timeout_s,elapsed_s\n" + "".join(
    f"{workload},{config},600,{200 + 31 * at}\n"
    for at, workload in enumerate("pqrst")
    for config in ("stock", "tuned")
)
SMALL = "job,elapsed_s\na,.5\nb,0\nc,12.1\nd,13.2\ne,14.3\nf,15.4\n"


@pytest.mark.parametrize("table", [COSTS, LATENCIES])
def test_a_correct_table_has_no_point(table: str) -> None:
    assert points(table) == []


def test_a_parameter_is_not_called_coarse() -> None:
    assert [p for p in points(PARAMETERS) if p.check == "precision"] == []
    (point,) = points("codec,mean_s\n" + "".join(f"{codec},1000\n" for codec in "pqrst"))
    assert point.check == "precision", "equal means are rounded"


@pytest.mark.parametrize(
    "table",
    [
        SMALL,
        "a,watts,watts_per_node\n" + "".join(f"{n},1e400,2\n" for n in "pqrst"),
        "job,bytes\n" + "".join(f"{n},1e308\n" for n in "pqrs") + "total,4e308\n",
    ],
)
def test_odd_numbers_stop_no_check(table: str) -> None:
    points(table)


def test_a_point_separates_thousands_where_a_comma_separates_decimals() -> None:
    assert plain("1.234", "decimals") == "1234"
    assert plain("987,5", "decimals") == "987.5"
    assert plain("1.234", "unknown") == "1.234"


def test_a_name_with_two_quotients_has_no_unit() -> None:
    assert unit_of_name("usd_per_node_per_hour") is None
    assert unit_of_name("usd_per_hour") is not None
