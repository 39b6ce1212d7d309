"""Report: count, mean, least, largest and standard deviation of single columns.

One query for each column, over some of the collections: what is in the other folders and, in
formats that store columns apart, in the other columns need not be read.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import blame
from windtunnel.workloads.base import About, Parameters
from windtunnel.workloads.event_formats import EventParameters
from windtunnel.workloads.event_index import NUMERIC, PARTITION
from windtunnel.workloads.events import METRICS, EventQueries, of_collections, where
from windtunnel.workloads.query_engines import QUERY_ENGINES
from windtunnel.workloads.query_engines.base import QueryEngine


class ReportParameters(EventParameters):
    """Parameters of ``report``."""

    columns: list[str] = Field(
        ["n_tracks", "missing_et", "leading_jet_pt"],
        description="The columns, each a query of its own.",
        min_length=1,
    )
    only: PositiveInt | None = Field(
        None, description="Collections that the report is about; left out: all."
    )

    @model_validator(mode="after")
    def _known(self) -> ReportParameters:
        strange = next((name for name in self.columns if name not in NUMERIC), None)
        if strange is not None:
            raise blame(
                f"there is no column of numbers '{strange}'",
                "columns",
                remedy=f"use some of: {', '.join(NUMERIC)}.",
            )
        vague = next((n for n in self.columns if n in QUERY_ENGINES[self.engine].imprecise), None)
        if vague is not None:
            raise blame(
                f"the standard deviation of '{vague}' by {self.engine} has too few digits to be "
                "checked: its values are large and alike",
                "columns",
                remedy="leave the column out, or let another engine ask.",
            )
        if len(set(self.columns)) < len(self.columns):
            raise blame("a column stands twice", "columns")
        if (self.only or 0) > self.collections:
            raise blame(f"there are only {self.collections} collections", "only")
        return self


class Report(EventQueries):
    """See the module's docstring."""

    name: ClassVar[str] = "report"
    summary: ClassVar[str] = "summarise single columns of an event index (CPU, disk)"
    about: ClassVar[About] = About(
        stresses="processors that take records apart; hardly anything where columns lie apart",
        metrics=METRICS,
        example="formats-report",
    )
    parameters_type: ClassVar[type[Parameters]] = ReportParameters

    parameters: ReportParameters

    def asked(self) -> list[str]:
        """The first collections, as many as the report is about."""
        return super().asked()[: self.parameters.only]

    def queries(self, who: QueryEngine) -> dict[str, str]:
        """A query for each column."""
        some = self.parameters.only is not None
        conditions = [of_collections(self.asked())] if some else []
        return {
            name: f"SELECT {PARTITION}, count({name}) AS records, avg({name}) AS mean, "
            f"min({name}) AS least, max({name}) AS largest, stddev_samp({name}) AS deviation "
            f"FROM events{where(conditions)} GROUP BY {PARTITION}"
            for name in self.parameters.columns
        }
