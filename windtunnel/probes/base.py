"""The contract of probes, which are read once per second during a trial."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from windtunnel.results.metrics import MetricInfo
from windtunnel.results.sample import Sample

THIS_MACHINE = "this-machine"


@dataclass(frozen=True)
class Watched:
    """What a trial runs on, as probes see it.

    Attributes
    ----------
    host:
        Name under which samples of this machine are stored.
    processes:
        Gives the daemons' process ids by name; daemons may be restarted between two samples.
    network_bytes:
        Gives the bytes sent and received in networks that this machine's interfaces do not
        count; None: there are none.
    """

    processes: Callable[[], Mapping[str, int]]
    host: str = THIS_MACHINE
    network_bytes: Callable[[], tuple[int, int]] | None = None


class Probe(ABC):
    """Reads something once per second. One object per trial, called from one thread.

    ``name`` is its name in the registry, ``metrics`` describes what it reads (``level`` is
    ``sample``).
    """

    name: ClassVar[str]
    metrics: ClassVar[Sequence[MetricInfo]]

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self._last: dict[str, tuple[float, float]] = {}

    def begin(self) -> None:
        """Called once, immediately before the sampling starts."""
        return

    @abstractmethod
    def sample(self, now: float) -> Iterable[Sample]:
        """What is read now, in seconds since 1970. Raises OSError or psutil.Error.

        It takes part in every trial, so it must take little time: a few milliseconds.
        """

    @property
    def power_source(self) -> str | None:
        """Source and scope of its power samples; None without any."""
        return None

    def reading(self, now: float, info: MetricInfo, value: float, **texts: str) -> Sample:
        """A sample of this machine; ``texts`` fill the parts in braces of the metric's name."""
        return Sample(now, self.watched.host, *info.reading(value, **texts))

    def rate(self, now: float, counter: str, total: float) -> Iterator[float]:
        """The increase of a counter per second since the last call; nothing at first reading."""
        last = self._last.get(counter)
        self._last[counter] = (now, total)
        if last is not None and now > last[0]:
            yield max(0.0, (total - last[1]) / (now - last[0]))
