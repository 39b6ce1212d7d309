"""TestDFSIO: each map task writes, reads, appends to or truncates one file. Disks and network.

Hadoop's own benchmark of its file system (``org.apache.hadoop.fs.TestDFSIO``). It does not look
at what it reads. So at the end all files are read once more, untimed, by Hadoop's TeraChecksum,
which sums the CRC-32 of every 100 bytes; what that sum must be is known, since every byte that
TestDFSIO writes is 0. (Its source has a pattern, ``'0' + i % 50``, but fills the buffer before it
is there: seen in Hadoop 3.4 and 3.5.)
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import ClassVar

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import ByteSize, Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.record import Check, Verdict
from windtunnel.workloads.base import WARM, About, Demand, Execution, Parameters
from windtunnel.workloads.dfsio_result import COUNTED, io_metrics, totals
from windtunnel.workloads.rows import PACKAGE, ROW_BYTES, misfits, read_all
from windtunnel.workloads.verdicts import check, verdict

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

    files: PositiveInt = Field(description="Files; each is one map task's.")
    file_size: ByteSize = Field(description="Bytes of each file, rounded down to hundreds.")
    replication: PositiveInt = Field(description="Replicas of each block.")
    buffer: ByteSize = Field(
        "1 MB",
        validate_default=True,
        description="Bytes of each call to write or read (TestDFSIO's own default).",
    )
    warm_read: bool = Field(
        False, description="Read a second time, with the caches as the first time left them."
    )
    append: bool = Field(False, description="Append file_size to each file.")
    truncate: bool = Field(False, description="Cut each file to three quarters of what it holds.")

    @model_validator(mode="after")
    def _enough(self) -> DfsioParameters:
        if self.file_size < _LEAST_FILE:
            raise ValueError(f"file_size must be at least {_LEAST_FILE} bytes")
        if self.buffer > _LARGEST_BUFFER:
            raise ValueError("buffer must be less than 2 GiB")
        return self

    @property
    def file_bytes(self) -> int:
        """Bytes that are written to each file, and appended to it."""
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


class Dfsio:
    """See the module's docstring."""

    name: ClassVar[str] = "dfsio"
    summary: ClassVar[str] = "write and read files, one per map task (disk, network)"
    about: ClassVar[About] = About(
        stresses="disks, and the network for all but the first replica; hardly any CPU",
        metrics={
            "aggregate_throughput": "bytes of all files per second of the job's elapsed time: "
            "what the cluster moved",
            "throughput_per_task": "TestDFSIO's \"Throughput\": bytes over the sum of the tasks' "
            "times, so the rate of one task, not of the cluster",
            "mean_task_rate": "TestDFSIO's \"Average IO rate\": mean of the tasks' rates",
            "task_rate_deviation": 'TestDFSIO\'s "IO rate std deviation": how unlike they are',
            "task_io_time": "seconds in which tasks wrote or read, summed over the tasks",
            "moved": "bytes that the tasks wrote or read, by their own count",
        },
        example="dfsio",
    )
    parameters_type: ClassVar[type[Parameters]] = DfsioParameters

    def __init__(self, parameters: Parameters) -> None:
        assert isinstance(parameters, DfsioParameters)
        self.parameters = parameters

    def phases(self) -> tuple[str, ...]:
        """Writing and reading, then what else is asked for."""
        wanted = self.parameters
        more = {READ_WARM: wanted.warm_read, "append": wanted.append, "truncate": wanted.truncate}
        return ("write", "read", *(name for name, asked in more.items() if asked))

    def check(self, cluster: Cluster) -> list[str]:
        """YARN must be there; replication cannot exceed the number of DataNodes."""
        return misfits(self.name, cluster, {"replication": self.parameters.replication})

    def data_bytes(self) -> int:
        """Bytes of all files, one copy."""
        return self.parameters.files * self.parameters.file_bytes

    def demands(self, phase: str, workers: int) -> Demand:
        """Written: every copy, of which the first stays on the task's host. Read: one copy.

        A map does not run where its file lies, but anywhere: of N hosts R hold a copy.
        """
        size, copies = float(self.data_bytes()), self.parameters.replication
        if phase == "truncate":
            return Demand()
        if phase in ("write", "append"):
            return Demand(0.0, size * copies, size * (copies - 1))
        return Demand(size, 0.0, size * max(0.0, 1 - copies / workers))

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Nothing to prepare."""

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run one of TestDFSIO's tests; raises TrialInvalidError if its job fails."""
        test = phase.removesuffix(WARM)
        wanted, folder = self.parameters, _base(execution)
        size = wanted.kept_bytes if phase == "truncate" else wanted.file_bytes
        argv = [_MAIN, f"-{test}", "-nrFiles", str(wanted.files), "-size", f"{size}B"]
        argv += ["-bufferSize", str(int(wanted.buffer))]
        settings = {_FOLDER: folder, "dfs.replication": str(wanted.replication)}
        run = deployment.run_job(phase, argv, settings, deadline_s=execution.deadline_s)
        found = totals(read_all(deployment, f"{folder}/io_{test}"))
        metrics = dict(run.phase.metrics)
        if phase != "truncate":  # cutting off moves no bytes
            metrics |= io_metrics(found, run.phase.elapsed_s)
        return replace(
            run,
            phase=run.phase.model_copy(update={"metrics": metrics}),
            counters={**run.counters, **found},
        )

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if every phase moved all bytes, and the files hold what they must, byte by byte."""
        checks = [made for phase in self.phases() for made in self._check_phase(phase, execution)]
        files = self._check_files(deployment, execution)
        checks.append(files)
        if files.passed:  # else it is known to be wrong, and the job below may not even end well
            checks.append(self._check_content(deployment, execution))
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder."""
        deployment.files.delete(execution.folder)

    def _check_phase(self, phase: str, execution: Execution) -> list[Check]:
        """What TestDFSIO counted, and what Hadoop's own counters say beside it."""
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
        if phase != "truncate":
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
        sizes, copies = (
            "/".join(map(str, sorted(found))) or "none"
            for found in ({f.length_bytes for f in held}, {f.replication for f in held})
        )
        wanted = self.parameters
        return check(
            "files on HDFS",
            f"{wanted.files} files of {wanted.kept_bytes} bytes with replication "
            f"{wanted.replication}",
            f"{len(held)} files of {sizes} bytes with replication {copies}",
        )

    def _check_content(self, deployment: Deployment, execution: Execution) -> Check:
        """What TeraChecksum finds in all files against the sum over rows of zeros."""
        wanted, sums = self.parameters, f"{execution.folder}/checksum"
        argv = [f"{PACKAGE}.TeraChecksum", f"{_base(execution)}/io_data", sums]
        whole_files = {_LEAST_SPLIT: str(wanted.kept_bytes)}  # not a task for each small block
        deployment.run_job("terachecksum", argv, whole_files, deadline_s=execution.deadline_s)
        rows = wanted.files * wanted.kept_bytes // ROW_BYTES
        found = read_all(deployment, sums).split()
        got = found[0].lstrip("0") if len(found) == 1 else "none"
        return check("checksum of all that was read back", f"{rows * _ZEROS:x}", got)


def _base(execution: Execution) -> str:
    return f"{execution.folder}/dfsio"
