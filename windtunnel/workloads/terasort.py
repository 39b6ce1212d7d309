"""The TeraSort family: TeraGen, TeraSort and TeraValidate as three timed phases.

Rows are 100 bytes. TeraValidate's job succeeds even when it found errors, so its report
is read: it must hold nothing but the checksum, and that must equal the one that TeraGen
counted while it wrote (Hadoop's ``TeraGen`` keeps the low 64 bits of the 128-bit sum).
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.record import Check, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters
from windtunnel.workloads.figures import with_rate
from windtunnel.workloads.rows import (
    PACKAGE,
    ROW_BYTES,
    RowParameters,
    check_checksum,
    check_files,
    check_rows,
    generate,
    misfits,
    read_all,
)
from windtunnel.workloads.verdicts import check, verdict

_ROWS = {
    "teragen": "MAP_OUTPUT_RECORDS",
    "terasort": "REDUCE_OUTPUT_RECORDS",
    "teravalidate": "MAP_INPUT_RECORDS",
}


class TeraSortParameters(RowParameters):
    """Parameters of ``terasort``."""

    input_replication: PositiveInt = Field(description="Replicas of each input block.")
    output_replication: PositiveInt = Field(
        description="Replicas of each output block (Hadoop's own default: 1)."
    )
    reduces: PositiveInt | None = Field(
        None, description="Reduce tasks of TeraSort; left out: mapreduce.job.reduces decides."
    )
    reuse_input: bool = Field(
        False, description="Generate the input once per deployment; TeraGen is then no phase."
    )


class TeraSort:
    """See the module's docstring."""

    name: ClassVar[str] = "terasort"
    summary: ClassVar[str] = "generate, sort and validate rows of 100 bytes (disk, network, CPU)"
    about: ClassVar[About] = About(
        stresses="everything: processors, disks, network, memory of map and reduce tasks",
        metrics={"data_rate": "bytes of the data set per second of the phase's job"},
        example="demo",
    )
    parameters_type: ClassVar[type[Parameters]] = TeraSortParameters
    # every trial has a workload object of its own: what is on which deployment is known to all
    _inputs: ClassVar[dict[str, JobRun]] = {}

    def __init__(self, parameters: Parameters) -> None:
        assert isinstance(parameters, TeraSortParameters)
        self.parameters = parameters

    def phases(self) -> tuple[str, ...]:
        """TeraGen is a phase unless its output is used again."""
        timed = ("terasort", "teravalidate")
        return timed if self.parameters.reuse_input else ("teragen", *timed)

    def check(self, cluster: Cluster) -> list[str]:
        """YARN must be there; replication cannot exceed the number of DataNodes."""
        wanted = {
            "input_replication": self.parameters.input_replication,
            "output_replication": self.parameters.output_replication,
        }
        return misfits(self.name, cluster, wanted)

    def data_bytes(self) -> int:
        """Bytes of the data set."""
        return self.parameters.row_count * ROW_BYTES

    def demands(self, phase: str, workers: int) -> Demand:
        """Bytes written, read and sent: replication beyond the first copy and the shuffle travel.

        The first replica is written where the task runs; of the shuffle, the share
        (N-1)/N crosses the network.
        """
        size = float(self.data_bytes())
        remote = (workers - 1) / workers
        copies_in = self.parameters.input_replication
        copies_out = self.parameters.output_replication
        if phase == "teragen":
            return Demand(0.0, size * copies_in, size * (copies_in - 1))
        if phase == "terasort":
            # Map output is spilled and read once more on its way to the reducers.
            sent = size * remote + size * (copies_out - 1)
            return Demand(2 * size, size * (1 + copies_out), sent)
        return Demand(size, 0.0, 0.0)

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Generate the shared input, if the study uses it again and it is not there yet."""
        key = self._input_key(deployment, execution)
        if self.parameters.reuse_input and key not in self._inputs:
            deployment.files.delete(self._input(execution))
            self._inputs[key] = self._generate(deployment, execution)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run one phase; raises TrialInvalidError if its job fails."""
        if phase == "teragen":
            run = self._generate(deployment, execution)
            return with_rate(run, "data_rate", self.data_bytes(), "bytes/s")
        if phase == "terasort":
            settings = {
                "mapreduce.terasort.output.replication": str(self.parameters.output_replication)
            }
            if self.parameters.reduces:
                settings["mapreduce.job.reduces"] = str(self.parameters.reduces)
            argv = [f"{PACKAGE}.TeraSort", self._input(execution), self._output(execution)]
        else:
            settings = {}
            argv = [f"{PACKAGE}.TeraValidate", self._output(execution), self._report(execution)]
        run = deployment.run_job(phase, argv, settings, deadline_s=execution.deadline_s)
        return with_rate(run, "data_rate", self.data_bytes(), "bytes/s")

    def _generate(self, deployment: Deployment, execution: Execution) -> JobRun:
        copies = self.parameters.input_replication
        folder = self._input(execution)
        return generate(self.parameters, copies, folder, deployment, execution.deadline_s)

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if checksums, rows, bytes and replication are what they must be."""
        runs, wanted = dict(execution.runs), self.parameters
        if wanted.reuse_input:
            runs["teragen"] = self._inputs[self._input_key(deployment, execution)]
        report = read_all(deployment, self._report(execution))
        rows = [row.split("\t") for row in report.splitlines()]
        sums = [row[1] for row in rows if len(row) > 1 and row[0] == "checksum"]
        size, copies = self.data_bytes(), (wanted.input_replication, wanted.output_replication)
        files = [
            deployment.files.list_files(folder)
            for folder in (self._input(execution), self._output(execution))
        ]
        checks = [
            _check_report(report),
            check_checksum("the output", sums, runs["teragen"]),
            *(check_rows(name, runs[name], key, wanted.row_count) for name, key in _ROWS.items()),
            check_files("input", files[0], size, copies[0]),
            check_files("output", files[1], size, copies[1]),
        ]
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder; a shared input stays."""
        deployment.files.delete(execution.folder)

    def _input_key(self, deployment: Deployment, execution: Execution) -> str:
        return f"{deployment.id} {self._input(execution)}"

    def _input(self, execution: Execution) -> str:
        if not self.parameters.reuse_input:
            return f"{execution.folder}/input"
        size = f"{self.parameters.row_count}-{self.parameters.input_replication}"
        return f"{execution.shared}/terasort-{size}-{self.parameters.maps or 'default'}"

    def _output(self, execution: Execution) -> str:
        return f"{execution.folder}/output"

    def _report(self, execution: Execution) -> str:
        return f"{execution.folder}/report"


def _check_report(report: str) -> Check:
    """TeraValidate's report holds one line, the checksum; every other line is an error."""
    rows = [row for row in report.splitlines() if row and not row.startswith("checksum\t")]
    got = "no errors" if not rows else f"{len(rows)} error lines, first: {rows[0][:160]}"
    return check("order (TeraValidate's report)", "no errors", got)
