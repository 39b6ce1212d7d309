"""The registry of engines that can ask the event index. A new one is one file and one entry."""

from __future__ import annotations

from collections.abc import Mapping

from windtunnel.workloads.query_engines.base import QueryEngine
from windtunnel.workloads.query_engines.duckdb import DuckDB
from windtunnel.workloads.query_engines.hive import Hive
from windtunnel.workloads.query_engines.spark import LocalSpark, Spark
from windtunnel.workloads.query_engines.trino import Trino

DUCKDB = "duckdb"
"""The engine that works out the answers, and stands beside the others."""
QUERY_ENGINES: Mapping[str, QueryEngine] = {
    "spark": Spark(),
    "spark-local": LocalSpark(),
    "trino": Trino(),
    "hive": Hive(),
    DUCKDB: DuckDB(),
}
