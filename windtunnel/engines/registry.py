"""The registry of engines beside Hadoop. A new engine is one folder here and one entry."""

from __future__ import annotations

from windtunnel.engines.engine import Engine

ENGINES: dict[str, type[Engine]] = {}
