"""Small files: create, list and delete many of them. What the NameNode does, not the disks.

The files are made on the client's disk before anything is timed. Each trial copies them into a
folder of HDFS, lists that folder several times and deletes it. A trial is valid if every listing
was complete, if files that are read back have the bytes that were made, and if nothing is left.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import Field, PositiveInt

from windtunnel.cluster import ByteSize, Cluster
from windtunnel.engines.deployment import Deployment, FileStatus, JobRun
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.record import Phase, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters, Workload
from windtunnel.workloads.own_metrics import with_rate
from windtunnel.workloads.verdicts import check, verdict
from windtunnel_small_files import make_files

FILE_RATE = MetricInfo(
    "small_file_rate",
    "1/s",
    "files that were created, listed or deleted, per second of the phase",
    "number of files, elapsed time of the phase",
    better="more",
)
_READ_BACK = 20


class SmallFilesParameters(Parameters):
    """Parameters of ``small-files``."""

    amounts: ClassVar[tuple[str, ...]] = ("files",)

    files: PositiveInt = Field(description="Files of one folder.", le=5000)
    file_size: ByteSize = Field("1 kB", description="Bytes of each file.", validate_default=True)
    replication: PositiveInt = Field(description="Replicas of each block.")
    listings: PositiveInt = Field(10, description="How often the folder is listed.")


class SmallFiles(Workload[SmallFilesParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "small-files"
    summary: ClassVar[str] = "create, list and delete many small files (NameNode)"
    about: ClassVar[About] = About(
        stresses="the NameNode: its locks and its edit log",
        metrics=(FILE_RATE,),
        example="examples/plugin/study.yaml",
    )

    def phases(self) -> tuple[str, ...]:
        """Each timed by itself."""
        return ("create", "list", "delete")

    def check(self, cluster: Cluster) -> list[str]:
        """Replication cannot exceed the number of DataNodes."""
        datanodes, wanted = cluster.role_counts().get("datanode", 0), self.parameters.replication
        if wanted <= datanodes:
            return []
        return [
            f"workloads.{self.name}.replication is {wanted}, "
            f"but the cluster has {datanodes} datanodes"
        ]

    def data_bytes(self) -> int:
        """Bytes of all files, one replica."""
        return self.parameters.files * int(self.parameters.file_size)

    def demands(self, phase: str, workers: int) -> Demand:
        """Only creating files moves bytes that are worth counting."""
        moved = float(self.data_bytes() * self.parameters.replication)
        return Demand(0.0, moved, moved) if phase == "create" else Demand()

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Make the files on the client's disk, if an earlier trial has not."""
        made = self._made(deployment)
        if not made.is_dir():
            size = int(self.parameters.file_size)
            self._run(deployment, execution, str(made), str(self.parameters.files), str(size))

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run one phase; raises TrialInvalidError if it fails."""
        if phase == "create":
            run = self._create(deployment, execution)
        elif phase == "list":
            run = self._list(deployment, execution)
        else:
            run = _timed("delete", lambda: deployment.files.delete(self._folder(execution)))
        times = self.parameters.listings if phase == "list" else 1
        return with_rate(run, FILE_RATE, self.parameters.files * times)

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if every listing was complete, the bytes are those made, and nothing is left."""
        wanted = self.parameters
        size = int(wanted.file_size)
        found = json.loads(execution.runs["list"].output)
        content = b"".join(make_files.content_of(n, size) for n in self._read_back())
        everything = f"{wanted.files} files, {self.data_bytes()} bytes"
        copied = f"{everything}, replication {wanted.replication}"
        left = deployment.files.list_files(self._folder(execution))
        checks = [
            check("each listing", copied, "; ".join(sorted(set(found["listings"])))),
            check("SHA-256 of files read back", _digest(content), found["digest"]),
            check("files left after the deletion", "0", str(len(left))),
        ]
        return verdict(checks)

    def _create(self, deployment: Deployment, execution: Execution) -> JobRun:
        made, wanted = self._made(deployment), self.parameters
        run = deployment.put(
            [made / make_files.name_of(number) for number in range(wanted.files)],
            self._folder(execution),
            replication=wanted.replication,
            deadline_s=execution.deadline_s,
        )
        return replace(run, phase=run.phase.model_copy(update={"name": "create"}))

    def _list(self, deployment: Deployment, execution: Execution) -> JobRun:
        folder, files = self._folder(execution), deployment.files
        listings: list[list[FileStatus]] = []
        run = _timed(
            "list",
            lambda: listings.extend(
                files.list_files(folder) for _ in range(self.parameters.listings)
            ),
        )
        # not timed: the phase is over
        said = []
        for held in listings:
            replicas = "/".join(sorted({str(file.replication) for file in held}))
            total = sum(file.length_bytes for file in held)
            said.append(f"{len(held)} files, {total} bytes, replication {replicas}")
        names = (make_files.name_of(number) for number in self._read_back())
        content = b"".join(files.read(f"{folder}/{name}") for name in names)
        return replace(run, output=json.dumps({"listings": said, "digest": _digest(content)}))

    def _read_back(self) -> range:
        """Numbers of the files that are read back: some of all, evenly."""
        return range(0, self.parameters.files, max(1, self.parameters.files // _READ_BACK))

    def _made(self, deployment: Deployment) -> Path:
        wanted = self.parameters
        return deployment.client_folder / f"small-files-{wanted.files}-{int(wanted.file_size)}"

    def _folder(self, execution: Execution) -> str:
        return f"{execution.folder}/small-files"

    def _run(self, deployment: Deployment, execution: Execution, *words: str) -> None:
        program = Path(make_files.__file__)
        argv = [sys.executable, "-P", str(program), *words]
        # processes of a cluster have an account of their own: it must be let read the program
        deployment.run_on_client(
            "small-files", argv, deadline_s=execution.deadline_s, reads=[program]
        )


def _timed(name: str, work: Callable[[], object]) -> JobRun:
    """The phase that a call takes."""
    started_at, began = time.time(), time.monotonic()
    work()
    elapsed_s = time.monotonic() - began
    phase = Phase(
        name=name,
        started_at=started_at,
        finished_at=started_at + elapsed_s,
        elapsed_s=elapsed_s,
        wall_s=elapsed_s,
        metrics={},
    )
    return JobRun(phase, {})


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
