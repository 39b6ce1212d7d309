"""The registry of engines alongside Hadoop. A new one is one folder here and one line."""

from __future__ import annotations

from typing import Any

from windtunnel.cluster import ROLES
from windtunnel.engines.engine import Engine
from windtunnel.plugins import Registry, check_class


def _admit(name: str, kind: Any) -> None:
    """Refuse an object that is not an engine; add the engine's roles and settings to the table."""
    check_class(name, kind, Engine, ("lines",))
    if not kind.lines:
        raise ValueError("it lacks lines")
    ROLES.add(name, kind.roles, kind.setting_words)


_HERE = "windtunnel.engines"
ENGINES: Registry[type[Engine]] = Registry(
    "engines",
    "engine",
    {
        "hbase": f"{_HERE}.hbase.engine:HBase",
        "hive": f"{_HERE}.hive.engine:Hive",
        "kudu": f"{_HERE}.kudu.engine:Kudu",
        "pig": f"{_HERE}.pig.engine:Pig",
        "spark": f"{_HERE}.spark.engine:Spark",
        "trino": f"{_HERE}.trino.engine:Trino",
    },
    _admit,
)
ROLES.complete_with(ENGINES.values)  # loading an engine adds its roles
