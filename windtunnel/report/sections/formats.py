"""Section "Column against row": records per second by format, and what was not read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windtunnel.analysis import Analysis
from windtunnel.analysis.formats import (
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


def section(analysis: Analysis) -> Section | None:
    """None where no workload read records in a format."""
    found = analysis.once(formats)
    if not found:
        return None
    several = [f for f in found if len(f.entries) > 1 and f.base is not None]
    tables = [_rates(found)]
    limits = [f for f in found if beside(found, f) is not None]
    if limits:
        tables.append(_limits(analysis, found, limits))
    return Section(
        id="formats",
        title="Column against row",
        lead="Records per second of the data that was asked for, read or not; the ratio is to the "
        "format by row.",
        said=[_sentence(f) for f in several[:SAID]],
        charts=("formats",),
        tables=tables,
        hint="On disk: against the same records as CSV, one copy. Read: bytes that Spark's tasks "
        "read, against those on disk, for one query. Skipped: records that whole row groups let "
        "pass. A field is empty where it was not measured.",
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


def _rates(found: list[Formats]) -> Table:
    rows = [_row(f, entry) for f in found for entry in f.entries]
    columns = column(
        "workload, engine",
        "format",
        "by",
        "rows/s",
        "times the base",
        "on disk",
        "read",
        "partitions pruned",
        "rows skipped",
        "n",
        text=3,
    )
    return Table("Records per second by format", columns, rows)


def _row(found: Formats, entry: Entry) -> list[str]:
    def share(metric: str) -> str:
        value = entry.shares.get(metric)
        return "" if value is None else percent(value, signed=False)

    return [
        name(found),
        entry.name,
        "row" if entry.by_row else "column",
        rows_per_s(entry.rate.mean),
        "base" if entry.name == found.base else times(entry.ratio),
        share("size_share"),
        share("read_share"),
        share("partitions_pruned"),
        share("rows_skipped"),
        str(entry.rate.n),
    ]


def _limits(analysis: Analysis, found: list[Formats], limits: list[Formats]) -> Table:
    """How far Spark is from what DuckDB does with the same files on one machine."""
    rows = []
    for one in limits:
        other = beside(found, one)
        for entry in one.entries:
            twin = other.entry(entry.treatment) if other else None
            if other is None or twin is None:
                continue
            samples = [
                analysis.table[(entry.treatment, f.workload, f.phase, entry.rate.metric)]
                for f in (other, one)
            ]
            ratio = ratio_of(samples[0], samples[1], one.workload, one.phase)
            own, machine = rows_per_s(entry.rate.mean), rows_per_s(twin.rate.mean)
            rows.append([name(one), entry.name, own, machine, times(ratio)])
    return Table(
        "Beside the machine's own limit: DuckDB on the same files",
        column("workload, engine", "format", "rows/s", "DuckDB rows/s", "DuckDB times", text=2),
        rows,
        hint="DuckDB reads files of the client's own disk, with all of its cores and without HDFS",
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
