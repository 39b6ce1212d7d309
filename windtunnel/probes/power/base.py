"""Readers of electrical power: their source, whether this machine supports them, their scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from windtunnel.results.power import Kind

How = Literal["live", "import", "derived"]
"""``live``: sampled during a trial; ``import``: read from a file afterwards; ``derived``:
computed from other samples during the analysis."""


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a reader works on this machine; if not, the reason and the remedy."""

    works: bool
    said: str
    remedy: str = ""


class LiveReader(Protocol):
    """A reader that is queried once per sample."""

    source: str

    def support(self) -> Support:
        """Whether it can be read on this machine."""

    def sample(self, now: float) -> Iterator[tuple[str, float]]:
        """Domain and mean watts since the last call; nothing at the first call.

        ``now`` is in seconds of any clock that only moves forward.
        """


@dataclass(frozen=True, slots=True)
class ReaderEntry:
    """One entry of the registry. ``kind`` is part of the names of metrics: ``energy_KIND``."""

    name: str
    kind: Kind
    how: How
    covers: str
    support: Callable[[], Support]
