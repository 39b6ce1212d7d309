"""Task attempts of the trials that count, out of the tasks files (see ``results/folder.py``)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import duckdb

from windtunnel.analysis import Analysis
from windtunnel.analysis.observations import counts

SUCCEEDED = "SUCCEEDED"
_DAMAGED = (duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One task attempt that ran. Instants are epoch seconds, times seconds.

    None where the history does not tell; attempts that never got a container are left out.
    """

    trial: str
    phase: str
    task: str
    type: str
    status: str
    host: str
    started_at: float
    finished_at: float
    map_finished_at: float | None = None
    locality: str | None = None
    speculative: bool | None = None
    input_bytes: float | None = None
    output_records: float | None = None
    spilled_records: float | None = None
    gc_time: float | None = None

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.finished_at - self.started_at

    @property
    def succeeded(self) -> bool:
        """Whether its work counts."""
        return self.status == SUCCEEDED


# Older folders lack some of the columns: those that are there are taken.
_NAMES = "|".join(field.name for field in fields(Attempt))
_QUERY = (
    f"SELECT COLUMNS('^({_NAMES})$') FROM read_parquet(?, union_by_name = true) "
    "WHERE started_at IS NOT NULL AND finished_at IS NOT NULL"
)


def attempts(analysis: Analysis) -> dict[tuple[str, str], list[Attempt]]:
    """Attempts by (trial, phase) of the trials that count, in the order of their start.

    A file that cannot be read is passed over: its trial then has no attempts, which is
    unknown, not zero.
    """
    results = analysis.results
    paths = [results.tasks_path(trial) for trial in results.trials if counts(trial)]
    found: dict[tuple[str, str], list[Attempt]] = {}
    for row in read_files([path for path in paths if path is not None], _QUERY):
        attempt = Attempt(**row)
        found.setdefault((attempt.trial, attempt.phase), []).append(attempt)
    for group in found.values():
        group.sort(key=lambda attempt: (attempt.started_at, attempt.finished_at))
    return found


def read_files(
    paths: Sequence[Path], query: str, tables: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Rows of a query over ``read_parquet(?)``; files that cannot be read are passed over.

    All files are read at once, which is far quicker than one after the other; only if one
    of them is damaged they are read singly.
    """
    if not paths:
        return []
    config: dict[str, str | bool | int | float | list[str]]
    config = {"threads": 2, "memory_limit": "512MB"}
    with duckdb.connect(":memory:", config=config) as db:
        for name, table in (tables or {}).items():
            db.register(name, table)
        with contextlib.suppress(*_DAMAGED):
            return _rows(db, paths, query)
        rows = []
        for path in paths:
            with contextlib.suppress(*_DAMAGED):
                rows += _rows(db, [path], query)
        return rows


def _rows(db: duckdb.DuckDBPyConnection, paths: Sequence[Path], query: str) -> list[dict[str, Any]]:
    cursor = db.execute(query, [[str(path) for path in paths]])
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
