"""Reading the Parquet files of the trials in one query; files that cannot be read are listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """Rows of a query over files, the names of the columns, and the damaged files."""

    names: tuple[str, ...]
    rows: list[Row]
    damaged: frozenset[Path]

    def each(self) -> Iterator[dict[str, Any]]:
        """The rows as mappings from column names to values."""
        return (dict(zip(self.names, row, strict=True)) for row in self.rows)


def read_files(
    paths: Iterable[Path | None], query: str, tables: Mapping[str, Any] | None = None
) -> Reading:
    """Rows of a query over ``read_parquet(?)``; None among the paths is skipped.

    All files are read in one query, which is much faster than one query per file. Only if a
    file is damaged, each file is read separately. A file that cannot be read is skipped and
    listed: its contents are unknown, not zero.
    """
    known = [path for path in paths if path is not None]
    if not known:
        return Reading((), [], frozenset())
    config: dict[str, str | bool | int | float | list[str]]
    config = {"threads": 2, "memory_limit": "512MB"}
    with duckdb.connect(":memory:", config=config) as db:
        for name, table in (tables or {}).items():
            db.register(name, table)
        try:
            return _read(db, known, query)
        except duckdb.Error:
            return _singly(db, known, query)


def _singly(db: duckdb.DuckDBPyConnection, paths: Sequence[Path], query: str) -> Reading:
    """The files of one study may differ in their columns: the rows have the columns of all."""
    parts, damaged = [], set()
    for path in paths:
        try:
            parts.append(_read(db, [path], query))
        except duckdb.Error:
            damaged.add(path)
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    rows = [tuple(map(row.get, names)) for part in parts for row in part.each()]
    return Reading(names, rows, frozenset(damaged))


def _read(db: duckdb.DuckDBPyConnection, paths: Sequence[Path], query: str) -> Reading:
    cursor = db.execute(query, [[str(path) for path in paths]])
    names = tuple(column[0] for column in cursor.description or ())
    return Reading(names, cursor.fetchall(), frozenset())
