"""Scan: a full pass over the event index for the few events of interest.

An engine has to examine every record, because the order of the data does not help to find them.
The result for each collection is the number of events and a hash of the selected columns: a few
columns, as in a typical query, or whole records, for which columnar formats have no advantage.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from windtunnel.cluster import Fraction
from windtunnel.workloads.base import About
from windtunnel.workloads.client.event_index import COLUMNS, INTEREST, PARTITION, shares
from windtunnel.workloads.event_index.engines.base import QueryEngine
from windtunnel.workloads.event_index.formats import EventParameters
from windtunnel.workloads.event_index.queries import METRICS, EventQueries, where

_FEW = ("run_number", "event_number", "missing_et", "guid_aod")


class ScanParameters(EventParameters):
    """Parameters of ``scan``."""

    select: Literal["few", "all"] = Field(
        "few", description="Selected columns: four columns (few), or whole records (all)."
    )
    first: Fraction | None = Field(
        None,
        description="Only events in the first fraction of the data, by event number: formats that "
        "store the range of each row group need not read the others. Default: all.",
        gt=0,
    )


class Scan(EventQueries[ScanParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "scan"
    summary: ClassVar[str] = "search all records of an event index for a few events (CPU, disk)"
    about: ClassVar[About] = About(
        stresses="processors that parse records, and disks if the data is not cached",
        metrics=METRICS,
        example="formats-scan",
    )

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
        """The first event number after the first fraction of the data."""
        left = round(self.parameters.records * (self.parameters.first or 1))
        for number, records in enumerate(
            shares(self.parameters.records, self.parameters.collections), start=1
        ):
            if left <= records:
                return 1_000_000_000 * number + 7 * left
            left -= records
        return 1_000_000_000 * (self.parameters.collections + 1)
