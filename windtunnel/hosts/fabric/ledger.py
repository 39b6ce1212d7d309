"""The ledger of a fabric: how to undo each change of the machine, written before the change.

``ledger.jsonl`` in the deployment's folder holds one JSON object a line, an *undo record*
``{"kind": ..., facts}``. A record is on the disk before the change that it undoes is made;
so the ledger may name things that were never made, and undoing must not mind. The records
are undone backwards; what cannot be undone stays in the ledger for the next attempt.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

LEDGER = "ledger.jsonl"

Record = Mapping[str, object]
Undo = Callable[[Record], None]


class Ledger:
    """The writing end; a fabric has one.

    Parameters
    ----------
    folder:
        The registration folder of the deployment.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER

    def note(self, *records: Record) -> None:
        """Write undo records; when this returns, they survive any death. Raises OSError."""
        new = not self.path.exists()
        with self.path.open("ab") as file:
            # the first line end closes what a failed write may have left without one
            file.write(b"\n" + _lines(records))
            file.flush()
            os.fsync(file.fileno())
        if new:
            _sync_folder(self.path.parent)


def read(folder: Path) -> list[Record]:
    """All whole records, oldest first. A torn last line is of a change that was never begun."""
    try:
        lines = (folder / LEDGER).read_bytes().split(b"\n")
    except OSError:
        return []
    records: list[Record] = []
    for line in lines[:-1]:
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict):
                records.append(record)
    return records


def undo(folder: Path, kinds: Mapping[str, Undo]) -> list[str]:
    """Undo all records backwards; safe to repeat, to kill, and to run twice at a time.

    Parameters
    ----------
    folder:
        The registration folder.
    kinds:
        What undoes a record of each kind; raises OSError where it cannot.

    Returns
    -------
    list of str
        What could not be undone, one line each; these records stay in the ledger.
    """
    if not (folder / LEDGER).exists():
        return []
    with _alone(folder):
        kept: list[Record] = []
        problems = []
        for record in reversed(read(folder)):
            try:
                kinds[str(record["kind"])](record)
            except (OSError, LookupError, ValueError) as error:
                kept.append(record)
                problems.append(f"{json.dumps(record)}: {error}")
        _replace(folder, kept[::-1])
    return problems


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: supervisor, ``clean`` and the program may all want to undo."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lines(records: Iterable[Record]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _replace(folder: Path, kept: list[Record]) -> None:
    path = folder / LEDGER
    if not kept:
        path.unlink(missing_ok=True)
        return
    new = path.with_suffix(".new")
    new.write_bytes(_lines(kept))
    new.replace(path)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
