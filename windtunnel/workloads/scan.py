"""Scan: a full pass over the event index for the few events of interest.

Every record is looked at, since no order of the data tells where they are. What comes back for
each collection is how many there are, and a hash of what is wanted of them: a few columns, as a
user asks, or whole records, which takes the advantage from formats that store columns apart.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from windtunnel.cluster import Fraction
from windtunnel.workloads.base import About, Parameters
from windtunnel.workloads.event_formats import EventParameters
from windtunnel.workloads.event_index import COLUMNS, INTEREST, PARTITION, shares
from windtunnel.workloads.events import METRICS, EventQueries, where
from windtunnel.workloads.query_engines.base import QueryEngine

_FEW = ("run_number", "event_number", "missing_et", "guid_aod")


class ScanParameters(EventParameters):
    """Parameters of ``scan``."""

    select: Literal["few", "all"] = Field(
        "few", description="What is wanted of the events: four columns, or whole records."
    )
    first: Fraction | None = Field(
        None,
        description="Only events of the first share of the data, by event number: formats that "
        "keep the range of each row group need not read the others. Left out: all.",
        gt=0,
    )


class Scan(EventQueries):
    """See the module's docstring."""

    name: ClassVar[str] = "scan"
    summary: ClassVar[str] = "look at every record of an event index for a few (CPU, disk)"
    about: ClassVar[About] = About(
        stresses="processors that take records apart, and disks where the data is not cached",
        metrics=METRICS,
        example="formats-scan",
    )
    parameters_type: ClassVar[type[Parameters]] = ScanParameters

    parameters: ScanParameters

    def queries(self, who: QueryEngine) -> dict[str, str]:
        """One query."""
        wanted = _FEW if self.parameters.select == "few" else tuple(COLUMNS)
        conditions = [INTEREST]
        if self.parameters.first is not None:
            conditions.append(f"event_number < {self._last()}")
        return {
            "scan": f"SELECT {PARTITION}, count(*) AS events, {who.digest(wanted)} AS digest "
            f"FROM events{where(conditions)} GROUP BY {PARTITION}"
        }

    def _last(self) -> int:
        """The event number that the first share of the data ends before."""
        left = round(self.parameters.records * (self.parameters.first or 1))
        for number, records in enumerate(
            shares(self.parameters.records, self.parameters.collections), start=1
        ):
            if left <= records:
                return 1_000_000_000 * number + 7 * left
            left -= records
        return 1_000_000_000 * (self.parameters.collections + 1)
