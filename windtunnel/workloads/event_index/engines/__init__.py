"""The registry of query engines for the event index. A new one is one file and one entry."""

from __future__ import annotations

from collections.abc import Mapping

from windtunnel.workloads.event_index.engines.base import QueryEngine
from windtunnel.workloads.event_index.engines.duckdb import DuckDB
from windtunnel.workloads.event_index.engines.hive import Hive
from windtunnel.workloads.event_index.engines.spark import LocalSpark, Spark
from windtunnel.workloads.event_index.engines.trino import Trino

DUCKDB = "duckdb"
"""The engine that computes the expected results, and runs the reference phase."""
QUERY_ENGINES: Mapping[str, QueryEngine] = {
    "spark": Spark(),
    "spark-local": LocalSpark(),
    "trino": Trino(),
    "hive": Hive(),
    DUCKDB: DuckDB(),
}
