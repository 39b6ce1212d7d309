"""Probe of this machine's disks: the fraction of the time in which each had work to do.

A disk that serves several requests at once may be busy all the time and yet have room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

import psutil

from windtunnel.probes import readings
from windtunnel.probes.base import Probe
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.sample import Sample


class BusyDisks(Probe):
    """See the module's docstring."""

    name: ClassVar[str] = "disks"
    metrics: ClassVar[Sequence[MetricInfo]] = (readings.DISK_BUSY,)

    def sample(self, now: float) -> Iterator[Sample]:
        """See :class:`Probe`; nothing if the system does not report it."""
        for name, disk in psutil.disk_io_counters(perdisk=True).items():
            busy_ms = getattr(disk, "busy_time", None)
            if busy_ms is None or not disk.read_bytes + disk.write_bytes or not is_disk(name):
                continue
            for rate in self.rate(now, name, busy_ms / 1e3):
                yield self.reading(now, readings.DISK_BUSY, min(1.0, rate), disk=name)


@cache
def is_disk(name: str) -> bool:
    """Whether a device is a disk and not a partition, a loop device or a RAM disk."""
    return Path("/sys/block", name, "device").exists()
