"""TeraGen alone: rows of 100 bytes written by map tasks, with replicas. Network and disks.

The rows are read back by Hadoop's TeraChecksum, which is not timed: what it sums must equal
what TeraGen counted while it wrote.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.record import Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters
from windtunnel.workloads.figures import with_metrics, with_rate
from windtunnel.workloads.rows import (
    PACKAGE,
    ROW_BYTES,
    RowParameters,
    check_checksum,
    check_files,
    check_rows,
    generate,
    misfits,
    placement,
    read_all,
)
from windtunnel.workloads.verdicts import verdict

_LEAST_SPLIT = "mapreduce.input.fileinputformat.split.minsize"


class TeraGenParameters(RowParameters):
    """Parameters of ``teragen``."""

    replication: PositiveInt = Field(description="Replicas of each block.")


class TeraGen:
    """See the module's docstring."""

    name: ClassVar[str] = "teragen"
    summary: ClassVar[str] = "write rows of 100 bytes with replicas (disk, network)"
    about: ClassVar[About] = About(
        stresses="disks (writing) and, with replicas, the network",
        metrics={
            "write_rate": "bytes of the data set, one copy, per second of the job",
            "machines_per_block": "physical hosts that hold a block, on average",
            "blocks_on_one_machine": "share of blocks that one physical host alone holds",
        },
        example="teragen-model",
    )
    parameters_type: ClassVar[type[Parameters]] = TeraGenParameters

    def __init__(self, parameters: Parameters) -> None:
        assert isinstance(parameters, TeraGenParameters)
        self.parameters = parameters

    def phases(self) -> tuple[str, ...]:
        """Writing."""
        return ("teragen",)

    def check(self, cluster: Cluster) -> list[str]:
        """YARN must be there; replication cannot exceed the number of DataNodes."""
        return misfits(self.name, cluster, {"replication": self.parameters.replication})

    def data_bytes(self) -> int:
        """Bytes of the data set, one copy."""
        return self.parameters.row_count * ROW_BYTES

    def demands(self, phase: str, workers: int) -> Demand:
        """Bytes written and sent: the first replica is written where the task runs."""
        size, copies = float(self.data_bytes()), self.parameters.replication
        return Demand(0.0, size * copies, size * (copies - 1))

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Nothing to prepare."""

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Write the rows; raises TrialInvalidError if the job fails."""
        folder, copies = f"{execution.folder}/rows", self.parameters.replication
        run = generate(self.parameters, copies, folder, deployment, execution.deadline_s)
        run = with_metrics(run, placement(deployment, folder))
        return with_rate(run, "write_rate", self.data_bytes(), "bytes/s")

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if the checksum read back, rows, bytes and replication are what they must be."""
        rows, sums = f"{execution.folder}/rows", f"{execution.folder}/checksum"
        run, wanted = execution.runs["teragen"], self.parameters
        argv = [f"{PACKAGE}.TeraChecksum", rows, sums]
        whole_files = {_LEAST_SPLIT: str(self.data_bytes())}  # not a task for each small block
        deployment.run_job("terachecksum", argv, whole_files, deadline_s=execution.deadline_s)
        checks = [
            check_checksum("the rows read back", read_all(deployment, sums).split(), run),
            check_rows("teragen", run, "MAP_OUTPUT_RECORDS", wanted.row_count),
            check_files(
                "rows", deployment.files.list_files(rows), self.data_bytes(), wanted.replication
            ),
        ]
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder."""
        deployment.files.delete(execution.folder)
