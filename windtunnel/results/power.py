"""Imported power samples: the recordings of a meter, imported after the trials.

Each import is one Parquet file ``power/KIND-DIGEST.parquet`` (columns ``t``, ``group``,
``watts``; its metadata describes them). The name contains a hash of the samples, so equal
samples have the same file. Trials are not changed; the analysis joins by time.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from windtunnel.results.reading import check_schema, unreadable

Kind = Literal["metered", "rapl", "modelled"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Stamp = Literal["instant", "end", "start"]
"""Meaning of a sample: the power at its instant, or the mean over the period that ends, or
starts, at that instant."""
STAMPS: tuple[Stamp, ...] = get_args(Stamp)

POWER_SCHEMA = "windtunnel.power/1"
_COLUMNS = pa.schema([("t", pa.float64()), ("group", pa.string()), ("watts", pa.float64())])

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PowerRecord:
    """Samples of one source. ``groups`` maps a metered group to instants (epoch s) and watts.

    ``period_s`` is the time between samples, ``hosts`` the number of hosts in all groups
    (None: unknown).
    """

    kind: Kind
    source: str
    stamp: Stamp
    period_s: float
    hosts: int | None
    groups: Mapping[str, tuple[Array, Array]]

    @property
    def name(self) -> str:
        """File name: the same for the same samples."""
        digest = hashlib.sha256()
        for group in sorted(self.groups):
            t, watts = self.groups[group]
            digest.update(group.encode() + b"\0" + t.tobytes() + watts.tobytes())
        return f"{self.kind}-{digest.hexdigest()[:16]}.parquet"

    @property
    def words(self) -> str:
        """Kind, source and scope in words: ``metered: DCM, GroupBD, 8 hosts``."""
        parts = [self.source, *sorted(self.groups)]
        if self.hosts is not None:
            parts.append(f"{self.hosts} hosts")
        return f"{self.kind}: {', '.join(parts)}"

    def to_bytes(self) -> bytes:
        """The Parquet file."""
        facts = {
            "kind": self.kind,
            "source": self.source,
            "stamp": self.stamp,
            "period_s": self.period_s,
            "hosts": self.hosts,
        }
        t = np.concatenate([t for t, _ in self.groups.values()])
        watts = np.concatenate([watts for _, watts in self.groups.values()])
        names = [name for name, (t, _) in self.groups.items() for _ in t]
        schema = _COLUMNS.with_metadata({"schema": POWER_SCHEMA, "power": json.dumps(facts)})
        data = io.BytesIO()
        pq.write_table(pa.table([t, names, watts], schema=schema), data, compression="zstd")
        return data.getvalue()


def read_power(folder: Path) -> list[PowerRecord]:
    """The imported power samples of a results folder, by file name.

    Raises
    ------
    ResultsError
        For a file that cannot be read.
    """
    return [_read(file) for file in sorted((folder / "power").glob("*.parquet"))]


def _read(file: Path) -> PowerRecord:
    try:
        table = pq.read_table(file)
        metadata = table.schema.metadata or {}
        check_schema(file, metadata.get(b"schema", b"").decode(), POWER_SCHEMA)
        facts = json.loads(metadata[b"power"])
        names = np.array(table.column("group").to_pylist(), dtype=object)
        t = np.asarray(table.column("t").to_numpy(), dtype=float)
        watts = np.asarray(table.column("watts").to_numpy(), dtype=float)
        groups = {str(n): (t[names == n], watts[names == n]) for n in dict.fromkeys(names)}
        return PowerRecord(groups=groups, **facts)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        remedy = "restore the file from a backup, or delete it and import the samples again."
        raise unreadable(file, error, remedy) from error
