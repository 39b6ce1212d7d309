"""The allow list: what the user permits Windtunnel to do on an existing cluster.

The list is a file of the user: cluster id -> queue -> space, containers, last day. Only
``windtunnel allow`` writes it.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from windtunnel import durable
from windtunnel.cluster import format_bytes
from windtunnel.errors import NotAllowedError, ResultsError
from windtunnel.inspection.queues import without_root

VARIABLE = "WINDTUNNEL_ALLOWED"


@dataclass(frozen=True)
class Allowance:
    """What is permitted on one queue of one cluster.

    ``space_bytes`` are bytes of all replicas, ``until`` is the last permitted day (ISO 8601).
    """

    cluster: str
    queue: str
    space_bytes: int
    containers: int
    until: str

    def words(self) -> str:
        """The allowance as text."""
        return (
            f"{self.cluster}: queue {self.queue}, {format_bytes(self.space_bytes, 3)}, "
            f"{self.containers} containers, until {self.until}"
        )


@dataclass(frozen=True)
class Need:
    """What a study needs on one queue of one cluster, in the units of :class:`Allowance`.

    ``space_words`` states the parts of the space.
    """

    cluster: str
    queue: str
    space_bytes: int
    containers: int
    space_words: str = ""


def allow_file() -> Path:
    """The file of the allow list: ``WINDTUNNEL_ALLOWED``, or ``allowed.json`` of the user."""
    override = os.environ.get(VARIABLE)
    if override:
        return Path(override).expanduser().absolute()
    return platformdirs.user_config_path("windtunnel") / "allowed.json"


def allowances() -> list[Allowance]:
    """All entries of the allow list; raises ResultsError if the file is damaged."""
    file = allow_file()
    try:
        rows = json.loads(file.read_text()) if file.exists() else []
        return [_entry(row, number) for number, row in enumerate(_list(rows), 1)]
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ResultsError(
            f"the allow list {file} cannot be read: {why}",
            remedy="correct or restore the file; if you remove it, all permissions are lost.",
        ) from error


def _list(rows: Any) -> list[Any]:
    if not isinstance(rows, list):
        raise ValueError("it is not a list")
    return rows


def _entry(row: Any, number: int) -> Allowance:
    """The ``number``-th entry; ValueError states what is wrong."""
    if not isinstance(row, dict):
        raise ValueError(f"entry {number} is not a mapping")
    kinds = {"cluster": str, "queue": str, "space_bytes": int, "containers": int, "until": str}
    if row.keys() != kinds.keys():
        raise ValueError(f"entry {number} must have the keys {', '.join(kinds)}")
    for name, kind in kinds.items():
        if not isinstance(row[name], kind) or isinstance(row[name], bool):
            noun = "text" if kind is str else "whole number"
            raise ValueError(f"entry {number}: '{name}' must be a {noun}")
    datetime.date.fromisoformat(row["until"])
    return Allowance(**row)


def allow(new: Allowance) -> None:
    """Add an entry, or replace the entry of the same cluster and queue."""
    file = allow_file()
    others = [a for a in allowances() if a.cluster != new.cluster or not _same(a.queue, new.queue)]
    _write(file, [*others, new])


def disallow(cluster: str) -> int:
    """Remove all entries of a cluster; returns their number."""
    found = allowances()
    kept = [one for one in found if one.cluster != cluster]
    if len(kept) < len(found):
        _write(allow_file(), kept)
    return len(found) - len(kept)


def _write(file: Path, entries: Sequence[Allowance]) -> None:
    with durable.storage_errors(
        f"the allow list {file} cannot be written",
        remedy=f"set {VARIABLE} to a file that you may write.",
        space="free some space.",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(file, json.dumps([asdict(one) for one in entries], indent=1))


def check_allowed(need: Need, today: datetime.date | None = None) -> Allowance:
    """The entry that permits a study.

    Raises
    ------
    NotAllowedError
        If there is none, with everything that exceeds it and the command that would permit it.
    """
    mine = [one for one in allowances() if one.cluster == need.cluster]
    entry = next((one for one in mine if _same(one.queue, need.queue)), None)
    if entry is None:
        reason = f"the allow list has no entry for the cluster {need.cluster}"
        if mine:
            queues = ", ".join(one.queue for one in mine)
            reason = f"the queue {need.queue} is not allowed; allowed: {queues}"
        raise NotAllowedError(reason, remedy=_remedy(need))
    beyond = list(_beyond(need, entry, today or this_day()))
    if beyond:
        raise NotAllowedError(
            f"the study exceeds what is allowed on the cluster {need.cluster}: "
            + "; ".join(beyond),
            remedy=_remedy(need),
        )
    return entry


def this_day() -> datetime.date:
    """The present day in the time zone of this machine."""
    return datetime.datetime.now().astimezone().date()


def _same(queue: str, other: str) -> bool:
    return without_root(queue) == without_root(other)


def _beyond(need: Need, entry: Allowance, today: datetime.date) -> Iterator[str]:
    if need.space_bytes > entry.space_bytes:
        parts = f" ({need.space_words})" if need.space_words else ""
        yield (
            f"it needs {format_bytes(need.space_bytes, 3)} in HDFS{parts}, and "
            f"{format_bytes(entry.space_bytes, 3)} are allowed"
        )
    if need.containers > entry.containers:
        yield f"it needs {need.containers} containers, and {entry.containers} are allowed"
    if today > datetime.date.fromisoformat(entry.until):
        yield f"it was allowed until {entry.until}"


def _remedy(need: Need) -> str:
    space_gib = max(1, -(-need.space_bytes // 2**30))
    return (
        "if the owners of the cluster agree, run: windtunnel allow "
        f"{need.cluster} --queue {need.queue} --space '{space_gib} GiB' "
        f"--containers {need.containers} --until YYYY-MM-DD"
    )
