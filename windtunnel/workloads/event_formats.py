"""Parameters of the workloads on the event index: its size, its format, who asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import ByteSize, blame
from windtunnel.workloads.base import Parameters
from windtunnel.workloads.event_index import RECORD_BYTES
from windtunnel.workloads.query_engines import QUERY_ENGINES

ON_DISK: Mapping[str, Mapping[str, float]] = {
    "csv": {"none": 1.0, "gzip": 0.081, "snappy": 0.145},
    "parquet": {"none": 0.916, "snappy": 0.129, "gzip": 0.073, "zstd": 0.066},
    "orc": {"none": 0.902, "snappy": 0.128, "zlib": 0.079, "zstd": 0.065},
}
"""Codecs of each format, and bytes on disk over those as CSV: Spark 3.5.6, 60 MB, seed 1. What a
trial measures is its own; this is for what must be known before it, such as fitting in a cache."""

_WHO_ASKS = (
    "Who asks, all but DuckDB over the files in HDFS: "
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

    size: ByteSize = Field(description="Data set as CSV: about 1.8 kB a record.")
    format: Literal["csv", "parquet", "orc"] = Field(
        "csv", description="How the records lie in HDFS: by row (csv) or by column."
    )
    codec: Literal["none", "gzip", "snappy", "zstd", "zlib"] = Field(
        "none",
        description="Compression: none, gzip or snappy of csv; none, snappy, gzip or zstd of "
        "parquet; none, snappy, zlib or zstd of orc.",
    )
    engine: EngineName = Field("spark", description=_WHO_ASKS)
    collections: PositiveInt = Field(4, description="Partitions of the data set.", le=99)
    replication: PositiveInt = Field(description="Replicas of each block.")
    row_group: ByteSize = Field(
        "16 MiB", description="Row groups of parquet, stripes of orc.", validate_default=True
    )
    executors: PositiveInt | None = Field(
        None, description="Spark's executors; left out: one for each NodeManager."
    )
    executor_cores: PositiveInt | None = Field(
        None, description="Cores of each; left out: the machine's, shared out."
    )
    warm_up: bool = Field(
        True,
        description="Ask a few records the same before, untimed, three times (Hive: once): the "
        "timed queries run on JVMs that have loaded and compiled most of what they need. Tasks of "
        "Hive are new JVMs in any case.",
    )
    seed: int = Field(1, description="Seed of the data.", ge=0)

    @model_validator(mode="after")
    def _sound(self) -> EventParameters:
        if self.codec not in ON_DISK[self.format]:
            known = ", ".join(ON_DISK[self.format])
            raise blame(
                f"{self.format} is not compressed with {self.codec} here",
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
        """Records of the data set."""
        return int(self.size) // RECORD_BYTES

    @property
    def disk_bytes(self) -> int:
        """About the bytes that the data set takes in its format, one copy."""
        return round(self.records * RECORD_BYTES * ON_DISK[self.format][self.codec])

    def takes_whole(self) -> str | None:
        """What its engine takes."""
        return QUERY_ENGINES[self.engine].whole

    def engines(self) -> tuple[str, ...]:
        """Spark converts the data, whoever asks it."""
        return tuple(dict.fromkeys(("spark", *QUERY_ENGINES[self.engine].engines)))
