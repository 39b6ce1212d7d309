"""YCSB's command line and output: results by operation, and the status of each second."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

PERCENTILES = ("50", "95", "99", "99.9")
_WORKLOAD = "io.windtunnel.ycsb.CheckedWorkload"
_INTENDED = "Intended-"
_SHORTEST_S = 0.5
_RESULT = re.compile(r"^\[([A-Za-z-]+)\], (.+), ([-0-9.E]+|NaN)$", re.MULTILINE)
# 2026-11-22 06:38:43:123 10 sec: 10000 operations; 1000.0 current ops/sec; ... [READ: ..., 99=...
_STATUS = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d):(\d{3}) (\d+) sec: (\d+) operations; (.*)$", re.MULTILINE
)
_INTERVAL = re.compile(r"\[([A-Za-z-]+): Count=(\d+), Max=(\d+),[^\]]*?\b99=([0-9.]+)")
_PERCENTILE = re.compile(r"^([0-9.]+)(?:st|nd|rd|th)?PercentileLatency\(us\)$")


@dataclass(frozen=True)
class Operation:
    """Latencies of one kind of operation in ms, and the counts of its return codes.

    ``latency`` maps ``p50`` ... ``p99.9``, ``mean`` and ``max`` to milliseconds from the intended
    start, ``service`` to milliseconds from the actual start. ``answers`` maps ``OK``, ``ERROR``,
    ``NOT_FOUND``, ``UNEXPECTED_STATE`` to counts.
    """

    count: int = 0
    latency: Mapping[str, float] = field(default_factory=dict)
    service: Mapping[str, float] = field(default_factory=dict)
    answers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Second:
    """One status line: its time (epoch seconds), and the operations since the previous line.

    ``seconds`` is the time since the previous line. ``p99`` maps an operation to the 99th
    percentile of its latency from the intended start in that time, in ms.
    """

    at: float
    operations: int
    seconds: float
    p99: Mapping[str, float]


@dataclass(frozen=True)
class Results:
    """The output of a run. ``elapsed_s`` is None if the output lacks the end of the run."""

    elapsed_s: float | None
    operations: Mapping[str, Operation]
    status: list[Second]


def options(
    binding: str,
    properties: Mapping[str, object],
    *,
    load: bool,
    threads: int,
    target: float | None,
) -> list[str]:
    """Words of YCSB's command line; ``binding`` is the store's class."""
    fixed = {
        "workload": _WORKLOAD,
        "dataintegrity": "true",
        "zeropadding": 19,  # digits of a key: see Rows.java
        "measurementtype": "hdrhistogram",
        "measurement.interval": "both",
        "hdrhistogram.percentiles": ",".join(PERCENTILES),
        "status.interval": 1,
    }
    words = ["-load" if load else "-t", "-s", "-db", binding, "-threads", str(threads)]
    if target is not None:
        words += ["-target", str(round(target))]
    for name, value in {**fixed, **properties}.items():
        words += ["-p", f"{name}={value}"]
    return words


def done_in(text: str) -> int | None:
    """Operations done by the last line of status; None if there is none yet."""
    lines = _STATUS.findall(text)
    return int(lines[-1][3]) if lines else None


def results_in(text: str) -> Results:
    """Everything that a run wrote about itself."""
    rows: dict[str, dict[str, float]] = {}
    for name, label, value in _RESULT.findall(text):
        rows.setdefault(name, {})[label] = float(value)
    elapsed = rows.get("OVERALL", {}).get("RunTime(ms)")
    names = [n for n, found in rows.items() if "Operations" in found or _answers(found)]
    operations = {
        name: Operation(
            count=int(rows[name].get("Operations", 0)),
            latency=_latencies(rows.get(f"{_INTENDED}{name}", rows[name])),
            service=_latencies(rows[name]),
            answers=_answers(rows[name]),
        )
        for name in names
        if not name.startswith(_INTENDED)
    }
    return Results(None if elapsed is None else elapsed / 1e3, operations, list(_status(text)))


def _latencies(found: Mapping[str, float]) -> dict[str, float]:
    """Milliseconds by name; empty if no operation was measured.

    A percentile is omitted if fewer than one operation is above it: it would equal the maximum.
    """
    count = found.get("Operations")
    if not count:
        return {}
    wanted = {"mean": "AverageLatency(us)", "max": "MaxLatency(us)"}
    latencies = {name: found[label] for name, label in wanted.items() if label in found}
    for label, value in found.items():
        named = _PERCENTILE.match(label)
        if named and round(count * (100 - float(named[1])), 6) >= 100:
            latencies[f"p{named[1].removesuffix('.0')}"] = value
    return {name: value / 1e3 for name, value in latencies.items()}


def _answers(found: Mapping[str, float]) -> dict[str, int]:
    return {
        label.removeprefix("Return="): int(value)
        for label, value in found.items()
        if label.startswith("Return=")
    }


def _status(text: str) -> Iterator[Second]:
    """Status lines except the first, which YCSB writes at the start, with 0 operations.

    The last line may immediately follow the previous one: it does not describe a full second.
    """
    before: tuple[float, int] | None = None
    for stamp, thousandth, _, total, rest in _STATUS.findall(text):
        at = datetime.fromisoformat(stamp).timestamp() + int(thousandth) / 1e3
        done = int(total)
        if before is not None and at - before[0] < _SHORTEST_S:
            continue
        if before is not None:
            p99 = {
                name.removeprefix(_INTENDED): float(value) / 1e3
                for name, count, _, value in _INTERVAL.findall(rest)
                if name.startswith(_INTENDED) and int(count)
            }
            yield Second(at, done - before[1], at - before[0], p99)
        before = (at, done)
