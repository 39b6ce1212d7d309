"""The registry of key-value stores. A new store needs one engine and one entry."""

from __future__ import annotations

from windtunnel.engines.hbase.engine import HBase
from windtunnel.engines.kudu.engine import Kudu
from windtunnel.engines.ycsb.store import Store

STORES: dict[str, type[Store]] = {"hbase": HBase, "kudu": Kudu}
