"""Candidates of ``size`` as text, and their Pareto front of time and price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel.errors import ResultsError
from windtunnel.report.accuracy import ALONE
from windtunnel.report.atomic import write_bytes
from windtunnel.report.charts.candidates import front
from windtunnel.report.svg import svg

SHOWN = 20


def sizing_text(found: Mapping[str, Any]) -> Iterator[str]:
    """The answer, then a line for each candidate: those that meet the goal first."""
    rows, goal = found["candidates"], found["goal"]
    meeting = [row for row in rows if row["meets"]]
    limits = [
        f"in at most {goal['within_s']:,.0f} s with a probability of {goal['probability']:.0%}"
    ]
    if goal["budget"] is not None:
        limits.append(f"for at most {goal['budget']}")
    if goal["power_w"] is not None:
        limits.append(f"with at most {goal['power_w'] / 1000.0:.3g} kW")
    wanted = ", ".join(limits)
    if meeting:
        for best, words in _best(meeting):
            yield (
                f"{words} of {len(meeting)} candidates (of {len(rows)}) that finish {wanted}: "
                f"{best['name']}"
            )
    else:
        yield f"none of {len(rows)} candidates finishes {wanted}"
        yield from _why(rows)
    yield from map(_line, rows[:SHOWN])
    if len(rows) > SHOWN:
        yield f"{len(rows) - SHOWN} more candidates: see --json"
    yield f"* {_front(found['minimised'])}"
    yield f"constants: {found['fit']}"
    for line in found["assumed"]:
        yield f"assumed: {line}"


def _best(meeting: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The best candidate that meets the goal, and what is minimised; for each currency."""
    currencies = list(dict.fromkeys(row["currency"] for row in meeting if row["price"] is not None))
    if not currencies:
        yield meeting[0], "no price is known; the fastest"
    for one in currencies:
        best = next(row for row in meeting if row["currency"] == one)
        yield best, "cheapest" if len(currencies) == 1 else f"cheapest in {one}"


def _front(minimised: Sequence[str]) -> str:
    """The meaning of ``*``: the Pareto front of the objectives."""
    if minimised == ["time"]:
        return "no other candidate is faster (no price is known)"
    words = {"time": "as fast", "price": "as cheap", "power": "as low in power"}
    listed = [words[one] for one in ("time", "price", "power") if one in minimised]
    both = "both" if len(listed) == 2 else "these"
    return (
        f"no other candidate is at least {', '.join(listed[:-1])} and {listed[-1]}, "
        f"and better in one of {both}"
    )


def _line(row: Mapping[str, Any]) -> str:
    """A candidate: times, price, power, bottlenecks and the goals that it misses."""
    price = "price unknown"
    if row["price"] is not None:
        price = f"{row['price']:,.0f} {row['currency']}"
    power = "" if row["power_w"] is None else f", {row['power_w'] / 1000.0:.1f} kW"
    line = f"{'*' if not row['dominated'] else ' '} {row['name']}: "
    if row["elapsed_s"] is None:
        return f"{line}{price}{power}; {'; '.join(row['misses'])}"
    line += (
        f"{row['elapsed_s']:,.0f} s [{row['low_s']:,.0f}, {row['high_s']:,.0f}], "
        f"probability of meeting the time limit {row['probability']:.0%}, "
        f"{price}{power}; bottleneck: {row['bottleneck']}, next: {row['next_bottleneck']}"
    )
    line += f"; misses {', '.join(row['misses'])}" if row["misses"] else ""
    return line if row["inside_fitted_range"] else f"{line} (outside the fitted range)"


def _why(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Which goals the candidates miss; the remedy if the description lacks what a goal needs."""
    missed = Counter(miss.partition(":")[0] for row in rows for miss in row["misses"])
    yield "  missed: " + ", ".join(f"{what} ({count})" for what, count in missed.most_common())
    unknown = [what for what, count in missed.items() if "unknown" in what and count == len(rows)]
    keys = {"power unknown": ("power: {idle: 100 W, peak: 300 W}", "--power")}
    for what in unknown:
        key, option = keys.get(what, ("price", "--budget"))
        yield f"  what to do: add '{key}' to each host class or part, or remove {option}"
    # a known price with such a miss is in another currency than the budget
    others = [row for row in rows if row["price"] is not None and _misses(row, "price in ")]
    if currencies := dict.fromkeys(row["currency"] for row in others):
        yield f"  what to do: specify --budget in {' or '.join(currencies)}"


def _misses(row: Mapping[str, Any], beginning: str) -> bool:
    return any(miss.startswith(beginning) for miss in row["misses"])


def write_front(found: Mapping[str, Any], path: Path) -> None:
    """Write time against price as SVG; errors also as those of ``write_bytes``.

    Raises
    ------
    ResultsError
        If no candidate has a price and a time, or if the prices have several currencies.
    """
    rows = [row for row in found["candidates"] if row["price"] and row["elapsed_s"]]
    if not any(row["elapsed_s"] for row in found["candidates"]):
        raise ResultsError(
            "no candidate can run the workloads, so there is no time for a chart",
            remedy="change the workloads; without --chart, the reasons are printed.",
        )
    if not rows:
        raise ResultsError(
            "no candidate has a price", remedy="describe 'price' or 'price_parts' of the hosts."
        )
    currencies = dict.fromkeys(row["currency"] for row in rows)
    if len(currencies) > 1:
        raise ResultsError(
            f"the prices of the candidates have several currencies: {', '.join(currencies)}",
            remedy="describe all prices in one currency, or remove --chart.",
        )
    text = svg(front({**found, "candidates": rows})).replace("<svg ", f"<svg {ALONE} ", 1)
    write_bytes(path, text.encode())
