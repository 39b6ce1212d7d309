"""Section "Key-value store": throughput, latency, and recovery after faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.formatting import digits, listed, percent, plural, quantity
from windtunnel.analysis.subjects.keyvalue import (
    CAUSED_WITHIN_S,
    HELD,
    PERCENTILES,
    RUN,
    Course,
    Served,
    courses,
    curves,
    served,
)
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.known import INTERVALS_UNKNOWN

SAID = 8
"""Number of saturated treatments that are named."""
ANSWERED = ("read", "scan", "update", "read_modify_write", "insert")
"""The report begins with the latency of the first of these operations that is known."""
OMITTED = 2.0
"""A sentence reports the effect of coordinated omission if it is at least this ratio."""


def section(analysis: Analysis) -> Section | None:
    """None if no workload used a key-value store."""
    rows = analysis.once(served)
    if not rows:
        return None
    several = len({row.workload for row in rows}) > 1
    times = analysis.once(courses)
    struck = {(one.workload, one.treatment) for one in times if one.faults}
    # with a fault, a missed target rate does not show that the store is saturated
    broken = [row for row in rows if (row.workload, row.treatment) in struck]
    few = min(row.n for row in rows)
    return Section(
        id="keyvalue",
        title="Key-value store",
        lead="Latency is measured from the intended start of an operation, which the target rate "
        "determines; without a target rate, from its actual start.",
        said=[
            *_saturated(analysis, [row for row in rows if row not in broken], several),
            *_omitted(
                analysis, [row for row in rows if row in broken or not row.saturated], several
            ),
            *(text for course in times if (text := _recovery(analysis, course, several))),
        ],
        charts=("kv-throughput", "kv-latency", "kv-curve"),
        tables=[_throughput(analysis, rows, several), _latencies(analysis, rows, several)],
        hint="" if few >= 5 else f"from {plural(few, 'trial')}: indicative",
        data={
            "served": [_data(row) for row in rows],
            "courses": [asdict(course) for course in times],
            "curves": [asdict(curve) for curve in analysis.once(curves)],
        },
        answer=None if several or struck or len(analysis.phases) > 1 else _answer(analysis, rows),
    )


def _answer(analysis: Analysis, rows: list[Served]) -> str:
    """The highest throughput, and the latency at target rates that were reached."""
    paced = [row for row in rows if row.target is not None and not row.saturated]
    free = [row.throughput for row in rows if row not in paced]
    names = analysis.names if len(rows) > 1 else {}
    said = [f"serves {_ends(free, _rate, names)}"] if free else []
    cells = list(free)
    for operation in ANSWERED:
        found = [
            (row.target, cell)
            for row in paced
            if (cell := analysis.cell(row.treatment, row.workload, RUN, f"{operation}_p99"))
        ]
        if found:
            targets = {target for target, _ in found}
            at = f"at {targets.pop():,.0f} ops/s " if len(targets) == 1 else "at its target rates "
            within = _ends([cell for _, cell in found], _ms, names)
            said.append(f"{at}answers 99 % of its {_words(operation)}s within {within}")
            cells += [cell for _, cell in found]
            break
    if said and all(cell.ci_low is None for cell in cells):
        said.append(INTERVALS_UNKNOWN)
    return f"{rows[0].workload} {'; '.join(said)}" if said else ""


def _ends(cells: list[Cell], say: Callable[[float], str], names: Mapping[str, str]) -> str:
    """The lowest and the highest mean with intervals and treatments, or the only one."""
    ends = (min(cells, key=lambda cell: cell.mean), max(cells, key=lambda cell: cell.mean))
    known = any(cell.ci_low is not None for cell in cells)
    return " to ".join(
        f"{say(cell.mean)}{_interval(cell, known=known)}"
        + (f" ({names[cell.treatment]})" if names else "")
        for cell in dict.fromkeys(ends)
    )


def _interval(cell: Cell, *, known: bool) -> str:
    if cell.ci_low is None or cell.ci_high is None:
        return " (interval unknown)" if known else ""
    return f" [{_bare(max(cell.ci_low, 0.0))}, {_bare(cell.ci_high)}]"


def name(analysis: Analysis, row: Served | Course, several: bool) -> str:
    """The treatment, with its workload if the study has several workloads."""
    treatment = analysis.name(row.treatment)
    return f"{row.workload}: {treatment}" if several else treatment


def _saturated(analysis: Analysis, rows: list[Served], several: bool) -> list[str]:
    """The treatments that did not reach their target rate, in one sentence."""
    said = []
    for row in rows:
        if row.saturated and row.target is not None:
            text = (
                f"{name(analysis, row, several)} "
                f"({row.throughput.mean:,.0f} of {row.target:,.0f} ops/s"
            )
            if row.saturated < row.n:
                text += f", in {row.saturated} of {plural(row.n, 'trial')}"
            said.append(f"{text})")
    if not said:
        return []
    lead = f"Saturated (the target rate was not reached): {listed(said, SAID)}"
    return [f"{lead}. Their latencies depend on the length of the run and cannot be interpreted"]


def _omitted(analysis: Analysis, rows: list[Served], several: bool) -> list[str]:
    """The largest underestimate of tail latency by a client with coordinated omission."""
    found = [
        (one.by_percentile["p99"] / one.service_p99, row, one)
        for row in rows
        for one in row.latencies
        if one.service_p99 and "p99" in one.by_percentile
    ]
    ratio, row, one = max(found, key=lambda each: each[0], default=(0.0, None, None))
    if row is None or one is None or ratio < OMITTED:
        return []
    return [
        f"{name(analysis, row, several)}, {_words(one.operation)}: the 99th percentile is "
        f"{_ms(one.by_percentile['p99'])} from the intended start and {_ms(one.service_p99)} from "
        f"the actual one. A client that waits for slow answers would underestimate it by a factor "
        f"of {digits(ratio)}"
    ]


def _recovery(analysis: Analysis, course: Course, several: bool) -> str:
    if not course.faults:
        return ""
    lead = f"{name(analysis, course, several)}: after the fault at {digits(min(course.faults))} s "
    if not course.known_before:
        return f"{lead}the recovery time is unknown: the run was too short before the fault"
    if course.recovery_s is None:
        return (
            f"{lead}the throughput did not recover: it was not at 80 % of its previous value for "
            f"{HELD} s before the end of the run"
        )
    if course.recovery_s == 0:
        return (
            f"{lead}the throughput did not fall below 80 % of its previous value within "
            f"{digits(CAUSED_WITHIN_S)} s, and later not for {HELD} s or more"
        )
    return (
        f"{lead}the throughput returned to 80 % of its previous value within "
        f"{digits(course.recovery_s)} s"
    )


def _throughput(analysis: Analysis, rows: list[Served], several: bool) -> Table:
    names = ("throughput", "target", "reached", "data / cache", "cache hits")
    return Table(
        "Throughput",
        column("treatment", *names),
        [
            (
                name(analysis, row, several),
                _rate(row.throughput.mean),
                f"{row.target:,.0f} ops/s" if row.target else "maximum",
                _reached(row),
                f"{digits(row.data_to_cache)} times" if row.data_to_cache else "unknown",
                percent(row.cache_hits, signed=False),
            )
            for row in rows
        ],
        strong=frozenset(i for i, row in enumerate(rows) if row.saturated),
        hint="data / cache: size of the table's files divided by the size of all block caches; "
        "cache hits: fraction of the requested blocks that a block cache held. An asterisk in the "
        "charts marks saturated treatments",
    )


def _reached(row: Served) -> str:
    if row.target is None:
        return ""
    share = percent(row.throughput.mean / row.target, signed=False)
    return f"{share}, saturated" if row.saturated else share


def _latencies(analysis: Analysis, rows: list[Served], several: bool) -> Table:
    return Table(
        "Latency from the intended start, ms",
        column("treatment", "operation", *PERCENTILES, "service p99", text=2),
        [
            (
                name(analysis, row, several),
                _words(one.operation),
                *(_bare(one.by_percentile.get(label)) for label in PERCENTILES),
                _bare(one.service_p99),
            )
            for row in rows
            for one in row.latencies
        ],
        hint="Percentiles of each trial, averaged over the trials. service p99: 99th percentile of "
        "the service time (from the actual start)",
    )


def _rate(value: float) -> str:
    return f"{value:,.0f} ops/s" if value >= 100 else quantity(value, "ops/s")


def _ms(value: float | None) -> str:
    """The value in milliseconds, from ten seconds in seconds."""
    if value is not None and value >= 1e4:
        return quantity(value / 1e3, "s")
    return quantity(value, "ms")


def _bare(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if value >= 100 else digits(value)


def _words(operation: str) -> str:
    return operation.replace("_", "-")


def _data(row: Served) -> dict[str, object]:
    found = asdict(row)
    cell = row.throughput
    found["throughput"] = {"mean": cell.mean, "ci_low": cell.ci_low, "ci_high": cell.ci_high}
    return found
