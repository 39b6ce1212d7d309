"""Samples of virtual hosts: what their control groups, disks and NICs have counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.hosts.fabric.virtual import Counters, VirtualHost

Reading = tuple[str, str, str, float]
"""Host, metric, unit, value."""


class VirtualHosts:
    """A source of the sampler: gives the readings of several virtual hosts at an instant.

    Metrics have the names that the machine's own have: ``disk_read``, ``disk_write``,
    ``net_received``, ``net_sent`` (bytes/s), ``memory_used`` and ``page_cache`` (bytes),
    ``cpu_idle`` (share of the host's CPU quota); beside them ``cpu_used`` (cores),
    ``cpu_throttled`` (share of the time in which a thread was held back, summed over CPUs) and
    the bytes of each disk, ``disk_read:NAME``. A guest's disks stand under its host, once.

    Parameters
    ----------
    cores:
        CPU quota of a host or guest by name, as it is now; None where there is none.
    """

    def __init__(self, hosts: Sequence[VirtualHost], cores: Callable[[str], float | None]) -> None:
        self._hosts = hosts
        self._cores = cores
        self._last: dict[str, tuple[float, Counters]] = {}

    def __call__(self, now: float) -> Iterator[Reading]:
        """The readings since the last call; rates need one before. ``now``: epoch seconds."""
        disks_told: set[str] = set()
        for host in self._hosts:
            count = host.counters()
            yield host.name, "memory_used", "bytes", float(count.memory_bytes - count.cached_bytes)
            yield host.name, "page_cache", "bytes", float(count.cached_bytes)
            before = self._last.get(host.name)
            self._last[host.name] = (now, count)
            if before is None or now <= before[0]:
                continue
            past, old = now - before[0], before[1]
            yield from self._cpu(host.name, past, old, count)
            for metric, new, last in (
                ("net_received", count.received_bytes, old.received_bytes),
                ("net_sent", count.sent_bytes, old.sent_bytes),
            ):
                yield host.name, metric, "bytes/s", max(0, new - last) / past
            if host.machine not in disks_told:
                disks_told.add(host.machine)
                yield from _disks(host.machine, past, old.disks, count.disks)

    def _cpu(self, name: str, past: float, old: Counters, new: Counters) -> Iterator[Reading]:
        used = max(0.0, new.cpu_s - old.cpu_s) / past
        yield name, "cpu_used", "cores", used
        throttled = max(0.0, new.throttled_s - old.throttled_s) / past
        yield name, "cpu_throttled", "ratio", throttled
        cores = self._cores(name)
        if cores:
            yield name, "cpu_idle", "ratio", min(1.0, max(0.0, 1.0 - used / cores))


def _disks(
    machine: str,
    past: float,
    old: Mapping[str, tuple[int, int]],
    new: Mapping[str, tuple[int, int]],
) -> Iterator[Reading]:
    for place, metric in enumerate(("disk_read", "disk_write")):
        rates = {
            name: max(0, counted[place] - old.get(name, counted)[place]) / past
            for name, counted in new.items()
        }
        if rates:
            yield machine, metric, "bytes/s", sum(rates.values())
        for name, rate in rates.items():
            yield machine, f"{metric}:{name}", "bytes/s", rate
