"""The counters of a Linux host, as its files in /proc have them, and the samples between two.

The formats are those of proc(5) and of Documentation/admin-guide/iostats.rst of the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from windtunnel.inspection.devices import NOT_DISKS, NOT_NICS
from windtunnel.probes.readings import (
    CPU,
    CPU_STATES,
    DISK_BUSY,
    DISK_READ,
    DISK_WRITE,
    LOAD,
    MEMORY_USED,
    NET_RECEIVED,
    NET_SENT,
    PAGE_CACHE,
)
from windtunnel.results.sample import Sample
from windtunnel.testbeds.attached.host_samples import HALF_S

END = "="
"""The last line of the output of :data:`SAMPLER` for one sample."""
SAMPLER = (
    "LC_ALL=C; export LC_ALL; "
    "while read -r line; do "
    "read -r up idle < /proc/uptime; echo uptime $up; "
    "read -r load rest < /proc/loadavg; echo load $load; "
    "read -r cpu < /proc/stat; echo $cpu; "
    "cat /proc/meminfo /proc/net/dev /proc/diskstats; "
    f"echo {END}; done"
)
"""Program for ``sh`` that prints one sample for each line of its input, and ends with the input."""

_SECTOR_BYTES = 512  # of /proc/diskstats, whatever the disk has
_KIB = 1024
_DISKSTATS, _READ, _WRITTEN, _BUSY_MS = 14, 5, 9, 12
_NETDEV, _RECEIVED, _SENT = 16, 0, 8
_NOT_DISK = re.compile(NOT_DISKS)
_NOT_NIC = re.compile(NOT_NICS)


@dataclass(frozen=True, slots=True)
class Counters:
    """One reading of the counters of a host.

    ``time_s`` is in epoch seconds of this machine, ``uptime_s`` that of the host. ``cpu`` has the
    ticks of each state, ``disks`` the bytes read, the bytes written and the busy milliseconds of
    each disk, ``nics`` the bytes received and sent of each NIC.
    """

    time_s: float
    uptime_s: float
    load: float
    cpu: Mapping[str, int]
    memory_used: int
    page_cache: int
    disks: Mapping[str, tuple[int, int, int]]
    nics: Mapping[str, tuple[int, int]]


def parse_counters(text: str, time_s: float) -> Counters:
    """The counters that :data:`SAMPLER` printed at a time; raises ValueError for other texts."""
    lines = [line.split() for line in text.splitlines()]
    first = {words[0]: words[1:] for words in lines if words}
    if missing := {"uptime", "load", "cpu", "MemTotal:"} - first.keys():
        raise ValueError(f"its /proc has no {', '.join(sorted(missing))}")
    memory = {name: int(first[name][0]) * _KIB for name in _MEMORY if name in first}
    # kernels before 3.14 (RHEL 6) have no estimate of the available memory
    caches = memory.get("Cached:", 0)
    available = memory.get(
        "MemAvailable:", memory.get("MemFree:", 0) + memory.get("Buffers:", 0) + caches
    )
    ticks = map(int, [*first["cpu"], *["0"] * len(_CPU_ORDER)])
    return Counters(
        time_s=time_s,
        uptime_s=float(first["uptime"][0]),
        load=float(first["load"][0]),
        cpu=dict(zip(_CPU_ORDER, ticks, strict=False)),
        memory_used=memory["MemTotal:"] - available,
        page_cache=caches,
        disks=dict(_disks(lines)),
        nics=dict(_nics(text)),
    )


_MEMORY = ("MemTotal:", "MemFree:", "MemAvailable:", "Buffers:", "Cached:")
_CPU_ORDER = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def _disks(lines: list[list[str]]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    for words in lines:
        is_row = len(words) >= _DISKSTATS and words[0].isdigit() and words[1].isdigit()
        if is_row and not _NOT_DISK.fullmatch(words[2]):
            read, written = (int(words[n]) * _SECTOR_BYTES for n in (_READ, _WRITTEN))
            yield words[2], (read, written, int(words[_BUSY_MS]))


def _nics(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for line in text.splitlines():
        name, colon, rest = line.strip().partition(":")
        numbers = rest.split()
        if colon and len(numbers) == _NETDEV and not _NOT_NIC.fullmatch(name):
            yield name, (int(numbers[_RECEIVED]), int(numbers[_SENT]))


def samples(host: str, before: Counters, after: Counters) -> list[Sample]:
    """The samples of a host between two readings; none if it was restarted between them.

    A rate is the mean over the interval, and has a time half a second after its middle.
    """
    elapsed_s = after.uptime_s - before.uptime_s
    if elapsed_s <= 0:
        return []
    middle = (before.time_s + after.time_s) / 2 + HALF_S
    found = [Sample(middle, host, *reading) for reading in _rates(before, after, elapsed_s)]
    for metric, value in (
        (LOAD, after.load),
        (MEMORY_USED, float(after.memory_used)),
        (PAGE_CACHE, float(after.page_cache)),
    ):
        found.append(Sample(after.time_s + HALF_S, host, *metric.reading(value)))
    return found


def _rates(before: Counters, after: Counters, elapsed_s: float) -> Iterator[tuple[str, str, float]]:
    # the kernel can decrease idle and iowait by a few ticks
    ticks = {state: max(0, after.cpu[state] - before.cpu[state]) for state in CPU_STATES}
    if total := sum(ticks.values()):
        for state, number in ticks.items():
            yield CPU.reading(number / total, state=state)
    disks = _increases(before.disks, after.disks)
    if disks:
        yield DISK_READ.reading(sum(one[0] for one in disks.values()) / elapsed_s)
        yield DISK_WRITE.reading(sum(one[1] for one in disks.values()) / elapsed_s)
    for disk, (_, _, busy_ms) in disks.items():
        yield DISK_BUSY.reading(min(1.0, busy_ms / 1000 / elapsed_s), disk=disk)
    nics = _increases(before.nics, after.nics)
    if nics:
        yield NET_RECEIVED.reading(sum(one[0] for one in nics.values()) / elapsed_s)
        yield NET_SENT.reading(sum(one[1] for one in nics.values()) / elapsed_s)


def _increases(
    before: Mapping[str, tuple[int, ...]], after: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """The increases of the counters of the devices that exist at both times.

    A counter that has decreased belongs to another device of the same name, or has overflowed.
    """
    found = {}
    for device, now in after.items():
        then = before.get(device)
        if then is None:
            continue
        increase = tuple(b - a for a, b in zip(then, now, strict=True))
        if min(increase) >= 0:
            found[device] = increase
    return found
