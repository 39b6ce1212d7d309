"""TestDFSIO: each map task writes, reads, appends to or truncates one file. Disks and network.

TestDFSIO is Hadoop's benchmark of its file system (``org.apache.hadoop.fs.TestDFSIO``). It does
not verify the data that it reads. At the end, Hadoop's TeraChecksum therefore reads all files once
more, untimed, and sums the CRC-32 of every 100 bytes. The expected sum is known, because every byte
that TestDFSIO writes is 0. (Its source has a pattern, ``'0' + i % 50``, but it fills the buffer
before it assigns the pattern; this applies to Hadoop 3.4 and 3.5.)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import ByteSize, Cluster
from windtunnel.engines.deployment import Deployment, JobRun, found_copies
from windtunnel.engines.engine import HadoopCluster
from windtunnel.results.record import Check, Verdict
from windtunnel.workloads.base import WARM, About, Demand, Execution, Parameters, Workload
from windtunnel.workloads.copies import misfits
from windtunnel.workloads.dfsio.result import COUNTED, METRICS, io_metrics, totals
from windtunnel.workloads.plain_text import UNCOMPRESSED
from windtunnel.workloads.terasort.rows import PACKAGE, ROW_BYTES, read_all
from windtunnel.workloads.verdicts import check, verdict

_HDFS = "hdfs"
_MAIN = "org.apache.hadoop.fs.TestDFSIO"
_FOLDER = "test.build.data"
_LEAST_SPLIT = "mapreduce.input.fileinputformat.split.minsize"
_MOVED = "org.apache.hadoop.mapreduce.FileSystemCounter:HDFS_BYTES_"
_ZEROS = zlib.crc32(bytes(ROW_BYTES))
_LEAST_FILE = 10 * ROW_BYTES
_LARGEST_BUFFER = (1 << 31) - 1
READ_WARM = f"read{WARM}"


class DfsioParameters(Parameters):
    """Parameters of ``dfsio``."""

    amounts: ClassVar[tuple[str, ...]] = ("file_size",)

    files: PositiveInt = Field(description="Files, one per map task.")
    file_size: ByteSize = Field(description="Bytes of each file, rounded down to whole hundreds.")
    replication: PositiveInt = Field(description="Replicas of each block.")
    buffer: ByteSize = Field(
        "1 MB",
        validate_default=True,
        description="Bytes of each call to write or read (default: that of TestDFSIO).",
    )
    warm_read: bool = Field(
        False, description="Read a second time, with the caches as the first read left them."
    )
    append: bool = Field(False, description="Append file_size to each file.")
    truncate: bool = Field(False, description="Truncate each file to three quarters of its length.")

    @model_validator(mode="after")
    def _enough(self) -> DfsioParameters:
        if self.file_size < _LEAST_FILE:
            raise ValueError(f"file_size must be at least {_LEAST_FILE} bytes")
        if self.buffer > _LARGEST_BUFFER:
            raise ValueError("buffer must be less than 2 GiB")
        return self

    @property
    def file_bytes(self) -> int:
        """Bytes that are written to each file, and that are appended to it."""
        return int(self.file_size) // ROW_BYTES * ROW_BYTES

    @property
    def appended_bytes(self) -> int:
        """Bytes of each file before it is truncated."""
        return self.file_bytes * (2 if self.append else 1)

    @property
    def kept_bytes(self) -> int:
        """Bytes of each file at the end."""
        whole = self.appended_bytes
        return whole * 3 // 4 // ROW_BYTES * ROW_BYTES if self.truncate else whole


class Dfsio(Workload[DfsioParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "dfsio"
    summary: ClassVar[str] = "write and read files, one per map task (disk, network)"
    about: ClassVar[About] = About(
        stresses="disks, and the network for all but the first replica; hardly any CPU",
        metrics=METRICS,
        example="dfsio",
    )

    def phases(self) -> tuple[str, ...]:
        """Write and read, then the optional phases."""
        wanted = self.parameters
        more = {READ_WARM: wanted.warm_read, "append": wanted.append, "truncate": wanted.truncate}
        return ("write", "read", *(name for name, enabled in more.items() if enabled))

    def check(self, cluster: Cluster) -> list[str]:
        """The cluster must have YARN, and at least as many DataNodes as replicas."""
        found = misfits(self.name, cluster, {"replication": self.parameters.replication})
        code, wanted = cluster.storage.code, self.parameters
        for name, enabled in {"append": wanted.append, "truncate": wanted.truncate}.items():
            if code and enabled:
                found.append(f"workloads.dfsio.{name}: HDFS cannot {name} files with erasure codes")
        return found

    def data_bytes(self) -> int:
        """Bytes of all files, one replica."""
        return self.parameters.files * self.parameters.file_bytes

    def demands(self, phase: str, workers: int) -> Demand:
        """Written: all replicas, the first of them on the task's host. Read: one replica.

        A map runs on any host, and R of N hosts have a replica of its file.
        """
        size, copies = float(self.data_bytes()), self.parameters.replication
        if phase == "truncate":
            return Demand()
        if phase in ("write", "append"):
            return Demand(0.0, size * copies, size * (copies - 1))
        return Demand(size, 0.0, size * max(0.0, 1 - copies / workers))

    def job_settings(self) -> Iterable[tuple[str, str]]:
        """Those of TestDFSIO; its client reads the results as text."""
        return [("dfs.replication", str(self.parameters.replication)), *UNCOMPRESSED.items()]

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Nothing to prepare."""

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run one of TestDFSIO's tests; raises TrialInvalidError if its job fails."""
        test = phase.removesuffix(WARM)
        wanted, folder = self.parameters, _base(execution)
        size = wanted.kept_bytes if phase == "truncate" else wanted.file_bytes
        argv = [_MAIN, f"-{test}", "-nrFiles", str(wanted.files), "-size", f"{size}B"]
        argv += ["-bufferSize", str(int(wanted.buffer))]
        settings = {_FOLDER: folder, **dict(self.job_settings())}
        run = deployment.run_job(phase, argv, settings, deadline_s=execution.deadline_s)
        found = totals(read_all(deployment, f"{folder}/io_{test}"))
        metrics = dict(run.phase.metrics)
        if phase != "truncate":  # truncation moves no data
            metrics |= io_metrics(found, run.phase.elapsed_s)
        return replace(
            run,
            phase=run.phase.model_copy(update={"metrics": metrics}),
            counters={**run.counters, **found},
        )

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if every phase moved all bytes, and all files have the expected content."""
        storage = (
            deployment.cluster.storage.kind if isinstance(deployment, HadoopCluster) else _HDFS
        )
        checks = [
            made for phase in self.phases() for made in self._check_phase(phase, execution, storage)
        ]
        files = self._check_files(deployment, execution)
        checks.append(files)
        if files.passed:  # otherwise the trial is invalid, and the job below may fail
            checks.append(self._check_content(deployment, execution))
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder."""
        deployment.files.delete(execution.folder)

    def _check_phase(self, phase: str, execution: Execution, storage: str) -> list[Check]:
        """Checks of TestDFSIO's own counts and of Hadoop's counters."""
        wanted, counters = self.parameters, execution.runs[phase].counters
        size = self.data_bytes()
        if phase == "truncate":
            size = wanted.files * (wanted.appended_bytes - wanted.kept_bytes)
        counted = [str(counters.get(COUNTED + name, "unknown")) for name in ("tasks", "size")]
        expected = f"{size} bytes of {wanted.files} files"
        checks = [
            check(
                f"{phase} by TestDFSIO's count", expected, "{1} bytes of {0} files".format(*counted)
            )
        ]
        # clients of other storage do not count, or do not count all
        if storage == _HDFS and phase != "truncate":
            way = "WRITTEN" if phase in ("write", "append") else "READ"
            moved = counters.get(_MOVED + way)
            checks.append(
                Check(
                    name=f"{phase} by HDFS_BYTES_{way}",
                    passed=moved is not None and moved >= size,
                    expected=f"at least {size} bytes",
                    got="unknown" if moved is None else f"{moved} bytes",
                )
            )
        return checks

    def _check_files(self, deployment: Deployment, execution: Execution) -> Check:
        held = deployment.files.list_files(f"{_base(execution)}/io_data")
        sizes = "/".join(map(str, sorted({file.length_bytes for file in held}))) or "none"
        wanted = self.parameters
        copies = deployment.expected_copies(wanted.replication)
        return check(
            "stored files",
            f"{wanted.files} files of {wanted.kept_bytes} bytes with {copies}",
            f"{len(held)} files of {sizes} bytes with {found_copies(held)}",
        )

    def _check_content(self, deployment: Deployment, execution: Execution) -> Check:
        """TeraChecksum's sum over all files, compared with the sum over rows of zeros."""
        wanted, sums = self.parameters, f"{execution.folder}/checksum"
        argv = [f"{PACKAGE}.TeraChecksum", f"{_base(execution)}/io_data", sums]
        # one task per file, not per block
        settings = {_LEAST_SPLIT: str(wanted.kept_bytes), **UNCOMPRESSED}
        deployment.run_job("terachecksum", argv, settings, deadline_s=execution.deadline_s)
        rows = wanted.files * wanted.kept_bytes // ROW_BYTES
        found = read_all(deployment, sums).split()
        got = found[0].lstrip("0") if len(found) == 1 else "none"
        return check("checksum of all that was read back", f"{rows * _ZEROS:x}", got)


def _base(execution: Execution) -> str:
    return f"{execution.folder}/dfsio"
