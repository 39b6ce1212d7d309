"""Section "Column against row": records per second by format, and what was not read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.analysis import Analysis
from windtunnel.analysis.formats import (
    RATE,
    SHARES,
    Entry,
    Formats,
    beside,
    formats,
    ratio_of,
    rows_per_s,
    times,
)
from windtunnel.analysis.words import percent
from windtunnel.report.sections.base import Section, Table, column

SAID = 6
_READ = {"read_share", "partitions_pruned", "rows_skipped"}


def section(analysis: Analysis) -> Section | None:
    """None where no workload read records in a format."""
    found = analysis.once(formats)
    if not found:
        return None
    several = [f for f in found if len(f.entries) > 1 and f.base is not None]
    return Section(
        id="formats",
        title="Column against row",
        lead="Records per second of the data that was asked for, read or not; the ratio is to the "
        "format by row.",
        said=[_sentence(f) for f in several[:SAID]],
        charts=("formats",),
        tables=[
            *(_rates(f) for f in found),
            *(_read(f) for f in found if any(e.shares.keys() & _READ for e in f.entries)),
            *(_limit(analysis, f, other) for f in found if (other := beside(found, f))),
        ],
        data=[_data(f) for f in found],
    )


def name(found: Formats) -> str:
    """``scan, Spark on YARN``, with the levels of other factors where there are any."""
    others = ", ".join(f"{factor} {level}" for factor, level in found.others.items())
    return f"{found.workload}, {found.engine}" + (f" ({others})" if others else "")


def _sentence(found: Formats) -> str:
    columns = [e for e in found.entries if not e.by_row and e.ratio is not None]
    known = columns or [e for e in found.entries if e.ratio is not None]
    if not known:
        return f"{name(found)}: no ratio to {found.base} is known"
    best = max(known, key=lambda e: e.ratio.value if e.ratio else 0.0)
    said = f"{times(best.ratio)} times the records per second of {found.base}"
    more = "" if best.ratio and best.ratio.clear else ", which is not clear"
    return f"{name(found)}: {best.name} gives {said}{more}"


def _rates(found: Formats) -> Table:
    rows = [
        [
            entry.name,
            "row" if entry.by_row else "column",
            rows_per_s(entry.rate.mean),
            "base" if entry.name == found.base else times(entry.ratio),
            str(entry.rate.n),
        ]
        for entry in found.entries
    ]
    columns = column("format", "by", "rows/s", f"times {found.base or 'by row'}", "n", text=2)
    return Table(f"Records per second: {name(found)}", columns, rows)


def _read(found: Formats) -> Table:
    def share(entry: Entry, metric: str) -> str:
        value = entry.shares.get(metric)
        return "" if value is None else percent(value, signed=False)

    rows = [[entry.name, *(share(entry, metric) for metric in SHARES)] for entry in found.entries]
    return Table(
        f"What was read: {name(found)}",
        column("format", "on disk", "read", "partitions pruned", "rows skipped"),
        rows,
        hint="on disk: against the same records as CSV, one copy; read: bytes that the tasks read, "
        "against those on disk of the collections asked for, a query; skipped: records that whole "
        "row groups let pass; empty where it was not measured",
    )


def _limit(analysis: Analysis, one: Formats, other: Formats) -> Table:
    """How far an engine is from what DuckDB does with the same files on one machine."""
    rows = []
    for entry in one.entries:
        twin = other.entry(entry.treatment)
        if twin is None:
            continue
        machine, own = (
            analysis.table[(entry.treatment, f.workload, f.phase, RATE)] for f in (other, one)
        )
        ratio = ratio_of(machine, own, one.workload, one.phase)
        rates = [rows_per_s(each.rate.mean) for each in (entry, twin)]
        rows.append([entry.name, *rates, times(ratio)])
    return Table(
        f"Beside the machine's own limit: {name(one)}",
        column("format", "rows/s", "DuckDB rows/s", "DuckDB, times"),
        rows,
        hint="DuckDB reads copies of the same files on the client's own disk, with all cores of "
        "the client and without HDFS",
    )


def _data(found: Formats) -> dict[str, Any]:
    return {
        "workload": found.workload,
        "phase": found.phase,
        "engine": found.engine,
        "others": dict(found.others),
        "base": found.base,
        "formats": [
            {
                "treatment": e.treatment,
                "format": e.name,
                "by": "row" if e.by_row else "column",
                "rows_per_s": e.rate.mean,
                "low": e.rate.ci_low,
                "high": e.rate.ci_high,
                "n": e.rate.n,
                "ratio": None if e.ratio is None else asdict(e.ratio),
                **e.shares,
            }
            for e in found.entries
        ],
    }
