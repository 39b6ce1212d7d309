"""The key-value store: what it served, how long an operation took, how it got over faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict

from windtunnel.analysis import Analysis, Cell
from windtunnel.analysis.keyvalue import (
    PERCENTILES,
    RUN,
    Course,
    Served,
    courses,
    curves,
    served,
)
from windtunnel.analysis.words import digits, listed, percent, plural, quantity
from windtunnel.report.sections.base import Section, Table, column

SAID = 8
"""Saturated treatments that are named."""
ANSWERED = ("read", "scan", "update", "read_modify_write", "insert")
"""Operations whose latency the report begins with; the first that is known."""
OMITTED = 2.0
"""From this ratio on it is said how much a client that waits for slow answers would miss."""


def section(analysis: Analysis) -> Section | None:
    """None where no store was asked."""
    rows = analysis.once(served)
    if not rows:
        return None
    several = len({row.workload for row in rows}) > 1
    times = analysis.once(courses)
    struck = {(one.workload, one.treatment) for one in times if one.faults}
    # what stood still did not reach its rate for another reason than its limits
    broken = [row for row in rows if (row.workload, row.treatment) in struck]
    few = min(row.n for row in rows)
    return Section(
        id="keyvalue",
        title="Key-value store",
        lead="Latency counts from the moment at which an operation was to begin by the target "
        "rate; without one, from its actual start.",
        said=[
            *_saturated([row for row in rows if row not in broken], several),
            *_omitted([row for row in rows if row in broken or not row.saturated], several),
            *(text for course in times if (text := _recovery(course, several))),
        ],
        charts=("kv-throughput", "kv-latency", "kv-curve"),
        tables=[_throughput(rows, several), _latencies(rows, several)],
        hint="" if few >= 5 else f"from {plural(few, 'trial')}: indicative",
        data={
            "served": [_data(row) for row in rows],
            "courses": [asdict(course) for course in times],
            "curves": [asdict(curve) for curve in analysis.once(curves)],
        },
        answer=None if several or struck or len(analysis.phases) > 1 else _answer(analysis, rows),
    )


def _answer(analysis: Analysis, rows: list[Served]) -> str:
    """How much was served where nothing held it back, and how soon at a rate that was reached."""
    paced = [row for row in rows if row.target is not None and not row.saturated]
    free = [row.throughput for row in rows if row not in paced]
    names = _names(analysis) if len(rows) > 1 else {}
    told = [f"serves {_ends(free, _rate, names)}"] if free else []
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
            told.append(f"{at}answers 99 % of its {_words(operation)}s within {within}")
            break
    return f"{rows[0].workload} {'; '.join(told)}" if told else ""


def _names(analysis: Analysis) -> dict[str, str]:
    """Treatments by id; a number alone says its factor: ``threads 16``."""
    names = {}
    for one in analysis.study.treatments:
        factor = next(iter(one.levels), "").rpartition(".")[2]
        names[one.id] = f"{factor} {one.id}" if one.id.isdigit() else one.id
    return names


def _ends(cells: list[Cell], say: Callable[[float], str], names: Mapping[str, str]) -> str:
    """The least and the most with their intervals and treatments, or the only one."""
    ends = (min(cells, key=lambda cell: cell.mean), max(cells, key=lambda cell: cell.mean))
    return " to ".join(
        f"{say(cell.mean)}{_interval(cell)}" + (f" ({names[cell.treatment]})" if names else "")
        for cell in dict.fromkeys(ends)
    )


def _interval(cell: Cell) -> str:
    if cell.ci_low is None or cell.ci_high is None:
        return " (interval unknown)"
    return f" [{_bare(max(cell.ci_low, 0.0))}, {_bare(cell.ci_high)}]"


def name(row: Served | Course, several: bool) -> str:
    """The treatment, with its workload where the study has several."""
    return f"{row.workload}: {row.treatment}" if several else row.treatment


def _saturated(rows: list[Served], several: bool) -> list[str]:
    """Treatments whose target was not reached, in one sentence."""
    said = []
    for row in rows:
        if row.saturated and row.target is not None:
            text = f"{name(row, several)} ({row.throughput.mean:,.0f} of {row.target:,.0f} ops/s"
            if row.saturated < row.n:
                text += f", in {row.saturated} of {plural(row.n, 'trial')}"
            said.append(f"{text})")
    if not said:
        return []
    lead = f"Saturated, the rate that was asked for was not reached: {listed(said, SAID)}"
    return [f"{lead}. Their latencies grow with the length of the run and tell no more than that"]


def _omitted(rows: list[Served], several: bool) -> list[str]:
    """How much smaller the tail looks to a client that waits for slow answers, at its worst."""
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
        f"{name(row, several)}, {_words(one.operation)}: the 99th percentile is "
        f"{_ms(one.by_percentile['p99'])} from the intended start and {_ms(one.service_p99)} from "
        f"the actual one. A client that waits for slow answers would miss a factor of "
        f"{digits(ratio)}"
    ]


def _recovery(course: Course, several: bool) -> str:
    if not course.faults:
        return ""
    lead = f"{name(course, several)}: after the fault at {digits(min(course.faults))} s "
    if not course.known_before:
        return f"{lead}it is not known when the throughput was back: too little was seen before it"
    if course.recovery_s is None:
        return f"{lead}the throughput was not back until the end of the run"
    if course.recovery_s == 0:
        return f"{lead}the throughput never fell below 80 % of that before"
    return f"{lead}the throughput was back at 80 % of that before in {digits(course.recovery_s)} s"


def _throughput(rows: list[Served], several: bool) -> Table:
    names = ("throughput", "asked for", "reached", "data / cache", "cache hits")
    return Table(
        "Throughput",
        column("treatment", *names),
        [
            (
                name(row, several),
                _rate(row.throughput.mean),
                f"{row.target:,.0f} ops/s" if row.target else "all it can",
                _reached(row),
                f"{digits(row.data_to_cache)} times" if row.data_to_cache else "unknown: warm",
                percent(row.cache_hits, signed=False),
            )
            for row in rows
        ],
        strong=frozenset(i for i, row in enumerate(rows) if row.saturated),
        hint="data / cache: bytes of the table's files over all block caches; cache hits: share "
        "of the blocks asked for that a block cache had. A star in the plots marks saturated ones",
    )


def _reached(row: Served) -> str:
    if row.target is None:
        return ""
    share = percent(row.throughput.mean / row.target, signed=False)
    return f"{share}, saturated" if row.saturated else share


def _latencies(rows: list[Served], several: bool) -> Table:
    return Table(
        "Latency from the intended start, ms",
        column("treatment", "operation", *PERCENTILES, "service", text=2),
        [
            (
                name(row, several),
                _words(one.operation),
                *(_bare(one.by_percentile.get(label)) for label in PERCENTILES),
                _bare(one.service_p99),
            )
            for row in rows
            for one in row.latencies
        ],
        hint="Percentiles of each trial, averaged over the trials. service: the 99th percentile "
        "from the actual start",
    )


def _rate(value: float) -> str:
    return f"{value:,.0f} ops/s" if value >= 100 else quantity(value, "ops/s")


def _ms(value: float | None) -> str:
    """Milliseconds, from ten seconds on in seconds."""
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
