"""The registry of engines beside Hadoop. A new engine is one folder here and one entry."""

from __future__ import annotations

from windtunnel.engines.engine import Engine
from windtunnel.engines.hbase.engine import HBase
from windtunnel.engines.hive.engine import Hive
from windtunnel.engines.kudu.engine import Kudu
from windtunnel.engines.pig.engine import Pig
from windtunnel.engines.spark.engine import Spark
from windtunnel.engines.trino.engine import Trino

ENGINES: dict[str, type[Engine]] = {
    "hbase": HBase,
    "hive": Hive,
    "kudu": Kudu,
    "pig": Pig,
    "spark": Spark,
    "trino": Trino,
}
