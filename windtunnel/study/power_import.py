"""Import of power samples into a results folder, without changing its trials."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import filelock

from windtunnel import durable
from windtunnel.errors import ResultsError, UsageError
from windtunnel.results.folder import Results
from windtunnel.results.power import PowerRecord, read_power
from windtunnel.study.journal import storage_errors


def import_power(results: Results, record: PowerRecord) -> bool:
    """Store the samples; False if the folder contains exactly these samples.

    Raises
    ------
    UsageError
        If no trial lies within the samples, if they would count power twice, or if the folder
        contains them with other facts.
    ResultsError, StorageFullError
        If another run uses the folder, or the folder cannot be written.
    """
    folder = results.path / "power"
    with storage_errors(results.path):
        lock = filelock.FileLock(results.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise ResultsError(
                f"a run is writing to {results.path}", remedy="import the samples after its end."
            ) from None
    try:
        there = read_power(results.path)
        for other in there:
            if record.name == other.name:
                _check_facts(record, other, folder / other.name)
                return False
        _check_overlap(results, record)
        for other in there:
            _check_against(record, other, folder / other.name)
        with storage_errors(results.path):
            folder.mkdir(exist_ok=True)
            durable.write_bytes(folder / record.name, record.to_bytes())
        return True
    finally:
        lock.release()


def _check_overlap(results: Results, record: PowerRecord) -> None:
    """Raise an error if the samples overlap no trial: their day or time zone is wrong."""
    first = min(float(t[0]) for t, _ in record.groups.values())
    last = max(float(t[-1]) for t, _ in record.groups.values())
    spans = [(p.started_at, p.finished_at) for trial in results.trials for p in trial.phases]
    if any(start < last and end > first for start, end in spans):
        return
    ran = "no trial has a phase" if not spans else f"the trials ran {_span(spans)}"
    raise UsageError(
        f"no trial lies within the samples: the samples are {_span([(first, last)])}, {ran} (UTC)",
        remedy="check --zone, and whether the file belongs to this study.",
    )


def _check_facts(record: PowerRecord, other: PowerRecord, file: Path) -> None:
    """Raise an error if the same samples were imported with another source, stamp or host count."""
    facts = ("source", "stamp", "period_s", "hosts")
    different = [name for name in facts if getattr(record, name) != getattr(other, name)]
    if different:
        words = ", ".join(
            f"{name.removesuffix('_s')} {getattr(other, name)} instead of {getattr(record, name)}"
            for name in different
        )
        raise UsageError(
            f"the folder already contains these samples with other facts: {words}",
            remedy=f"to replace them, delete {file} first.",
        )


def _check_against(record: PowerRecord, other: PowerRecord, file: Path) -> None:
    """Raise an error for a second source of the same kind, or overlapping samples of a group."""
    if record.kind == other.kind and record.source != other.source:
        raise UsageError(
            f"the folder already contains {record.kind} samples of another source, "
            f"'{other.source}'",
            remedy=f"to replace them, delete {file}; if it is the same meter, "
            f"add --source '{other.source}'.",
        )
    for group, (t, _) in record.groups.items():
        if group not in other.groups:
            continue
        before, _ = other.groups[group]
        if t[0] <= before[-1] and t[-1] >= before[0]:
            raise UsageError(
                f"{file.name} already contains samples of '{group}' from this time",
                remedy=f"to replace them with a longer export, delete {file} first.",
            )


def _span(spans: Iterable[tuple[float, float]]) -> str:
    """``2014-10-01 10:57 to 2014-10-01 18:06``."""
    starts, ends = zip(*spans, strict=True)
    words = [f"{datetime.fromtimestamp(t, UTC):%Y-%m-%d %H:%M}" for t in (min(starts), max(ends))]
    return " to ".join(words)
