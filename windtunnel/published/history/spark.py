"""Spark applications from event logs: plain, rolling, compressed, in progress.

Sources: Spark's "Monitoring and Instrumentation" (event logs), ``JsonProtocol`` for the fields,
``CompressionCodec`` for the frames: lz4 is that of lz4-java's block stream, snappy that of
snappy-java's stream, both different from the standard frames.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.published.history.job import ObservedJob, UnreadableJobError, lasting_settings

_LZ4_MAGIC = b"LZ4Block"
_LZ4_HEAD = struct.Struct("<BiiI")
_LZ4_RAW, _LZ4_LZ4 = 0x10, 0x20
_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_LIMIT_BYTES = 4 << 30
_BLOCK_BYTES = 64 << 20
_PART = re.compile(r"events_(\d+)_")


def is_event_log(path: Path) -> bool:
    """Whether a path looks like an event log: by its name, or its first bytes."""
    if path.is_dir():
        return path.name.startswith("eventlog_v2_")
    name = path.name
    if re.match(r"(application|app|local)[-_]\d", name) or _PART.match(name):
        return True
    with path.open("rb") as file:
        return b"SparkListener" in file.read(400)


def parse_event_log(path: Path) -> ObservedJob:
    """The application of an event log: a file, or a folder of rolling files.

    Raises
    ------
    UnreadableJobError
        It is no event log, its application has not started, or its compression is unknown.
    """
    files = _files(path)
    application = _Application(str(path))
    complete = True
    for file in files:
        complete = application.read(_lines(file)) and complete
    if any(one.name.endswith(".inprogress") for one in (path, *_siblings(path))):
        application.notes.append("in progress: the application has no end yet")
    if not complete:
        application.notes.append("the log is truncated")
    return application.job()


def _siblings(path: Path) -> list[Path]:
    return list(path.iterdir()) if path.is_dir() else []


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    numbered = [(int(found[1]), one) for one in path.iterdir() if (found := _PART.match(one.name))]
    if not numbered:
        raise UnreadableJobError("a rolling event log without events files")
    return [one for _, one in sorted(numbered)]


def _lines(file: Path) -> Iterator[bytes]:
    """Lines of a log; ends at damaged data with an empty line."""
    rest = b""
    try:
        for part in _parts(file):
            *lines, rest = (rest + part).split(b"\n")
            yield from lines
    except (OSError, EOFError, ValueError, struct.error, pa.ArrowException):
        yield b""
    if rest:
        yield rest


def _parts(file: Path) -> Iterator[bytes]:
    with file.open("rb") as raw:
        head = raw.read(16)
        raw.seek(0)
        if head.startswith(_LZ4_MAGIC):
            yield from _lz4(raw)
        elif head.startswith(_SNAPPY_MAGIC):
            yield from _snappy(raw)
        elif head.startswith(b"\x28\xb5\x2f\xfd"):
            yield from _chunks(pa.input_stream(raw, compression="zstd"))
        elif head.startswith(b"\x1f\x8b"):
            yield from _chunks(gzip.GzipFile(fileobj=raw))
        elif head.startswith(b"\x04\x22\x4d\x18"):
            yield from _chunks(pa.input_stream(raw, compression="lz4"))
        elif file.name.removesuffix(".inprogress").endswith((".lzf",)):
            raise UnreadableJobError("compressed with lzf, which is not supported")
        else:
            yield from _chunks(raw)


def _chunks(stream: Any) -> Iterator[bytes]:
    size = 0
    while part := stream.read(1 << 20):
        size += len(part)
        if size > _LIMIT_BYTES:
            raise UnreadableJobError("the log has more than 4 GiB")
        yield bytes(part)


def _lz4(raw: io.BufferedReader) -> Iterator[bytes]:
    """Blocks of lz4-java: magic, method, lengths, checksum, data; the last one is empty."""
    codec = pa.Codec("lz4_raw")
    while magic := raw.read(len(_LZ4_MAGIC)):
        if magic != _LZ4_MAGIC:
            raise ValueError
        token, packed, size, _ = _LZ4_HEAD.unpack(raw.read(_LZ4_HEAD.size))
        if not 0 <= packed <= _BLOCK_BYTES or not 0 <= size <= _BLOCK_BYTES:
            raise ValueError
        data = raw.read(packed)
        if len(data) != packed:
            raise EOFError
        if size == 0:
            continue
        method = token & 0xF0
        if method == _LZ4_RAW:
            yield data
        elif method == _LZ4_LZ4:
            yield codec.decompress(data, size, asbytes=True)
        else:
            raise ValueError


def _snappy(raw: io.BufferedReader) -> Iterator[bytes]:
    """Blocks of snappy-java: a header of 16 bytes, then lengths (big endian) and blocks."""
    codec = pa.Codec("snappy")
    raw.read(16)
    while head := raw.read(4):
        (packed,) = struct.unpack(">i", head)
        if packed == -0x7DACB1BA or not 0 <= packed <= _BLOCK_BYTES:
            raise ValueError
        data = raw.read(packed)
        if len(data) != packed:
            raise EOFError
        size = shift = position = 0
        while True:
            byte = data[position]
            size |= (byte & 0x7F) << shift
            position, shift = position + 1, shift + 7
            if not byte & 0x80:
                break
        if size > _BLOCK_BYTES:
            raise ValueError
        yield codec.decompress(data, size, asbytes=True)


class _Application:
    """Collects the events of one application."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._seen = 0
        self._version: str | None = None
        self._start: dict[str, Any] = {}
        self._end: float | None = None
        self._last = 0.0
        self._settings: dict[str, str] = {}
        self._failed = False
        self._tasks: list[dict[str, Any]] = []
        self._totals: dict[str, float] = {}
        self._without_cpu = False
        self._executors: dict[str, list[float | None]] = {}
        self.notes: list[str] = []

    def read(self, lines: Iterator[bytes]) -> bool:
        """Take all events; returns whether every line was one."""
        complete = True
        for line in lines:
            try:
                event = json.loads(line)
                name = str(event["Event"]).rpartition(".")[2]
                self._take(name, event)
            except (ValueError, KeyError, TypeError, AttributeError):
                complete = False
                continue
            self._seen += 1
        return complete

    def _take(self, name: str, event: dict[str, Any]) -> None:
        if name == "SparkListenerLogStart":
            self._version = str(event.get("Spark Version"))
        elif name == "SparkListenerApplicationStart":
            self._start = event
        elif name == "SparkListenerApplicationEnd":
            self._end = float(event["Timestamp"]) / 1e3
        elif name == "SparkListenerEnvironmentUpdate":
            found = event.get("Spark Properties") or {}
            pairs = found.items() if isinstance(found, dict) else found
            self._settings.update({str(key): str(value) for key, value in pairs})
        elif name == "SparkListenerJobEnd":
            result = event.get("Job Result") or {}
            self._failed = self._failed or result.get("Result") == "JobFailed"
            self._seen_at(event.get("Completion Time"))
        elif name == "SparkListenerExecutorAdded":
            self._executors[str(event["Executor ID"])] = [float(event["Timestamp"]) / 1e3, None]
        elif name == "SparkListenerExecutorRemoved":
            known = self._executors.setdefault(str(event["Executor ID"]), [None, None])
            known[1] = float(event["Timestamp"]) / 1e3
        elif name == "SparkListenerTaskEnd":
            self._task(event)

    def _seen_at(self, milliseconds: object) -> None:
        if isinstance(milliseconds, (int, float)):
            self._last = max(self._last, milliseconds / 1e3)

    def _task(self, event: dict[str, Any]) -> None:
        info = event["Task Info"]
        metrics = event.get("Task Metrics") or {}
        began, ended = float(info["Launch Time"]) / 1e3, float(info["Finish Time"]) / 1e3
        self._seen_at(info["Finish Time"])
        read, write = (
            metrics.get("Shuffle Read Metrics") or {},
            metrics.get("Shuffle Write Metrics") or {},
        )
        took, gave = metrics.get("Input Metrics") or {}, metrics.get("Output Metrics") or {}
        reads = _sum(read, "Remote Bytes Read", "Local Bytes Read")
        bad = bool(info.get("Failed")) or bool(info.get("Killed"))
        # Spark before 2.1 records no CPU times; a task that ends early may have no metrics
        cpu_s = metrics.get("Executor CPU Time")
        self._without_cpu |= cpu_s is None and not bad
        totals = {
            "cpu_s": _number(cpu_s) / 1e9,
            "gc_s": _number(metrics.get("JVM GC Time")) / 1e3,
            "input_bytes": _number(took.get("Bytes Read")),
            "output_bytes": _number(gave.get("Bytes Written")),
            "shuffle_bytes": reads,
            "spilled_bytes": _number(metrics.get("Disk Bytes Spilled")),
            "fetch_wait_s": _number(read.get("Fetch Wait Time")) / 1e3,
        }
        for key, value in totals.items():
            self._totals[key] = self._totals.get(key, 0.0) + value
        stage = f"stage {event.get('Stage ID')}"
        self._tasks.append(
            {
                "phase": "job",
                "stage": stage,
                "task": f"{stage} task {info.get('Index', info.get('Task ID'))}",
                "attempt": f"{stage} task {info.get('Task ID')}.{info.get('Attempt', 0)}",
                "type": "REDUCE" if reads else "MAP",
                "status": ("KILLED" if info.get("Killed") else "FAILED") if bad else "SUCCEEDED",
                "host": str(info.get("Host") or ""),
                "started_at": began,
                "finished_at": ended,
                "locality": info.get("Locality"),
                "speculative": bool(info.get("Speculative")),
                "input_records": _number(took.get("Records Read"))
                + _number(read.get("Total Records Read")),
                "input_bytes": totals["input_bytes"] + reads,
                "output_records": _number(gave.get("Records Written"))
                + _number(write.get("Shuffle Records Written")),
                "output_bytes": _number(write.get("Shuffle Bytes Written")),
                "spilled_records": None,
                "cpu_time": None if cpu_s is None else totals["cpu_s"],
                "gc_time": totals["gc_s"],
            }
        )

    def job(self) -> ObservedJob:
        if not self._start:
            known = f" after {self._seen} events" if self._seen else ""
            raise UnreadableJobError(f"no start of an application{known}: not a Spark event log")
        begun = _number(self._start.get("Timestamp")) / 1e3
        end = self._end if self._end is not None else self._last
        if end <= begun:
            raise UnreadableJobError("the application has started, and nothing of it has finished")
        if self._end is None and not self.notes:
            self.notes.append("the log has no end of the application; it ends with its last task")
        return ObservedJob(
            id=str(self._start.get("App ID") or Path(self._source).name),
            engine="spark",
            name=str(self._start.get("App Name") or "unnamed"),
            user=str(self._start.get("User") or "unknown"),
            queue=self._settings.get("spark.yarn.queue", "unknown"),
            status="FAILED" if self._failed else "SUCCEEDED" if self._end else "UNFINISHED",
            submitted_at=None,
            started_at=begun,
            finished_at=end,
            source=self._source,
            version=self._version,
            attempt=_attempt(self._start.get("App Attempt ID")),
            counters={
                name: value
                for name, value in self._totals.items()
                if name != "cpu_s" or not self._without_cpu
            },
            tasks=self._tasks,
            settings=lasting_settings(self._settings),
            containers=[
                (a if a is not None else begun, b or end) for a, b in self._executors.values()
            ],
            notes=self.notes,
        )


def _attempt(value: object) -> int:
    """The number at the end of an attempt's id; 0 without one (client mode, other masters)."""
    found = re.search(r"[0-9]{1,9}$", str(value or ""))
    return int(found[0]) if found else 0


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _sum(values: Mapping[str, Any], *names: str) -> float:
    return sum(_number(values.get(name)) for name in names)
