"""Probe of the cluster's daemons: CPU and resident memory of each process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import ClassVar

import psutil

from windtunnel.probes import readings
from windtunnel.probes.base import Probe, Watched
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.sample import Sample


class Daemons(Probe):
    """See the module's docstring."""

    name: ClassVar[str] = "daemons"
    metrics: ClassVar[Sequence[MetricInfo]] = (readings.DAEMON_CPU, readings.DAEMON_RSS)

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        self._known: dict[int, psutil.Process] = {}

    def sample(self, now: float) -> Iterator[Sample]:
        """See :class:`Probe`; a daemon that has ended is skipped."""
        for name, pid in self.watched.processes().items():
            with contextlib.suppress(psutil.Error):
                yield from self._daemon(name, pid, now)

    def _daemon(self, name: str, pid: int, now: float) -> Iterator[Sample]:
        process = self._known.get(pid)
        if process is None:
            process = self._known[pid] = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            rss = process.memory_info().rss
        for cores in self.rate(now, str(pid), times.user + times.system):
            yield self.reading(now, readings.DAEMON_CPU, cores, daemon=name)
        yield self.reading(now, readings.DAEMON_RSS, float(rss), daemon=name)
