"""Metadata: many small files are created, looked up, listed, renamed and deleted.

Several threads of one client call Hadoop's FileSystem, so that the operations are the same on every
storage. The times are those of the operations: the start of the client's JVM does not count.

A trial is valid if each phase did all its operations, and if afterwards the file system lists
exactly the expected names. An object store has no folders, and its rename copies the object.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.engine import own_programs
from windtunnel.engines.hadoop.program import run_own_client
from windtunnel.errors import TrialInvalidError
from windtunnel.results.metrics import MetricInfo, numbers
from windtunnel.results.record import Check, Phase, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters, Workload
from windtunnel.workloads.verdicts import check, verdict

_MAIN = "io.windtunnel.files.MetadataLoad"
_PHASES = ("create", "stat", "list", "rename", "delete")
_MOST_FILES, _MOST_BYTES = 10_000_000, 1 << 20
_CLOCK = "clock of the client"

OPERATION_RATE = MetricInfo(
    "operation_rate",
    "1/s",
    "operations per second of the phase; one listing of a folder is one operation",
    "number of operations, elapsed time of the phase",
    better="more",
)
OPERATION_P50 = MetricInfo(
    "operation_p50", "ms", "median latency of an operation", _CLOCK, better="less"
)
OPERATION_P99 = MetricInfo(
    "operation_p99", "ms", "99th percentile of the latency of an operation", _CLOCK, better="less"
)
MEMORY_PER_FILE = MetricInfo(
    "memory_per_file",
    "bytes",
    "memory of the NameNode for each file (MB for a million files): the growth of the live objects "
    "on its heap",
    "histogram of the NameNode's heap before and after the phase",
    better="less",
    additive=False,
)


class MetadataParameters(Parameters):
    """Parameters of ``metadata``."""

    amounts: ClassVar[tuple[str, ...]] = ("files",)

    files: PositiveInt = Field(description="Files.", le=_MOST_FILES)
    files_per_folder: PositiveInt = Field(1000, description="Files of each folder.")
    file_bytes: int = Field(0, ge=0, le=_MOST_BYTES, description="Bytes of each file.")
    threads: PositiveInt = Field(8, le=256, description="Threads of the client.")
    listings: PositiveInt = Field(5, le=1000, description="How often each folder is listed.")

    def own_program(self) -> bool:
        """The client is a program of Windtunnel."""
        return True


class Metadata(Workload[MetadataParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "metadata"
    summary: ClassVar[str] = "create, look up, list, rename and delete many small files"
    about: ClassVar[About] = About(
        stresses="the metadata of the storage: the NameNode, or its counterpart in Ceph",
        metrics=(OPERATION_RATE, OPERATION_P50, OPERATION_P99, MEMORY_PER_FILE),
        example="metadata",
    )

    def phases(self) -> tuple[str, ...]:
        """Each kind of operation is a phase."""
        return _PHASES

    def phases_without_progress(self) -> tuple[str, ...]:
        """All: the client reports when it has ended."""
        return _PHASES

    def check(self, cluster: Cluster) -> list[str]:
        """Every storage can run it."""
        return []

    def data_bytes(self) -> int:
        """Bytes of all files, one replica."""
        return self.parameters.files * self.parameters.file_bytes

    def demands(self, phase: str, workers: int) -> Demand:
        """Only the creation moves data, one replica of which is counted."""
        moved = float(self.data_bytes()) if phase == "create" else 0.0
        return Demand(0.0, moved, moved)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run the operations of a phase; raises TrialInvalidError if one of them fails."""
        wanted = self.parameters
        words = [
            phase,
            f"{execution.folder}/metadata",
            *map(str, (wanted.files, wanted.files_per_folder, wanted.threads)),
            *map(str, (wanted.file_bytes, wanted.listings)),
        ]
        hadoop = own_programs(deployment)
        storage = hadoop.daemons.storage
        before = storage.metadata_memory() if phase == _PHASES[0] else None
        text, wall_s = run_own_client(hadoop, phase, _MAIN, words, execution.deadline_s)
        run = _run(phase, _answer(phase, text), wall_s)
        after = storage.metadata_memory() if before is not None else None
        if before is not None and after is not None and after.pid == before.pid:
            per_file = (after.used_bytes - before.used_bytes) / self.parameters.files
            run.phase.metrics.update(numbers({MEMORY_PER_FILE: per_file}))
        return run

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if all operations were done and the file system lists the expected names."""
        found = {phase: json.loads(execution.runs[phase].output) for phase in _PHASES}
        return verdict([c for phase in _PHASES for c in self._checks(phase, found[phase])])

    def _checks(self, phase: str, found: dict[str, Any]) -> list[Check]:
        wanted = self.parameters
        folders = -(-wanted.files // wanted.files_per_folder)
        operations = folders * wanted.listings if phase == "list" else wanted.files
        before = phase in ("create", "stat", "list")
        names = (wanted.files if before else 0, wanted.files if phase == "rename" else 0)
        made = [
            check(f"{phase}: operations", str(operations), str(found["operations"])),
            check(
                f"{phase}: names afterwards",
                "{} old, {} new".format(*names),
                f"{found['old_names']} old, {found['new_names']} new",
            ),
        ]
        times = {"stat": 1, "list": wanted.listings}.get(phase)
        if times is not None:
            made.append(
                check(
                    f"{phase}: files and their bytes",
                    f"{wanted.files * times} files, {self.data_bytes() * times} bytes",
                    f"{found['files']} files, {found['bytes']} bytes",
                )
            )
        return made


def _answer(phase: str, text: str) -> dict[str, Any]:
    """The line of the client; raises TrialInvalidError without one."""
    lines = [line for line in text.splitlines() if line.startswith('{"operation"')]
    if len(lines) != 1:
        raise TrialInvalidError(f"{phase} printed {len(lines)} results instead of one")
    found: dict[str, Any] = json.loads(lines[0])
    return found


def _run(phase: str, found: dict[str, Any], wall_s: float) -> JobRun:
    started_at, elapsed_s = found["started_at_ms"] / 1e3, found["elapsed_ns"] / 1e9
    metrics = numbers(
        {
            OPERATION_RATE: found["operations"] / elapsed_s,
            OPERATION_P50: found["p50_ns"] / 1e6,
            OPERATION_P99: found["p99_ns"] / 1e6,
        }
    )
    record = Phase(
        name=phase,
        started_at=started_at,
        finished_at=started_at + elapsed_s,
        elapsed_s=elapsed_s,
        wall_s=wall_s,
        metrics=metrics,
    )
    return JobRun(record, {}, output=json.dumps(found))
