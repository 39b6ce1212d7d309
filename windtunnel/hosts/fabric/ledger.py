"""The ledger of a fabric: how to undo each change of the machine, written before the change.

``ledger.jsonl`` in the deployment's folder holds one JSON object per line, an *undo record*
``{"kind": ..., facts}``. A record is on the disk before its change is made, so the ledger may
name changes that were never made; the undo must accept that. The records are undone in reverse
order; a record that cannot be undone stays in the ledger for the next attempt.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from windtunnel import durable

LEDGER = "ledger.jsonl"

Record = Mapping[str, object]
Undo = Callable[[Record], None]


class Ledger:
    """Writes the ledger of one fabric.

    Parameters
    ----------
    folder:
        The registration folder of the deployment.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER

    def note(self, *records: Record) -> None:
        """Write undo records durably: they survive every crash. Raises OSError."""
        # the first line end completes a partial line of a failed write
        durable.append(self.path, b"\n" + _lines(records))


def read(folder: Path) -> list[Record]:
    """All complete records, oldest first; the change of a partial last line was not begun.

    Without a ledger, there are none. Raises OSError if the ledger cannot be read.
    """
    try:
        lines = (folder / LEDGER).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    records: list[Record] = []
    for line in lines[:-1]:
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict):
                records.append(record)
    return records


def undo(folder: Path, kinds: Mapping[str, Undo]) -> list[str]:
    """Undo all records in reverse order; safe to repeat, to interrupt, and to run concurrently.

    Parameters
    ----------
    folder:
        The registration folder.
    kinds:
        The function that undoes a record of each kind; it raises OSError if it cannot.

    Returns
    -------
    list of str
        One line per record that could not be undone; these records stay in the ledger. If the
        ledger cannot be read or written, it stays as it is.
    """
    kept: list[Record] = []
    problems = []
    try:
        with _alone(folder):
            for record in reversed(read(folder)):
                try:
                    kinds[str(record["kind"])](record)
                except (OSError, LookupError, ValueError) as error:
                    kept.append(record)
                    problems.append(f"{json.dumps(record)}: {error}")
            _replace(folder, kept[::-1])
    except FileNotFoundError:  # another process has removed the folder meanwhile
        return problems
    except OSError as error:
        problems.append(f"{folder / LEDGER}: {error.strerror or error}")
    return problems


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: supervisor, ``clean`` and the program may undo concurrently."""
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
    if kept:
        durable.write_bytes(path, _lines(kept))
    else:
        path.unlink(missing_ok=True)
