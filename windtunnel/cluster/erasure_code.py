"""Erasure codes of storage systems: data and parity cells in place of replicas."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"(XOR|RS|RS-LEGACY)-([1-9]\d?)-([1-9]\d?)")
CELL_BYTES, _CELL = 1 << 20, "1024k"
HDFS_CODES = ("XOR-2-1", "RS-3-2", "RS-6-3", "RS-LEGACY-6-3", "RS-10-4")
"""The codes of HDFS, all with cells of 1 MiB (SystemErasureCodingPolicies, Hadoop 3)."""


@dataclass(frozen=True)
class ErasureCode:
    """``data`` cells and ``parity`` cells that are computed from them, each on another host."""

    codec: str
    data: int
    parity: int

    @classmethod
    def parse(cls, name: str) -> ErasureCode:
        """The code of a name such as ``RS-3-2``; raises ValueError."""
        found = _NAME.fullmatch(name)
        if found is None:
            raise ValueError(
                f"'{name}' is not an erasure code: write CODEC-DATA-PARITY, such as RS-3-2"
            )
        code = cls(found[1], int(found[2]), int(found[3]))
        if code.codec == "XOR" and code.parity != 1:
            raise ValueError(f"'{name}': XOR has one parity cell")
        return code

    @property
    def name(self) -> str:
        """Its name, ``RS-3-2``."""
        return f"{self.codec}-{self.data}-{self.parity}"

    @property
    def hosts(self) -> int:
        """The number of hosts that hold the cells of a group."""
        return self.data + self.parity

    @property
    def stored_per_byte(self) -> float:
        """Bytes that are stored for each byte of data."""
        return self.hosts / self.data

    @property
    def hdfs_policy(self) -> str:
        """The name of its policy in HDFS."""
        return f"{self.name}-{_CELL}"
