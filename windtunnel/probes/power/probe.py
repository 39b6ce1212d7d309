"""Probe of electrical power, by the readers that work on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from windtunnel.probes import readings
from windtunnel.probes.base import Probe, Watched
from windtunnel.probes.power import live_readers
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.sample import Sample


class Power(Probe):
    """See the module's docstring."""

    name: ClassVar[str] = "power"
    metrics: ClassVar[Sequence[MetricInfo]] = (readings.DOMAIN_POWER,)

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        self._readers = live_readers()

    @property
    def power_source(self) -> str | None:
        """The sources of all readers."""
        return "; ".join(reader.source for reader in self._readers) or None

    def sample(self, now: float) -> Iterator[Sample]:
        """See :class:`Probe`."""
        for reader in self._readers:
            for domain, watts in reader.sample(now):
                yield self.reading(now, readings.DOMAIN_POWER, watts, domain=domain)
