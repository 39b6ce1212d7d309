"""One point of a time series, recorded by probes and clients during a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Sample(NamedTuple):
    """One reading of one metric on one host.

    ``time_s`` counts seconds since 1970 (UTC); ``value`` is in ``unit``. A tuple, since a trial
    has tens of thousands of them. The ``samples`` file of a trial has the same columns, the time
    as ``t`` (see ``folder.py``).
    """

    time_s: float
    host: str
    metric: str
    unit: str
    value: float


Reading = tuple[str, str, str, float]
"""Host, metric, unit, value."""
Source = Callable[[float], Iterable[Reading]]
"""Gives the readings of the instant, in seconds since 1970, that it is called with."""


@dataclass(frozen=True)
class Recording:
    """Samples that another system recorded during a trial.

    ``power_source`` is the source and scope of its power samples, None without any;
    ``problems`` state what could not be recorded.
    """

    samples: Sequence[Sample] = ()
    power_source: str | None = None
    problems: Sequence[str] = ()
