"""Parse task attempts from a job's ``.jhist`` text: times, hosts, outcomes and counters.

The text is Avro-JSON: a header, the schema of the events, then one event per line. An attempt
has two events: one when it starts, one when it finishes, fails or is killed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

BINARY = b"Avro-Binary"
"""The first line of a ``.jhist`` file in the binary form."""
_FINISHED = {"MAP_ATTEMPT_FINISHED": "MAP", "REDUCE_ATTEMPT_FINISHED": "REDUCE"}
_FAILED = {"MAP_ATTEMPT_FAILED", "MAP_ATTEMPT_KILLED", "REDUCE_ATTEMPT_FAILED"}
_FAILED |= {"REDUCE_ATTEMPT_KILLED"}

# column -> counter, factor; of maps and of reduces
_EITHER = {
    "spilled_records": ("SPILLED_RECORDS", 1.0),
    "cpu_time": ("CPU_MILLISECONDS", 1e-3),
    "gc_time": ("GC_TIME_MILLIS", 1e-3),
}
_MAP = _EITHER | {
    "input_records": ("MAP_INPUT_RECORDS", 1.0),
    "input_bytes": ("HDFS_BYTES_READ", 1.0),
    "output_records": ("MAP_OUTPUT_RECORDS", 1.0),
    "output_bytes": ("MAP_OUTPUT_BYTES", 1.0),
}
_REDUCE = _EITHER | {
    "input_records": ("REDUCE_INPUT_RECORDS", 1.0),
    "input_bytes": ("REDUCE_SHUFFLE_BYTES", 1.0),
    "output_records": ("REDUCE_OUTPUT_RECORDS", 1.0),
}
_COUNTED = dict.fromkeys({**_MAP, **_REDUCE})


def parse_attempts(text: str, phase: str) -> Iterator[dict[str, Any]]:
    """Task attempts of a ``.jhist`` text.

    Yields rows with the columns of the ``tasks`` Parquet file except ``trial``, and with
    ``container``, the id of the container (None if unknown). Events of unknown kinds and a
    truncated last line are ignored.
    """
    yield from attempts_of(json_events(text), phase)


def json_events(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kind and fields of each event of a ``.jhist`` text; lines that hold none are ignored."""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("event"), dict):
            continue
        kind, event = entry.get("type"), next(iter(entry["event"].values()), None)
        if isinstance(kind, str) and isinstance(event, dict):
            yield kind, event


def attempts_of(
    events: Iterable[tuple[str, dict[str, Any]]], phase: str
) -> Iterator[dict[str, Any]]:
    """Task attempts of events; rows as of :func:`parse_attempts`."""
    started: dict[str, dict[str, Any]] = {}
    for kind, event in events:
        try:
            if kind in ("MAP_ATTEMPT_STARTED", "REDUCE_ATTEMPT_STARTED"):
                started[event["attemptId"]] = event
                continue
            if kind not in _FINISHED and kind not in _FAILED:
                continue
            row = _attempt_row(kind, event, started.get(event["attemptId"], {}), phase)
        except (KeyError, TypeError):  # Hadoop does not write such an event: it is damaged
            continue
        yield row


def attempt_from_rest(
    attempt: Mapping[str, Any], task: str, phase: str, counters: Mapping[str, float]
) -> dict[str, Any]:
    """A row as those of :func:`parse_attempts`, from the REST interface of the history server.

    Parameters
    ----------
    attempt:
        The object of the attempt.
    task:
        The id of its task.
    counters:
        Its counters by name.
    """
    is_map = attempt.get("type") == "MAP"
    container = attempt.get("assignedContainerId") or None
    began = attempt.get("startTime") if container else None
    host = str(attempt.get("nodeHttpAddress") or "").partition(":")[0] if began else ""
    row = dict.fromkeys(_COUNTED) | {
        column: counters[name] * factor
        for column, (name, factor) in (_MAP if is_map else _REDUCE).items()
        if name in counters
    }
    return {
        "phase": phase,
        "task": task,
        "attempt": attempt["id"],
        "type": "MAP" if is_map else "REDUCE",
        "status": attempt.get("state", "UNKNOWN"),
        "host": host,
        "container": container if began else None,
        "started_at": began / 1e3 if began else None,
        "work_started_at": None,
        "finished_at": attempt["finishTime"] / 1e3,
        "map_finished_at": None,
        "shuffle_finished_at": _reached(attempt.get("shuffleFinishTime")),
        "sort_finished_at": _reached(attempt.get("mergeFinishTime")),
        "locality": None,
        "speculative": None,
        **row,
    }


def _reached(value: object) -> float | None:
    """A time in epoch seconds; the REST interface has 0 for one that was not reached."""
    return _seconds(value) if value else None


def _attempt_row(
    kind: str, event: dict[str, Any], start: dict[str, Any], phase: str
) -> dict[str, Any]:
    host = event.get("hostname") or start.get("trackerName", "")
    # An attempt that was killed before a container was allocated ran on no host.
    host, began = ("", None) if host == "UNKNOWN" else (host, start.get("startTime"))
    is_map = kind.startswith("MAP")
    role = _union(start.get("avataar"))  # Hadoop's spelling
    return {
        "phase": phase,
        "task": event["taskid"],
        "attempt": event["attemptId"],
        "type": "MAP" if is_map else "REDUCE",
        "status": "SUCCEEDED" if kind in _FINISHED else event.get("status", "FAILED"),
        "host": host,
        "container": start.get("containerId") if began else None,
        "started_at": began / 1e3 if began else None,
        "work_started_at": None,
        "finished_at": event["finishTime"] / 1e3,
        "map_finished_at": _seconds(event.get("mapFinishTime")),
        "shuffle_finished_at": _seconds(event.get("shuffleFinishTime")),
        "sort_finished_at": _seconds(event.get("sortFinishTime")),
        "locality": _union(start.get("locality")),
        "speculative": None if role is None else role == "SPECULATIVE",
        **_counted(event.get("counters"), _MAP if is_map else _REDUCE),
    }


def _counted(counters: object, columns: Mapping[str, tuple[str, float]]) -> dict[str, float | None]:
    """The counters of an attempt by column; None for a missing counter.

    The counters of a finished attempt are a record, those of a failed attempt a union of that
    record and null.
    """
    found: dict[str, float] = {}
    record = counters if isinstance(counters, dict) else {}
    if "groups" not in record:
        record = next((v for v in record.values() if isinstance(v, dict)), {})
    for group in _items(record.get("groups")):
        for counter in _items(group.get("counts")):
            name, value = counter.get("name"), counter.get("value")
            if isinstance(name, str) and isinstance(value, int | float):
                found[name] = float(value)
    row: dict[str, float | None] = dict.fromkeys(_COUNTED)
    for column, (name, factor) in columns.items():
        if name in found:
            row[column] = found[name] * factor
    return row


def _items(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _seconds(value: object) -> float | None:
    return value / 1e3 if isinstance(value, (int, float)) else None


def _union(value: object) -> str | None:
    """The string of Avro-JSON's ``{"string": X}``, or None for ``null``."""
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    return value if isinstance(value, str) else None
