"""Probe of this machine as a whole: CPU by state, load, memory, disks, network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import psutil

from windtunnel.probes import readings
from windtunnel.probes.base import Probe
from windtunnel.probes.disks import is_disk
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.sample import Sample


class ThisMachine(Probe):
    """See the module's docstring."""

    name: ClassVar[str] = "machine"
    metrics: ClassVar[Sequence[MetricInfo]] = (
        readings.CPU,
        readings.LOAD,
        readings.MEMORY_USED,
        readings.MEMORY_AVAILABLE,
        readings.PAGE_CACHE,
        readings.SWAP_IN,
        readings.DISK_READ,
        readings.DISK_WRITE,
        readings.NET_SENT,
        readings.NET_RECEIVED,
    )

    def begin(self) -> None:
        """CPU fractions of the first sample are those since this call.

        ``psutil.cpu_times_percent`` has its last values by thread, and samples are read in another
        one.
        """
        self._cpu_s = _cpu_seconds()

    def sample(self, now: float) -> Iterator[Sample]:
        """See :class:`Probe`; without any CPU time since the last sample, it has no fractions."""
        before, self._cpu_s = self._cpu_s, _cpu_seconds()
        # the kernel may correct a counter, such as iowait, to a smaller value
        spent = {key: max(0.0, value - before[key]) for key, value in self._cpu_s.items()}
        total = sum(spent.values())
        for state in readings.CPU_STATES:
            if state in spent and total > 0:
                yield self.reading(now, readings.CPU, spent[state] / total, state=state)
        yield self.reading(now, readings.LOAD, psutil.getloadavg()[0])
        memory = psutil.virtual_memory()
        yield self.reading(now, readings.MEMORY_USED, float(memory.total - memory.available))
        yield self.reading(now, readings.MEMORY_AVAILABLE, memory.available / memory.total)
        yield self.reading(now, readings.PAGE_CACHE, float(getattr(memory, "cached", 0)))
        for info, total in self._totals().items():
            for rate in self.rate(now, info.name, total):
                yield self.reading(now, info, rate)

    def _totals(self) -> dict[MetricInfo, float]:
        """Counters that never decrease, by the metric of their increase."""
        each = psutil.disk_io_counters(perdisk=True) or {}
        # bytes through a loop device or a logical volume are those of a disk, too
        disks = [disk for name, disk in each.items() if is_disk(name)]
        whole = psutil.disk_io_counters() if not disks else None  # not Linux
        net = psutil.net_io_counters()
        own = self.watched.network_bytes
        sent, received = own() if own else (0, 0)
        totals: dict[MetricInfo, float] = {readings.SWAP_IN: psutil.swap_memory().sin}
        disks += [whole] if whole is not None else []
        if disks:
            totals[readings.DISK_READ] = sum(disk.read_bytes for disk in disks)
            totals[readings.DISK_WRITE] = sum(disk.write_bytes for disk in disks)
        totals[readings.NET_SENT] = net.bytes_sent + sent
        totals[readings.NET_RECEIVED] = net.bytes_recv + received
        return totals


def _cpu_seconds() -> dict[str, float]:
    """CPU seconds of this machine by state, of all CPUs.

    The time of its virtual machines (``guest``, ``guest_nice``) is in ``user`` and ``nice``.
    """
    times = psutil.cpu_times()._asdict()
    return {state: value for state, value in times.items() if not state.startswith("guest")}
