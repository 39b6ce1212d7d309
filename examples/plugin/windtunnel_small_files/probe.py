"""Context switches of this machine, once per second during every trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import psutil

from windtunnel.probes.base import Probe
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.sample import Sample

SWITCHES = MetricInfo(
    "context_switches",
    "1/s",
    "context switches of this machine per second",
    "counters of the operating system",
    level="sample",
)


class ContextSwitches(Probe):
    """See the module's docstring."""

    name: ClassVar[str] = "context-switches"
    metrics: ClassVar[Sequence[MetricInfo]] = (SWITCHES,)

    def sample(self, now: float) -> Iterator[Sample]:
        """The growth of the counter since the last sample."""
        for rate in self.rate(now, SWITCHES.name, psutil.cpu_stats().ctx_switches):
            yield self.reading(now, SWITCHES, rate)
