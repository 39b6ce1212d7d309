"""TeraGen alone: map tasks write rows of 100 bytes, with replicas. Network and disks.

Hadoop's TeraChecksum reads the rows back, untimed. Its sum must equal the checksum that TeraGen
counted during the write.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.record import Verdict
from windtunnel.workloads.base import About, Demand, Execution, Workload
from windtunnel.workloads.copies import misfits
from windtunnel.workloads.own_metrics import with_metrics, with_rate
from windtunnel.workloads.plain_text import UNCOMPRESSED
from windtunnel.workloads.terasort.rows import (
    PACKAGE,
    PLACEMENT,
    ROW_BYTES,
    RowParameters,
    check_checksum,
    check_files,
    check_rows,
    generate,
    placement,
    read_all,
    written_with,
)
from windtunnel.workloads.verdicts import verdict

_LEAST_SPLIT = "mapreduce.input.fileinputformat.split.minsize"
WRITE_RATE = MetricInfo(
    "write_rate",
    "bytes/s",
    "bytes of the data set, one replica, per second of the phase",
    "size of the data set, elapsed time of the phase",
    better="more",
)


class TeraGenParameters(RowParameters):
    """Parameters of ``teragen``."""

    replication: PositiveInt = Field(description="Replicas of each block.")


class TeraGen(Workload[TeraGenParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "teragen"
    summary: ClassVar[str] = "write rows of 100 bytes with replicas (disk, network)"
    about: ClassVar[About] = About(
        stresses="disks (writing) and, with replicas, the network",
        metrics=(WRITE_RATE, *PLACEMENT),
        example="teragen-model",
    )

    def phases(self) -> tuple[str, ...]:
        """TeraGen's job."""
        return ("teragen",)

    def check(self, cluster: Cluster) -> list[str]:
        """The cluster must have YARN, and at least as many DataNodes as replicas."""
        return misfits(self.name, cluster, {"replication": self.parameters.replication})

    def data_bytes(self) -> int:
        """Bytes of the data set, one replica."""
        return self.parameters.row_count * ROW_BYTES

    def demands(self, phase: str, workers: int) -> Demand:
        """Bytes written and sent; the first replica is written to the task's own host."""
        size, copies = float(self.data_bytes()), self.parameters.replication
        return Demand(0.0, size * copies, size * (copies - 1))

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Nothing to prepare."""

    def job_settings(self) -> Iterable[tuple[str, str]]:
        """Those of TeraGen and TeraChecksum."""
        return [*written_with(self.parameters.replication).items(), *UNCOMPRESSED.items()]

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Write the rows; raises TrialInvalidError if the job fails."""
        folder, copies = f"{execution.folder}/rows", self.parameters.replication
        run = generate(self.parameters, copies, folder, deployment, execution.deadline_s)
        run = with_metrics(run, placement(deployment, folder))
        return with_rate(run, WRITE_RATE, self.data_bytes())

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if checksum, rows, bytes and replication are as expected."""
        rows, sums = f"{execution.folder}/rows", f"{execution.folder}/checksum"
        run, wanted = execution.runs["teragen"], self.parameters
        argv = [f"{PACKAGE}.TeraChecksum", rows, sums]
        # one task per file, not per block
        settings = {_LEAST_SPLIT: str(self.data_bytes()), **UNCOMPRESSED}
        deployment.run_job("terachecksum", argv, settings, deadline_s=execution.deadline_s)
        checks = [
            check_checksum("the rows read back", read_all(deployment, sums).split(), run),
            check_rows("teragen", run, "MAP_OUTPUT_RECORDS", wanted.row_count),
            check_files(
                "rows",
                deployment.files.list_files(rows),
                self.data_bytes(),
                deployment.expected_copies(wanted.replication),
            ),
        ]
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder."""
        deployment.files.delete(execution.folder)
