"""What a reader of electrical power is: who it asks, whether it works here, what it covers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from windtunnel.results.power import Kind

How = Literal["live", "import", "derived"]
"""``live``: sampled during a trial; ``import``: read from a file afterwards; ``derived``: worked
out from other samples when the results are analysed."""


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a reader works on this machine; if not, why and what helps."""

    works: bool
    said: str
    remedy: str = ""


class LiveReader(Protocol):
    """A reader that is asked once per sample."""

    source: str

    def support(self) -> Support:
        """Whether it can be read here and now."""

    def sample(self, now: float) -> Iterator[tuple[str, float]]:
        """Domain and mean watts since the last call; nothing at the first call.

        ``now`` is in seconds of any clock that only moves forward.
        """


@dataclass(frozen=True, slots=True)
class ReaderEntry:
    """One entry of the registry. ``kind`` goes into the names of metrics: ``energy_KIND``."""

    name: str
    kind: Kind
    how: How
    covers: str
    support: Callable[[], Support]
