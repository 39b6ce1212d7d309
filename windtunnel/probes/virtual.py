"""Samples of virtual hosts from the counters of their control groups, disks and NICs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from windtunnel.probes.readings import (
    CPU,
    CPU_THROTTLED,
    CPU_USED,
    DISK_READ,
    DISK_WRITE,
    MEMORY_USED,
    NET_RECEIVED,
    NET_SENT,
    ONE_DISK_READ,
    ONE_DISK_WRITE,
    PAGE_CACHE,
)

if TYPE_CHECKING:
    from windtunnel.hosts.fabric.virtual import Counters, VirtualHost

Reading = tuple[str, str, str, float]
"""Host, metric, unit, value."""
_DISKS = ((DISK_READ, ONE_DISK_READ), (DISK_WRITE, ONE_DISK_WRITE))


class VirtualHosts:
    """A source of the sampler: returns the readings of several virtual hosts at an instant.

    Metrics have the same names as those of the machine: ``disk_read``, ``disk_write``,
    ``net_received``, ``net_sent`` (bytes/s), ``memory_used`` and ``page_cache`` (bytes),
    ``cpu_idle`` (fraction of the host's CPU quota). Additional metrics are ``cpu_used`` (cores),
    ``cpu_throttled`` (fraction of the time in which the quota stopped a thread, summed over CPUs)
    and the bytes of each disk, ``disk_read:NAME``. The disks of a guest are listed once, under
    its host.

    Parameters
    ----------
    cores:
        Current CPU quota of a host or guest by name; None if there is none.
    """

    def __init__(self, hosts: Sequence[VirtualHost], cores: Callable[[str], float | None]) -> None:
        self._hosts = hosts
        self._cores = cores
        self._last: dict[str, tuple[float, Counters]] = {}

    def __call__(self, now: float) -> Iterator[Reading]:
        """The readings since the last call; the first call has no rates. ``now``: epoch seconds."""
        disks_read: set[str] = set()
        for host in self._hosts:
            count = host.counters()
            yield host.name, *MEMORY_USED.reading(float(count.memory_bytes - count.cached_bytes))
            yield host.name, *PAGE_CACHE.reading(float(count.cached_bytes))
            before = self._last.get(host.name)
            self._last[host.name] = (now, count)
            if before is None or now <= before[0]:
                continue
            past, old = now - before[0], before[1]
            yield from self._cpu(host.name, past, old, count)
            for info, new, last in (
                (NET_RECEIVED, count.received_bytes, old.received_bytes),
                (NET_SENT, count.sent_bytes, old.sent_bytes),
            ):
                yield host.name, *info.reading(max(0, new - last) / past)
            if host.machine not in disks_read:
                disks_read.add(host.machine)
                yield from _disks(host.machine, past, old.disks, count.disks)

    def _cpu(self, name: str, past: float, old: Counters, new: Counters) -> Iterator[Reading]:
        used = max(0.0, new.cpu_s - old.cpu_s) / past
        yield name, *CPU_USED.reading(used)
        throttled = max(0.0, new.throttled_s - old.throttled_s) / past
        yield name, *CPU_THROTTLED.reading(throttled)
        cores = self._cores(name)
        if cores:
            idle = min(1.0, max(0.0, 1.0 - used / cores))
            yield name, *CPU.reading(idle, state="idle")


def _disks(
    machine: str,
    past: float,
    old: Mapping[str, tuple[int, int]],
    new: Mapping[str, tuple[int, int]],
) -> Iterator[Reading]:
    for place, (all_disks, one_disk) in enumerate(_DISKS):
        rates = {
            name: max(0, counted[place] - old.get(name, counted)[place]) / past
            for name, counted in new.items()
        }
        if rates:
            yield machine, *all_disks.reading(sum(rates.values()))
        for name, rate in rates.items():
            yield machine, *one_disk.reading(rate, disk=name)
