"""Values of settings that Hadoop cannot parse: each is an error of its daemons, clients or jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from windtunnel.cluster.settings import (
    Value,
    default_of,
    deprecated,
    engine_of,
    hadoop_bytes,
    text_of,
)

WHOLE = re.compile(r"[+-]?\d+|-?0[xX][0-9a-fA-F]+")
"""A whole number as Hadoop's getInt and getLong parse it."""
# Hadoop reads these with getInt or getLong: a suffix such as k is a NumberFormatException
_INTEGERS = {
    "dfs.bytes-per-checksum",
    "dfs.client-write-packet-size",
    "dfs.client.socket.send.buffer.size",
    "dfs.datanode.max.transfer.threads",
    "dfs.replication",
    "io.file.buffer.size",
    "ipc.maximum.data.length",
    "mapreduce.input.fileinputformat.split.maxsize",
    "mapreduce.input.fileinputformat.split.minsize",
    "mapreduce.job.reduces",
    "mapreduce.job.running.map.limit",
    "mapreduce.job.running.reduce.limit",
    "mapreduce.reduce.shuffle.parallelcopies",
    "mapreduce.task.io.sort.factor",
    "mapreduce.task.io.sort.mb",
}
# names of the same kind, if their default is a whole number
_ENDINGS = ("-mb", ".mb", "vcores", "count")
# and these with getLongBytes: a whole number, perhaps with a suffix of one letter
_SIZES = {
    "dfs.blocksize",
    "dfs.datanode.balance.bandwidthPerSec",
    "dfs.datanode.du.reserved",
    "dfs.datanode.max.locked.memory",
    "fs.s3a.block.size",
    "fs.s3a.multipart.size",
    "fs.s3a.multipart.threshold",
    "fs.s3a.readahead.range",
}


def refused(name: str, value: str, version: str | None = None) -> tuple[str, str] | None:
    """Why Hadoop cannot parse a value, without the value, and the remedy; None if it can.

    Empty values and values with variables (``${...}``) are not judged. ``version`` is Hadoop's.
    """
    value = value.strip()
    if value == "" or "${" in value:
        return None
    default = default_of(name, version) or ""
    names = {name, *deprecated().get(name, ())}
    if names & _SIZES and hadoop_bytes(value) is None:
        remedy = "write bytes, or a whole number with k, m, g or t, such as 128m"
        return "is not a size: Hadoop refuses it", remedy
    counted = default.lstrip("-").isdigit() and name.endswith(_ENDINGS)
    if (names & _INTEGERS or counted) and not WHOLE.fullmatch(value):
        remedy = "write a whole number" + (f", such as {default}" if default else "")
        return "is not a whole number without a unit: Hadoop refuses it", remedy
    return None


def refused_settings(settings: Mapping[str, Value], version: str | None = None) -> Iterator[str]:
    """A sentence for each setting of Hadoop that has a value which Hadoop cannot parse."""
    for name, value in settings.items():
        found = None if engine_of(name) else refused(name, text_of(value), version)
        if found:
            problem, remedy = found
            yield f"settings.{name}: '{text_of(value)}' {problem}; {remedy}"
