"""A cluster on which TestDFSIO and TeraChecksum do on bytes in memory what Hadoop's do on HDFS."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.bare import BareDeployment
from tests.support.mock import job_run
from windtunnel.engines.deployment import FileStatus, JobRun

_MOVED = "org.apache.hadoop.mapreduce.FileSystemCounter:HDFS_BYTES_"


class DfsioCluster(BareDeployment):
    """``data`` holds the files' bytes by path, ``texts`` the small results of jobs.

    Each map task takes two seconds; the jobs take ten. ``jobs`` are the argument lists.
    """

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.texts: dict[str, bytes] = {}
        self.copies = 0
        self.jobs: list[list[str]] = []
        self.files = self

    def run_job(
        self, phase: str, argv: Sequence[str], settings: Mapping[str, str], *, deadline_s: float
    ) -> JobRun:
        self.jobs.append([phase, *argv])
        if argv[0].endswith("TeraChecksum"):
            self.texts[f"{argv[2]}/part-r-00000"] = f"{self._sum(argv[1]):x}\n".encode()
            return job_run(phase, 10.0)
        test, base = argv[1].removeprefix("-"), settings["test.build.data"]
        files, size = (int(argv[i].rstrip("B")) for i in (3, 5))
        self.copies = int(settings["dfs.replication"])
        moved = 0
        for number in range(files):
            path = f"{base}/io_data/test_io_{number}"
            before = self.data.get(path, b"")
            self.data[path] = self._after(test, before, size)
            moved += abs(len(before) - len(self.data[path])) if test != "read" else len(before)
        rate = moved / files / 2 / (1 << 20) * 1e3
        self.texts[f"{base}/io_{test}/part-00000"] = (
            f"f:rate\t{rate * files}\nf:sqrate\t{rate * rate / 1e3 * files}\n"
            f"l:size\t{moved}\nl:tasks\t{files}\nl:time\t{2000 * files}\n"
        ).encode()
        way = {"write": "WRITTEN", "append": "WRITTEN", "read": "READ"}.get(test)
        return job_run(phase, 10.0, {_MOVED + way: moved + 100} if way else {})

    @staticmethod
    def _after(test: str, before: bytes, size: int) -> bytes:
        if test in ("read", "truncate"):
            return before[:size] if test == "truncate" else before
        return bytes(size) if test == "write" else before + bytes(size)

    def _sum(self, folder: str) -> int:
        files = [data for path, data in self.data.items() if path.startswith(f"{folder}/")]
        return sum(
            zlib.crc32(data[i : i + 100]) for data in files for i in range(0, len(data), 100)
        )

    def list_files(self, path: str) -> list[FileStatus]:
        held = [*self.data.items(), *self.texts.items()]
        return [
            FileStatus(name, len(data), self.copies)
            for name, data in held
            if name.rpartition("/")[0] == path
        ]

    def read(self, path: str, limit_bytes: int = 1 << 20) -> bytes:
        return self.texts[path][:limit_bytes]

    def delete(self, path: str) -> None:
        for held in (self.data, self.texts):
            for name in [n for n in held if n.startswith(f"{path}/")]:
                del held[name]


def flipped(data: bytes, place: int) -> bytes:
    """The bytes with one bit changed."""
    changed: Any = bytearray(data)
    changed[place] ^= 1
    return bytes(changed)
