"""Section "Storage formats": records per second by format, and the fraction of data read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits, percent
from windtunnel.analysis.subjects.formats import (
    RATE,
    SHARES,
    Entry,
    Formats,
    Ratio,
    beside,
    formats,
    ratio_of,
    rows_per_s,
    times,
)
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.known import INTERVALS_UNKNOWN

SAID = 6
_READ = {"read_share", "partitions_pruned", "rows_skipped"}


def section(analysis: Analysis) -> Section | None:
    """None if no workload read records in a format."""
    found = analysis.once(formats)
    if not found:
        return None
    several = [f for f in found if len(f.entries) > 1 and f.base is not None]
    known = intervals_known(found)
    return Section(
        id="formats",
        title="Storage formats",
        lead="Records per second. All records of the queried collections count, including those "
        "that the engine skips. Ratios are relative to the row format."
        + ("" if known else f" {INTERVALS_UNKNOWN.capitalize()}."),
        said=[_sentence(f, known=known) for f in several[:SAID]],
        charts=("formats",),
        tables=[
            *(_rates(f, known=known) for f in found),
            *(_read(f) for f in found if any(e.shares.keys() & _READ for e in f.entries)),
            *(
                _limit(analysis, f, other, known=known)
                for f in found
                if (other := beside(found, f))
            ),
        ],
        data=[_data(f) for f in found],
    )


def name(found: Formats) -> str:
    """``scan, Spark on YARN``, with the levels of the other factors, if any."""
    others = ", ".join(f"{factor} {level}" for factor, level in found.others.items())
    return f"{found.workload}, {found.engine}" + (f" ({others})" if others else "")


def intervals_known(found: Iterable[Formats]) -> bool:
    """Whether at least one ratio has an interval; also true without ratios."""
    ratios = [e.ratio for f in found for e in f.entries if e.ratio is not None]
    return not ratios or any(ratio.low is not None for ratio in ratios)


def ratio_words(ratio: Ratio | None, *, known: bool) -> str:
    """``5.20 [4.10, 6.50]``; only the ratio if no ratio has an interval (not ``known``)."""
    return times(ratio) if known or ratio is None else digits(ratio.value)


def _sentence(found: Formats, *, known: bool) -> str:
    columns = [e for e in found.entries if not e.by_row and e.ratio is not None]
    compared = columns or [e for e in found.entries if e.ratio is not None]
    if not compared:
        return f"{name(found)}: no ratio to {found.base} is known"
    best = max(compared, key=lambda e: e.ratio.value if e.ratio else 0.0)
    said = f"{ratio_words(best.ratio, known=known)} times the records per second of {found.base}"
    tested = best.ratio is not None and best.ratio.low is not None
    more = " (no difference detected)" if tested and best.ratio and not best.ratio.clear else ""
    return f"{name(found)}: {best.name} reaches {said}{more}"


def _rates(found: Formats, *, known: bool) -> Table:
    rows = [
        [
            entry.name,
            "row" if entry.by_row else "column",
            rows_per_s(entry.rate.mean),
            "base" if entry.name == found.base else ratio_words(entry.ratio, known=known),
            str(entry.rate.n),
        ]
        for entry in found.entries
    ]
    ratio = f"ratio to {found.base or 'row'}"
    columns = column("format", "layout", "records/s", ratio, "n", text=2)
    return Table(f"Records per second: {name(found)}", columns, rows)


def _read(found: Formats) -> Table:
    def share(entry: Entry, metric: str) -> str:
        value = entry.shares.get(metric)
        return "" if value is None else percent(value, signed=False)

    rows = [[entry.name, *(share(entry, metric) for metric in SHARES)] for entry in found.entries]
    return Table(
        f"Data read: {name(found)}",
        column("format", "on disk", "read", "partitions pruned", "rows skipped"),
        rows,
        hint="on disk: size of one replica relative to the same records as CSV; read: bytes that "
        "the tasks of a query read, relative to the size on disk of the queried collections; "
        "rows skipped: records in row groups that the engine skipped; empty: not measured",
    )


def _limit(analysis: Analysis, one: Formats, other: Formats, *, known: bool) -> Table:
    """An engine's records per second compared with those of DuckDB on one machine."""
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
        rows.append([entry.name, *rates, ratio_words(ratio, known=known)])
    return Table(
        f"Compared with DuckDB on one machine: {name(one)}",
        column("format", "records/s", "DuckDB records/s", "DuckDB / engine"),
        rows,
        hint="DuckDB reads the same files from the client's local disk, with all cores of "
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
