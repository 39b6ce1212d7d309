"""History files of made-up jobs: ``.jhist`` as text and in Avro's binary form, event logs."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa

from tests.support.jhist import BEGAN, PACKAGE, counted, event, finished, started

DAY_MS = 86_400_000


def job_lines(number: int, at_ms: int, length_ms: int, name: str = "etl 7") -> list[str]:
    """Events of a job of two maps and a reduce, which begins ``at_ms`` after the first one."""
    job = f"job_1792000000000_{number:04d}"
    submitted = event(
        "JOB_SUBMITTED",
        "JobSubmitted",
        jobid=job,
        jobName=name,
        userName="ann",
        submitTime=BEGAN + at_ms - 500,
        jobConfPath="",
        jobQueueName={"string": "etl"},
    )
    begun = event(
        "JOB_INITED",
        "JobInited",
        jobid=job,
        launchTime=BEGAN + at_ms,
        totalMaps=2,
        totalReduces=1,
        jobStatus="RUNNING",
        uberized=False,
    )
    cpu = counted(CPU_MILLISECONDS=length_ms // 4, MAP_INPUT_RECORDS=10, HDFS_BYTES_READ=1000)
    half = at_ms + length_ms // 2
    end = event(
        "JOB_FINISHED",
        "JobFinished",
        jobid=job,
        finishTime=BEGAN + at_ms + length_ms,
        finishedMaps=2,
        finishedReduces=1,
        totalCounters=counted(
            SPILLED_RECORDS=40, MAP_OUTPUT_RECORDS=20, CPU_MILLISECONDS=length_ms
        ),
    )
    return [
        submitted,
        begun,
        started("MAP", 0, at_ms + 100),
        started("MAP", 1, at_ms + 100),
        finished("MAP", 0, half, counters=cpu, mapFinishTime=BEGAN + half),
        finished("MAP", 1, half, counters=cpu, mapFinishTime=BEGAN + half),
        started("REDUCE", 0, half),
        finished("REDUCE", 0, at_ms + length_ms, counters=cpu),
        end,
    ]


def jhist(lines: Sequence[str]) -> bytes:
    """A file in JSON form."""
    return "\n".join(["Avro-Json", '{"type":"record","name":"Event"}', *lines, ""]).encode()


def configuration(settings: Mapping[str, str]) -> bytes:
    rows = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value><source>job.xml</source></property>"
        for name, value in settings.items()
    )
    return f"<configuration>{rows}</configuration>".encode()


def write_job(
    folder: Path, number: int, at_ms: int, length_ms: int, settings: Mapping[str, str] = {}
) -> Path:
    """The two files of a job as the history server stores them."""
    job = f"job_1792000000000_{number:04d}"
    file = folder / f"{job}-1792000000000-ann-etl-1792000000000-2-1-SUCCEEDED-etl-1.jhist"
    file.write_bytes(jhist(job_lines(number, at_ms, length_ms)))
    (folder / f"{job}_conf.xml").write_bytes(configuration(settings))
    return file


COUNTERS = {
    "type": "record",
    "name": "JhCounters",
    "fields": [
        {"name": "name", "type": "string"},
        {
            "name": "groups",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "JhCounterGroup",
                    "fields": [
                        {"name": "name", "type": "string"},
                        {"name": "displayName", "type": "string"},
                        {
                            "name": "counts",
                            "type": {
                                "type": "array",
                                "items": {
                                    "type": "record",
                                    "name": "JhCounter",
                                    "fields": [
                                        {"name": "name", "type": "string"},
                                        {"name": "displayName", "type": "string"},
                                        {"name": "value", "type": "long"},
                                    ],
                                },
                            },
                        },
                    ],
                },
            },
        },
    ],
}


def binary_jhist(lines: Sequence[str]) -> bytes:
    """The events in Avro's binary form, with a schema that is derived from their fields."""
    entries = [json.loads(line) for line in lines]
    records: dict[str, dict[str, Any]] = {}
    for entry in entries:
        name, fields = next(iter(entry["event"].items()))
        known = records.setdefault(name.removeprefix(f"{PACKAGE}."), {})
        known.update(fields)
    union: list[dict[str, Any]] = []
    defined = False
    for name, fields in records.items():
        made = []
        for field, value in fields.items():
            if isinstance(value, dict) and "groups" in value:
                kind: Any = COUNTERS if not defined else "JhCounters"
                defined = True
            elif isinstance(value, dict):
                kind = ["null", "string"]
            else:
                kind = {str: "string", int: "long", bool: "boolean"}[type(value)]
            made.append({"name": field, "type": kind if isinstance(kind, list) else ["null", kind]})
        union.append({"type": "record", "name": name, "fields": made})
    symbols = sorted({entry["type"] for entry in entries})
    schema = {
        "type": "record",
        "name": "Event",
        "namespace": PACKAGE,
        "fields": [
            {"name": "type", "type": {"type": "enum", "name": "EventType", "symbols": symbols}},
            {"name": "event", "type": union},
        ],
    }
    body = b""
    names = list(records)
    for entry in entries:
        name, fields = next(iter(entry["event"].items()))
        place = names.index(name.removeprefix(f"{PACKAGE}."))
        body += encoded(symbols.index(entry["type"])) + encoded(place)
        for field in union[place]["fields"]:
            body += _value(fields.get(field["name"]))
    return b"Avro-Binary\n" + json.dumps(schema).encode() + b"\n" + body


def encoded(value: int) -> bytes:
    """Avro's zigzag form of a number."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value & ~0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(value: str) -> bytes:
    return encoded(len(value.encode())) + value.encode()


def _value(value: Any) -> bytes:
    """A value of the union of null and one type."""
    if value is None:
        return encoded(0)
    one = encoded(1)
    if isinstance(value, bool):
        return one + (b"\x01" if value else b"\x00")
    if isinstance(value, int):
        return one + encoded(value)
    if isinstance(value, str):
        return one + _text(value)
    if "groups" not in value:
        return one + _text(next(iter(value.values())))
    out = one + _text(value["name"]) + encoded(len(value["groups"]))
    for group in value["groups"]:
        out += _text(group["name"]) + _text(group["displayName"]) + encoded(len(group["counts"]))
        for count in group["counts"]:
            out += _text(count["name"]) + _text(count["displayName"]) + encoded(count["value"])
        out += encoded(0) if group["counts"] else b""
    return out + (encoded(0) if value["groups"] else b"")


def spark_lines(tasks: int = 4, ended: bool = True, at_ms: int = BEGAN) -> list[str]:
    """Events of an application with one stage, as Spark 3.5 and 4 write them."""
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.0.1"},
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "daily 12",
            "App ID": "application_1792000000000_0009",
            "Timestamp": at_ms,
            "User": "ann",
        },
        {
            "Event": "SparkListenerEnvironmentUpdate",
            "Spark Properties": {
                "spark.yarn.queue": "etl",
                "spark.executor.cores": "2",
                "spark.hadoop.fs.s3a.secret.key": "planted-s3-secret",
            },
        },
        {"Event": "SparkListenerExecutorAdded", "Timestamp": at_ms + 100, "Executor ID": "1"},
    ]
    events.extend(
        {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": 0,
            "Task Info": {
                "Task ID": number,
                "Index": number,
                "Attempt": 0,
                "Launch Time": at_ms + 200 + number,
                "Finish Time": at_ms + 1200 + number,
                "Host": "worker-1",
                "Locality": "NODE_LOCAL",
                "Speculative": False,
                "Failed": False,
                "Killed": False,
            },
            "Task Metrics": {
                "Executor CPU Time": 500_000_000,
                "JVM GC Time": 10,
                "Disk Bytes Spilled": 0,
                "Input Metrics": {"Bytes Read": 1000, "Records Read": 10},
            },
        }
        for number in range(tasks)
    )
    if ended:
        events.append({"Event": "SparkListenerApplicationEnd", "Timestamp": at_ms + 3000})
    return [json.dumps(one) for one in events]


def lz4_blocks(data: bytes, size: int = 500) -> bytes:
    """The frames of lz4-java's block stream, which Spark writes."""
    codec = pa.Codec("lz4_raw")
    out = b""
    for begin in range(0, len(data), size):
        part = data[begin : begin + size]
        packed = codec.compress(part, asbytes=True)
        method, content = (0x20, packed) if len(packed) < len(part) else (0x10, part)
        out += b"LZ4Block" + struct.pack("<BiiI", method | 4, len(content), len(part), 0) + content
    return out + b"LZ4Block" + struct.pack("<BiiI", 0x14, 0, 0, 0)


def snappy_blocks(data: bytes, size: int = 500) -> bytes:
    """The frames of snappy-java's stream."""
    codec = pa.Codec("snappy")
    out = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for begin in range(0, len(data), size):
        packed = codec.compress(data[begin : begin + size], asbytes=True)
        out += struct.pack(">i", len(packed)) + packed
    return out
