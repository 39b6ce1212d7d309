"""MapReduce jobs from ``.jhist`` files and the files of their configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from xml.parsers import expat

from windtunnel.engines.hadoop.attempts import BINARY, attempts_of, json_events
from windtunnel.published.history.avro import Decoder, TruncatedError
from windtunnel.published.history.job import ObservedJob, UnreadableJobError, lasting_settings

_END = {
    "JOB_FINISHED": "SUCCEEDED",
    "JOB_FAILED": "FAILED",
    "JOB_KILLED": "KILLED",
    "JOB_ERROR": "ERROR",  # an internal error of the application master
}
Events = list[tuple[str, dict[str, Any]]]


def parse_jhist(data: bytes, source: str, settings: Mapping[str, str] | None = None) -> ObservedJob:
    """The job of a ``.jhist`` file, in JSON or binary form.

    ``settings`` are those of the job's configuration file.

    Raises
    ------
    UnreadableJobError
        It is not such a file, or it ends before the end of the job.
    """
    events, complete = _events(data)
    if not events:
        raise UnreadableJobError("not a job history file, or of an unknown version")
    submitted = _first(events, "JOB_SUBMITTED")
    inited = _first(events, "JOB_INITED")
    end = next(((kind, event) for kind, event in reversed(events) if kind in _END), None)
    if end is None:
        kinds = "the job is still running, or the file is truncated"
        raise UnreadableJobError(f"no end of the job after {len(events)} events: {kinds}")
    try:
        return _job(events, submitted, inited, *end, source, dict(settings or {}), complete)
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableJobError(f"an event lacks a field ({error})") from None


def _job(
    events: Events,
    submitted: Mapping[str, Any],
    inited: Mapping[str, Any],
    kind: str,
    end: Mapping[str, Any],
    source: str,
    settings: dict[str, str],
    complete: bool,
) -> ObservedJob:
    finished = float(end["finishTime"]) / 1e3
    launch = inited.get("launchTime") or submitted.get("submitTime") or end["finishTime"]
    started = min(float(launch) / 1e3, finished)
    at = submitted.get("submitTime")
    counters = _counters(end.get("totalCounters"))
    rows = [row for row in attempts_of(events, "job") if row["finished_at"] is not None]
    return ObservedJob(
        id=str(end.get("jobid") or submitted.get("jobid") or ""),
        engine="mapreduce",
        name=str(submitted.get("jobName") or settings.get("mapreduce.job.name") or "unnamed"),
        user=str(submitted.get("userName") or settings.get("mapreduce.job.user.name") or "unknown"),
        queue=_plain(submitted.get("jobQueueName"))
        or settings.get("mapreduce.job.queuename")
        or "unknown",
        status=_END[kind] if kind == "JOB_FINISHED" else str(end.get("jobStatus") or _END[kind]),
        submitted_at=float(at) / 1e3 if at else None,
        started_at=started,
        finished_at=finished,
        source=source,
        maps=_count(inited.get("totalMaps")),
        reduces=_count(inited.get("totalReduces")),
        uberized=_flag(inited.get("uberized")),
        counters=counters,
        tasks=rows,
        settings=lasting_settings(settings),
        notes=[] if complete else ["the file is truncated after the end of the job"],
    )


def _first(events: Events, kind: str) -> dict[str, Any]:
    return next((event for name, event in events if name == kind), {})


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _plain(value: object) -> str | None:
    """The text of a union, in JSON an object of one key."""
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    return value if isinstance(value, str) else None


def _events(data: bytes) -> tuple[Events, bool]:
    """All events, and whether the file is complete."""
    head, _, rest = data.partition(b"\n")
    if head.strip() != BINARY:
        text = data.decode(errors="replace")
        if head.strip() != b"Avro-Json" and b'"event"' not in data[:100_000]:
            return [], False
        return list(json_events(text)), text.endswith("\n")
    line, _, body = rest.partition(b"\n")
    events: Events = []
    try:
        schema = json.loads(line)
        for entry in Decoder(body, schema).values():
            kind, event = entry.get("type"), entry.get("event")
            if isinstance(kind, str) and isinstance(event, dict):
                events.append((kind, event))
    except (TruncatedError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return events, False
    return events, True


def _counters(value: object) -> dict[str, float]:
    """``GROUP:NAME`` -> total."""
    record = value if isinstance(value, dict) else {}
    if "groups" not in record:
        record = next((one for one in record.values() if isinstance(one, dict)), {})
    found = {}
    for group in _dicts(record.get("groups")):
        for counter in _dicts(group.get("counts")):
            number = counter.get("value")
            if isinstance(number, (int, float)):
                found[f"{group.get('name')}:{counter.get('name')}"] = float(number)
    return found


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    return (one for one in (value if isinstance(value, list) else []) if isinstance(one, dict))


def parse_job_settings(data: bytes) -> tuple[dict[str, str], str]:
    """The properties of a job's configuration file, and its first mistake; empty without one.

    The properties that were read before the mistake are kept.
    """
    found: dict[str, str] = {}
    fields: dict[str, str] = {}
    text: list[str] = []
    parser = expat.ParserCreate()

    def start(tag: str, _: object) -> None:
        text.clear()
        if tag == "property":
            fields.clear()

    def end(tag: str) -> None:
        if tag in ("name", "value"):
            fields[tag] = "".join(text).strip()
        elif tag == "property" and "name" in fields:
            found[fields["name"]] = fields.get("value", "")

    def no_entity(*_: object) -> None:
        raise ValueError

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = no_entity
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError):
        rest = "the other settings" if found else "the settings"
        line = parser.CurrentLineNumber
        return found, f"is not XML (line {line}): {rest} of this job are unknown"
    return found, ""
