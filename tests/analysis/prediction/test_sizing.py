"""The Pareto front of ``size``: objectives, unknown prices, several currencies."""

from __future__ import annotations

from typing import Any

from windtunnel.analysis.prediction.sizing import _dominated, _order
from windtunnel.report.sizing import sizing_text


def row(
    name: str,
    price: float | None,
    elapsed: float,
    *,
    power: float | None = None,
    currency: str = "USD",
    possible: bool = True,
) -> dict[str, Any]:
    return {
        "name": name,
        "price": price,
        "currency": None if price is None else currency,
        "elapsed_s": elapsed,
        "low_s": elapsed,
        "high_s": elapsed,
        "probability": 1.0,
        "power_w": power,
        "bottleneck": "disk",
        "next_bottleneck": "cpu",
        "inside_fitted_range": True,
        "possible": possible,
        "meets": possible,
        "misses": [] if possible else ["cannot run: x"],
    }


def front(rows: list[dict[str, Any]], *, power: bool = False) -> set[str]:
    found = zip(rows, _dominated(rows, power=power), strict=True)
    return {one["name"] for one, dominated in found if not dominated}


def test_power_is_an_objective_if_the_goal_limits_it() -> None:
    rows = [row("cheap", 1.0, 10.0, power=500.0), row("low", 2.0, 20.0, power=100.0)]
    assert front(rows) == {"cheap"}
    assert front(rows, power=True) == {"cheap", "low"}


def test_candidates_without_a_price_are_compared_among_themselves() -> None:
    rows = [row("slow", None, 20.0), row("fast", None, 10.0), row("priced", 1.0, 15.0)]
    assert front(rows) == {"fast", "priced"}


def test_currencies_are_not_compared() -> None:
    rows = [row("a", 1.0, 10.0), row("b", 2.0, 20.0, currency="EUR"), row("c", 2.0, 20.0)]
    assert front(rows) == {"a", "b"}


def test_a_candidate_that_cannot_run_is_not_on_the_front() -> None:
    assert front([row("a", 1.0, 10.0, possible=False), row("b", 2.0, 20.0)]) == {"b"}


def test_a_free_cluster_is_the_cheapest() -> None:
    rows = sorted(
        [row("unknown", None, 1.0), row("paid", 1.0, 1.0), row("free", 0.0, 9.0)], key=_order
    )
    assert [one["name"] for one in rows] == ["free", "paid", "unknown"]


def text(rows: list[dict[str, Any]], minimised: list[str]) -> str:
    goal = {"within_s": 60.0, "probability": 0.9, "budget": None, "power_w": None}
    shown = [{**one, "dominated": False} for one in rows]
    found: dict[str, Any] = {"fit": "x", "goal": goal, "minimised": minimised, "candidates": shown}
    found["assumed"] = ["clock unknown: 2.5 GHz"]
    return "\n".join(sizing_text(found))


def test_the_text_names_what_is_minimised() -> None:
    said = text([row("a", None, 10.0)], ["time"])
    assert said.startswith("no price is known; the fastest of 1 candidates")
    assert said.endswith("\nassumed: clock unknown: 2.5 GHz")
    assert "cheap" not in said
    said = text([row("a", 1.0, 10.0)], ["price", "time", "power"])
    assert "at least as fast, as cheap and as low in power, and better in one of these" in said
    said = text([row("a", 1.0, 10.0), row("b", 1.0, 10.0, currency="EUR")], ["price", "time"])
    assert "cheapest in USD of" in said and "cheapest in EUR of" in said
    assert "at least as fast and as cheap, and better in one of both" in said
