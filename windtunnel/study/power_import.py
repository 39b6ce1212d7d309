"""Imported power samples go beside the trials: once, of one source, without touching a trial."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import filelock

from windtunnel.errors import ResultsError, UsageError
from windtunnel.results.folder import Results
from windtunnel.results.power import PowerRecord, read_power
from windtunnel.study.journal import storage_errors, write_atomically


def import_power(results: Results, record: PowerRecord) -> bool:
    """Store the samples; False where the folder holds exactly these already.

    Raises
    ------
    UsageError
        If no trial lies within the samples, or they would count watts a second time.
    ResultsError, StorageFullError
        If another run holds the folder, or it cannot be written.
    """
    folder = results.path / "power"
    with storage_errors(results.path):
        lock = filelock.FileLock(results.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise ResultsError(
                f"a run is writing to {results.path}", remedy="import when it has ended."
            ) from None
    try:
        there = read_power(results.path)
        if any(record.name == other.name for other in there):
            return False
        _check_overlap(results, record)
        for other in there:
            _check_against(record, other, folder / other.name)
        with storage_errors(results.path):
            folder.mkdir(exist_ok=True)
            write_atomically(folder / record.name, record.to_bytes())
        return True
    finally:
        lock.release()


def _check_overlap(results: Results, record: PowerRecord) -> None:
    """Samples that meet no trial are those of another day, or of another time zone."""
    first = min(float(t[0]) for t, _ in record.groups.values())
    last = max(float(t[-1]) for t, _ in record.groups.values())
    spans = [(p.started_at, p.finished_at) for trial in results.trials for p in trial.phases]
    if any(start < last and end > first for start, end in spans):
        return
    ran = "no trial has a phase" if not spans else f"the trials ran {_span(spans)}"
    raise UsageError(
        f"no trial lies within the samples: they are {_span([(first, last)])}, {ran} (UTC)",
        remedy="check --zone, and that the file belongs to this study.",
    )


def _check_against(record: PowerRecord, other: PowerRecord, file: Path) -> None:
    """A second source of the same kind, or the same group at the same time, counts watts twice."""
    if record.kind == other.kind and record.source != other.source:
        raise UsageError(
            f"the folder already holds {record.kind} samples of another source, '{other.source}'",
            remedy=f"to replace them delete {file}; if it is the same meter, "
            f"give --source '{other.source}'.",
        )
    for group, (t, _) in record.groups.items():
        if group not in other.groups:
            continue
        before, _ = other.groups[group]
        if t[0] <= before[-1] and t[-1] >= before[0]:
            raise UsageError(
                f"{file.name} already holds samples of '{group}' from this time",
                remedy=f"to replace them delete {file}; a longer export needs no second import.",
            )


def _span(spans: Iterable[tuple[float, float]]) -> str:
    """``2014-10-01 10:57 to 2014-10-01 18:06``."""
    starts, ends = zip(*spans, strict=True)
    words = [f"{datetime.fromtimestamp(t, UTC):%Y-%m-%d %H:%M}" for t in (min(starts), max(ends))]
    return " to ".join(words)
