"""Values of settings as Hadoop parses them.

A value that Hadoop cannot parse, or cannot use, is an error of its daemons, clients or jobs.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping

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
# a decimal number as getFloat and getDouble parse it, which permit the letters of Java
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?[fFdD]?", re.ASCII)
SCHEDULER = "yarn.resourcemanager.scheduler.class"
CALCULATOR = "yarn.scheduler.capacity.resource-calculator"
LEAST_MB = "yarn.scheduler.minimum-allocation-mb"
OWN_LEAST_MIB = 256
"""``LEAST_MB`` of the clusters that Windtunnel starts, unless the description has another value."""
INCREMENT = "yarn.resource-types.memory-mb.increment-allocation"
"""The increment of the FairScheduler; it replaced the next one."""
OLD_INCREMENT_MB = "yarn.scheduler.increment-allocation-mb"
_ALLOCATION_MIB = 1024.0  # the default of the minimum and of the increment
_INCREMENT_UNITS = {"": 1.0, "Mi": 1.0, "Gi": 1024.0, "M": 1e6 / 2**20, "G": 1e9 / 2**20}
HEAP_RATIO = "mapreduce.job.heap.memory-mb.ratio"
_USUAL_HEAP = 0.8
# options of JVMs, which NodeManagers, Spark and Windtunnel split into words as a shell does
_OPTIONS = re.compile(r".*([.-](java|command)[.-]opts|extraJavaOptions)")
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

# Values that Hadoop parses, but with which its jobs fail: name -> (least, most, problem, remedy).
_TINY = math.ulp(0.0)
_RANGES: Mapping[str, tuple[float, float, str, str]] = {
    # MapTask.MapOutputBuffer.init: 11 bits, because the buffer is one array of bytes
    "mapreduce.task.io.sort.mb": (
        1,
        2047,
        "gives map tasks no sort buffer: they fail",
        "write 1 to 2047",
    ),
    # the same: more than 0, and at most 1
    "mapreduce.map.sort.spill.percent": (
        _TINY,
        1,
        "is no fraction of the sort buffer: map tasks fail",
        "write a fraction of more than 0 and at most 1, such as 0.80",
    ),
    # RMContainerAllocator.scheduleReduces: more map tasks than the job has must end first
    "mapreduce.job.reduce.slowstart.completedmaps": (
        -math.inf,
        1,
        "is more than all map tasks: reduce tasks never start",
        "write a fraction of at most 1, such as 0.05",
    ),
}


def whole(text: str | None) -> int | None:
    """A whole number as Hadoop parses it, decimal or ``0x`` with hexadecimal digits; else None."""
    text = (text or "").strip()
    if not WHOLE.fullmatch(text):
        return None
    return int(text, 16 if "x" in text.lower() else 10)


def counts_vcores(scheduler: str, calculator: str) -> bool:
    """Whether YARN limits the containers of a host by vcores in addition to memory.

    The FairScheduler does; the CapacityScheduler, which is the default, does with the calculator
    DominantResourceCalculator.

    Parameters
    ----------
    scheduler, calculator:
        The values of ``SCHEDULER`` and ``CALCULATOR``; empty if they are not set.
    """
    if scheduler.endswith("FifoScheduler"):
        return False
    return is_fair(scheduler) or calculator.endswith("DominantResourceCalculator")


def is_fair(scheduler: str) -> bool:
    """Whether a value of ``SCHEDULER`` is the FairScheduler."""
    return scheduler.endswith("FairScheduler")


def granted_mib(wanted_mib: float, text_of: Callable[[str], str | None]) -> float:
    """The memory of the container that YARN grants for a request, MiB.

    A container has at least the minimum of the scheduler. The CapacityScheduler and the
    FifoScheduler round it up to a multiple of the minimum, the FairScheduler to a multiple of its
    increment. YARN's default of both is 1024 MiB.

    Parameters
    ----------
    wanted_mib:
        The request, MiB.
    text_of:
        The text of a setting by its name; None or empty if it is not set.
    """
    step, size = allocation_step_mib(text_of), max(wanted_mib, _least_mib(text_of))
    return math.ceil(size / step) * step if step > 0 else size


def allocation_step_mib(text_of: Callable[[str], str | None]) -> float:
    """The memory of containers is a multiple of this; settings as in :func:`granted_mib`."""
    return _increment_mib(text_of) if is_fair(text_of(SCHEDULER) or "") else _least_mib(text_of)


def _least_mib(text_of: Callable[[str], str | None]) -> float:
    stated = whole(text_of(LEAST_MB))
    return _ALLOCATION_MIB if stated is None or stated < 0 else float(stated)


def _increment_mib(text_of: Callable[[str], str | None]) -> float:
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", (text_of(INCREMENT) or "").strip())
    if found and found[2] in _INCREMENT_UNITS:
        return float(found[1]) * _INCREMENT_UNITS[found[2]]
    return float(whole(text_of(OLD_INCREMENT_MB)) or _ALLOCATION_MIB)


def heap_ratio(text: str | None) -> float:
    """The heap of a task without ``-Xmx`` / the memory of its container.

    As in Hadoop's JobConf, 0.8 replaces values above 1 and below 0; here, also 0 and texts that
    are no number.
    """
    found = _decimal((text or "").strip())
    return found if found is not None and 0 < found <= 1 else _USUAL_HEAP


def _decimal(text: str) -> float | None:
    return float(text.rstrip("fFdD")) if _DECIMAL.fullmatch(text) else None


def refused(name: str, value: str, version: str | None = None) -> tuple[str, str] | None:
    """Why Hadoop cannot parse or use a value, without the value, and the remedy; None if it can.

    Empty values and values with variables (``${...}``) are not judged, except options of JVMs.
    ``version`` is Hadoop's.
    """
    value = value.strip()
    if _OPTIONS.fullmatch(name):
        return _refused_options(value)
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
    for known in names & _RANGES.keys():
        least, most, problem, remedy = _RANGES[known]
        given = whole(value) if WHOLE.fullmatch(value) else _decimal(value)
        if given is not None and not least <= given <= most:
            return problem, remedy
    if name == HEAP_RATIO and not _decimal(value):
        is_zero = _decimal(value) == 0
        problem = "gives tasks no heap" if is_zero else "is not a number: Hadoop refuses it"
        return problem, f"write a fraction, such as {default or _USUAL_HEAP}"
    return None


def _refused_options(value: str) -> tuple[str, str] | None:
    try:
        shlex.split(value)
    except ValueError as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        return f"cannot be split into options: {reason}", "close each quotation mark"
    return None


def refused_settings(settings: Mapping[str, Value], version: str | None = None) -> Iterator[str]:
    """A sentence for each setting that has a value which Hadoop, or Spark, cannot use."""
    for name, value in settings.items():
        known = engine_of(name) is None or _OPTIONS.fullmatch(name)
        found = refused(name, text_of(value), version) if known else None
        if found:
            problem, remedy = found
            yield f"settings.{name}: '{text_of(value)}' {problem}; {remedy}"
