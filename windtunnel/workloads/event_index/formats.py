"""Parameters of the workloads on the event index: size, format and query engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import ByteSize, blame
from windtunnel.workloads.base import Parameters
from windtunnel.workloads.client.event_index import RECORD_BYTES
from windtunnel.workloads.event_index.engines import QUERY_ENGINES

ON_DISK: Mapping[str, Mapping[str, float]] = {
    "csv": {"none": 1.0, "gzip": 0.081, "snappy": 0.145},
    "parquet": {"none": 0.916, "snappy": 0.129, "gzip": 0.073, "zstd": 0.066},
    "orc": {"none": 0.902, "snappy": 0.128, "zlib": 0.079, "zstd": 0.065},
}
"""Codecs of each format, and the size on disk relative to CSV, measured with Spark 3.5.6, 60 MB and
seed 1. These are estimates for checks before a trial (whether the data fits in a cache); each trial
measures its own sizes."""

_ENGINES = (
    "Query engine. All engines but DuckDB read the files in HDFS. "
    + "; ".join(f"{n}: {e.title}" for n, e in QUERY_ENGINES.items())
    + "."
)

if TYPE_CHECKING:
    EngineName = str
else:
    EngineName = Literal[tuple(QUERY_ENGINES)]


class EventParameters(Parameters):
    """Parameters that ``scan`` and ``report`` share."""

    amounts: ClassVar[tuple[str, ...]] = ("size",)

    size: ByteSize = Field(description="Data set as CSV, about 1.8 kB per record.")
    format: Literal["csv", "parquet", "orc"] = Field(
        "csv", description="Format of the files in HDFS: csv stores rows, the others columns."
    )
    codec: Literal["none", "gzip", "snappy", "zstd", "zlib"] = Field(
        "none",
        description="Compression: none, gzip or snappy for csv; none, snappy, gzip or zstd for "
        "parquet; none, snappy, zlib or zstd for orc.",
    )
    engine: EngineName = Field("spark", description=_ENGINES)
    collections: PositiveInt = Field(4, description="Partitions of the data set.", le=99)
    replication: PositiveInt = Field(description="Replicas of each block.")
    row_group: ByteSize = Field(
        "16 MiB",
        description="Size of row groups of parquet or of stripes of orc.",
        validate_default=True,
    )
    executors: PositiveInt | None = Field(
        None, description="Number of Spark's executors. Default: one per NodeManager."
    )
    executor_cores: PositiveInt | None = Field(
        None,
        description="Cores per executor. Default: the machine's cores, divided among executors.",
    )
    warm_up: bool = Field(
        True,
        description="Run the queries on a few records first, untimed, three times (Hive: once), so "
        "that the JVMs of the timed queries have loaded and compiled most of their code. Hive's "
        "tasks start new JVMs in any case.",
    )
    seed: int = Field(1, description="Seed of the data.", ge=0)

    @model_validator(mode="after")
    def _sound(self) -> EventParameters:
        if self.codec not in ON_DISK[self.format]:
            known = ", ".join(ON_DISK[self.format])
            raise blame(
                f"{self.format} does not support compression with {self.codec} here",
                "codec",
                remedy=f"use one of: {known}.",
            )
        if lacks := QUERY_ENGINES[self.engine].lacks(self.format, self.codec):
            able = [n for n, e in QUERY_ENGINES.items() if not e.lacks(self.format, self.codec)]
            raise blame(lacks, "engine", remedy=f"use one of: {', '.join(able)}.")
        if self.records < self.collections:
            raise ValueError(f"size must be at least {RECORD_BYTES} bytes for each collection")
        return self

    @property
    def records(self) -> int:
        """The number of records of the data set."""
        return int(self.size) // RECORD_BYTES

    @property
    def disk_bytes(self) -> int:
        """The approximate size of the data set in its format, one replica."""
        return round(self.records * RECORD_BYTES * ON_DISK[self.format][self.codec])

    def takes_whole(self) -> str | None:
        """The exclusive resource of its engine."""
        return QUERY_ENGINES[self.engine].whole

    def engines(self) -> tuple[str, ...]:
        """Spark, which converts the data, and the query engine's own."""
        return tuple(dict.fromkeys(("spark", *QUERY_ENGINES[self.engine].engines)))
