"""A data set of the event index, as engines query it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.workloads.client.event_index import PARTITION


@dataclass(frozen=True)
class DataSet:
    """The records in one format: where they lie in HDFS and on the client.

    ``sample`` is a folder with a few of them, ``listed`` the files with their bytes, copies and
    HDFS's checksums, ``csv_bytes`` what the same records take as CSV, one copy. ``local`` is None
    where DuckDB cannot read the format.
    """

    path: str
    sample: str
    local: Path | None
    listed: Sequence[Mapping[str, Any]]
    csv_bytes: int

    def bytes_of(self, collections: Sequence[str]) -> int:
        """Bytes of some collections on disk, one copy."""
        heads = tuple(f"{PARTITION}={name}/" for name in collections)
        return sum(file["bytes"] for file in self.listed if file["path"].startswith(heads))
