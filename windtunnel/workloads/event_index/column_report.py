"""Report: count, mean, minimum, maximum and standard deviation of single columns.

There is one query for each column, over some of the collections. An engine need not read the
other collections and, in columnar formats, the other columns.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import blame
from windtunnel.workloads.base import About
from windtunnel.workloads.client.event_index import NUMERIC, PARTITION
from windtunnel.workloads.event_index.engines import QUERY_ENGINES
from windtunnel.workloads.event_index.engines.base import QueryEngine
from windtunnel.workloads.event_index.formats import EventParameters
from windtunnel.workloads.event_index.queries import METRICS, EventQueries, of_collections, where


class ReportParameters(EventParameters):
    """Parameters of ``report``."""

    columns: list[str] = Field(
        ["n_tracks", "missing_et", "leading_jet_pt"],
        description="The columns, with one query for each.",
        min_length=1,
    )
    only: PositiveInt | None = Field(
        None, description="Number of collections in the report. Default: all."
    )

    @model_validator(mode="after")
    def _known(self) -> ReportParameters:
        strange = next((name for name in self.columns if name not in NUMERIC), None)
        if strange is not None:
            raise blame(
                f"there is no numeric column '{strange}'",
                "columns",
                remedy=f"use some of: {', '.join(NUMERIC)}.",
            )
        vague = next((n for n in self.columns if n in QUERY_ENGINES[self.engine].imprecise), None)
        if vague is not None:
            raise blame(
                f"the standard deviation of '{vague}' by {self.engine} is too imprecise for "
                "verification: its values are large and similar",
                "columns",
                remedy="remove the column, or use another engine.",
            )
        if len(set(self.columns)) < len(self.columns):
            raise blame("a column is listed twice", "columns")
        if (self.only or 0) > self.collections:
            raise blame(f"there are only {self.collections} collections", "only")
        return self


class Report(EventQueries[ReportParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "report"
    summary: ClassVar[str] = "summarise single columns of an event index (CPU, disk)"
    about: ClassVar[About] = About(
        stresses="processors that parse records; hardly anything with columnar formats",
        metrics=METRICS,
        example="formats-report",
    )

    def selected(self) -> list[str]:
        """The collections of the report."""
        return super().selected()[: self.parameters.only]

    def queries(self, who: QueryEngine) -> dict[str, str]:
        """A query for each column."""
        some = self.parameters.only is not None
        conditions = [of_collections(self.selected())] if some else []
        return {
            name: f"SELECT {PARTITION}, count({name}) AS records, avg({name}) AS mean, "
            f"min({name}) AS least, max({name}) AS largest, stddev_samp({name}) AS deviation "
            f"FROM events{where(conditions)} GROUP BY {PARTITION}"
            for name in self.parameters.columns
        }
