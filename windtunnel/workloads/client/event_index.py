"""Synthetic event index: a record of about 1.8 kB for each event of a particle detector.

The columns are of the same kinds as in the ATLAS EventIndex (Barberis et al. 2015, "The ATLAS
EventIndex: architecture, design choices, deployment and first operation experience", J. Phys.:
Conf. Ser. 664): numbers of run, luminosity block and event, times, trigger masks as long
hexadecimal texts, GUIDs and references of the files that contain the event; and physics quantities
that a report can summarise. Records are partitioned by collection. Each collection is one CSV file
without a header line, sorted by event.

Every value is computed from the seed and the number of its record by integer and exactly rounded
arithmetic, so equal parameters give equal bytes. Runs as a program on the client's host::

    python event_index.py make FOLDER RECORDS COLLECTIONS SEED
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RECORD_BYTES = 1800
"""Mean length of a record as CSV, rounded; a test checks that the error is below 3 %."""
PARTITION = "collection"
_FILE_EVENTS = 2000
"""Events in one file of the experiment, which share its GUIDs."""


@dataclass(frozen=True)
class ColumnType:
    """A column: its type in Spark and in DuckDB, and the SQL that computes its value."""

    spark: str
    duckdb: str
    made: str


def _number(made: str) -> ColumnType:
    return ColumnType("INT", "INTEGER", made)


def _large(made: str) -> ColumnType:
    return ColumnType("BIGINT", "BIGINT", made)


def _thousandths(made: str) -> ColumnType:
    """A number with three decimals, computed from whole thousandths."""
    return ColumnType("DOUBLE", "DOUBLE", f"({made})::BIGINT / 1000.0::DOUBLE")


def _text(made: str) -> ColumnType:
    return ColumnType("STRING", "VARCHAR", made)


def _mask(blocks: int, start: int) -> ColumnType:
    """A trigger mask: most bits are 0, and eight of every 64 hexadecimal digits vary."""
    digits = (f"substr(m, {(start + 8 * block) % 25 + 1}, 8)" for block in range(blocks))
    return _text(" || ".join(f"'{'0' * 56}' || {each}" for each in digits))


def _reference(guid: str, kind: str) -> ColumnType:
    """The position of an event in a file."""
    return _text(
        f"'[DB=' || {guid} || '][CNT=POOLContainer(DataHeader_{kind})]"
        "[CLID=4DDBD295-EFCE-472A-9EC8-15CD35A9EB8D][TECH=00000202]"
        f"[OID=00000003-' || lpad((i % {_FILE_EVENTS})::VARCHAR, 8, '0') || ']'"
    )


# u, v, w: pseudo-random whole numbers below 2^24; m: 32 hexadecimal digits
_U, _V, _W = (f"({name} / 16777216.0::DOUBLE)" for name in "uvw")
COLUMNS: Mapping[str, ColumnType] = {
    "run_number": _number("300000 + 10 * c + i // 50000"),
    "lumi_block": _number("1 + (i % 50000) // 100"),
    "event_number": _large("1000000000 * c + 7 * i + u % 7"),
    "event_time": _large("1400000000 + 86400 * c + i // 100"),
    "event_time_ns": _number("(u * 59 + v) % 1000000000"),
    "bunch_crossing": _number("v % 3564"),
    "level1_id": _large("16777216 * (i // 4096) + w"),
    "stream": _text(
        "CASE u % 8 WHEN 0 THEN 'calibration' WHEN 1 THEN 'express' WHEN 2 THEN 'physics_Late' "
        "WHEN 3 THEN 'physics_Egamma' ELSE 'physics_Main' END"
    ),
    "channel": _number("CASE WHEN u % 8 = 0 THEN 0 ELSE 147400 + v % 60 END"),
    "is_calibration": _number("CASE WHEN u % 8 = 0 THEN 1 ELSE 0 END"),
    "n_tracks": _number(f"(900 * {_U}*{_U}*{_U}*{_U})::BIGINT + v % 40"),
    "n_jets": _number(f"(12 * {_V}*{_V}*{_V})::BIGINT"),
    "n_muons": _number(f"(6 * {_W}*{_W}*{_W}*{_W}*{_W}*{_W}*{_W}*{_W})::BIGINT"),
    "n_electrons": _number(f"(5 * {_U}*{_U}*{_U}*{_U}*{_U}*{_U})::BIGINT"),
    "event_weight": _thousandths(f"500 + 1000 * {_V}"),
    "pile_up": _thousandths(f"8000 + 52000 * {_W} * {_V}"),
    "missing_et": _thousandths(f"5000 + 495000 * {_V}*{_V}*{_V}*{_V}*{_V}*{_V}"),
    "sum_et": _thousandths(f"40000 + 1900000 * {_U}*{_U}"),
    "leading_jet_pt": _thousandths(f"20000 + 1200000 * {_V}*{_V}*{_V}"),
    "level1_mask": _mask(4, 0),
    "level2_mask": _mask(4, 9),
    "filter_mask": _mask(9, 5),
    "guid_raw": _text("raw"),
    "guid_esd": _text("esd"),
    "guid_aod": _text("aod"),
    "token_raw": _reference("raw", "RAW"),
    "token_esd": _reference("esd", "ESD"),
    "token_aod": _reference("aod", "AOD"),
}
"""The columns in the order of the file; the name of the folder is the partition's column."""
NUMERIC = tuple(name for name, kind in COLUMNS.items() if kind.spark != "STRING")
INTEREST = "stream = 'physics_Main' AND n_muons >= 4 AND missing_et > 250"
"""Events of interest, about one of 400; the order of the records does not help to find them."""


def collections(count: int) -> list[str]:
    """Names of the collections."""
    return [f"data-{number:02d}" for number in range(1, count + 1)]


def shares(records: int, count: int) -> list[int]:
    """The number of records of each collection; they differ by at most one."""
    each, more = divmod(records, count)
    return [each + (place < more) for place in range(count)]


def row_query(collection: int, records: int, seed: int) -> str:
    """The query that generates one collection (counted from 1), in the order of its rows."""
    guid = (
        "upper(substr({0}, 1, 8) || '-' || substr({0}, 9, 4) || '-' || substr({0}, 13, 4) || '-' "
        "|| substr({0}, 17, 4) || '-' || substr({0}, 21, 12))"
    )
    guids = ", ".join(f"{guid.format(f'g{kind}')} AS {kind}" for kind in ("raw", "esd", "aod"))
    files = ", ".join(
        f"md5('{seed} {collection} {kind} ' || f) AS g{kind}" for kind in ("raw", "esd", "aod")
    )
    last = (max(records, 1) - 1) // _FILE_EVENTS
    digits = ", ".join(
        f"('0x' || substr(m, {place}, 6))::BIGINT AS {name}"
        for name, place in (("u", 1), ("v", 9), ("w", 17))
    )
    made = ", ".join(f"{column.made} AS {name}" for name, column in COLUMNS.items())
    return f"""
        WITH guids AS (
            SELECT f, {guids}
            FROM (SELECT f, {files} FROM (SELECT range AS f FROM range({last + 1})))
        ), numbers AS (
            SELECT i, {collection}::BIGINT AS c, md5('{seed} {collection} ' || i) AS m
            FROM (SELECT range AS i FROM range({records}))
        ), drawn AS (SELECT *, {digits} FROM numbers)
        SELECT {made} FROM drawn JOIN guids ON guids.f = i // {_FILE_EVENTS}"""


def make(folder: Path, records: int, count: int, seed: int) -> None:
    """Write the collections, with the same bytes in every call; durable on return.

    The folder appears atomically: it is written under another name and then renamed.
    """
    import duckdb

    new = folder.with_name(f".{folder.name}")
    shutil.rmtree(new, ignore_errors=True)
    with duckdb.connect() as database:
        database.execute("SET preserve_insertion_order = true")
        for number, (name, rows) in enumerate(
            zip(collections(count), shares(records, count), strict=True), start=1
        ):
            target = new / f"{PARTITION}={name}" / "part-00000.csv"
            target.parent.mkdir(parents=True)
            query = row_query(number, rows, seed)
            database.execute(f"COPY ({query}) TO '{target}' (FORMAT csv, HEADER false)")
            with target.open("rb") as file:
                os.fsync(file.fileno())
    new.rename(folder)


if __name__ == "__main__":
    what, where, *numbers = sys.argv[1:]
    if what == "make":
        make(Path(where), *map(int, numbers))
