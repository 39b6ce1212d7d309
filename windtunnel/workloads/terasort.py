"""The TeraSort family: TeraGen, TeraSort and TeraValidate as three timed phases.

Rows are 100 bytes. TeraValidate's job succeeds even when it found errors, so its report
is read: it must hold nothing but the checksum, and that must equal the one that TeraGen
counted while it wrote (Hadoop's ``TeraGen`` keeps the low 64 bits of the 128-bit sum).
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import ByteSize, Cluster
from windtunnel.engines.deployment import Deployment, FileStatus, JobRun
from windtunnel.results.record import Check, Verdict
from windtunnel.workloads.base import Demand, Execution, Parameters

ROW_BYTES = 100
_PACKAGE = "org.apache.hadoop.examples.terasort"
_CHECKSUM = f"{_PACKAGE}.TeraGen$Counters:CHECKSUM"
_TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_LOW_64_BITS = (1 << 64) - 1


class TeraSortParameters(Parameters):
    """Parameters of ``terasort``."""

    amounts: ClassVar[tuple[str, ...]] = ("size", "rows")

    size: ByteSize | None = Field(None, description="Data set, rounded down to rows of 100 bytes.")
    rows: PositiveInt | None = Field(None, description="Data set in rows; instead of size.")
    input_replication: PositiveInt = Field(description="Replicas of each input block.")
    output_replication: PositiveInt = Field(
        description="Replicas of each output block (Hadoop's own default: 1)."
    )
    maps: PositiveInt | None = Field(
        None, description="Map tasks of TeraGen; left out: mapreduce.job.maps decides."
    )
    reduces: PositiveInt | None = Field(
        None, description="Reduce tasks of TeraSort; left out: mapreduce.job.reduces decides."
    )
    reuse_input: bool = Field(
        False, description="Generate the input once per deployment; TeraGen is then no phase."
    )

    @model_validator(mode="after")
    def _one_size(self) -> TeraSortParameters:
        if (self.size is None) == (self.rows is None):
            raise ValueError("give either size or rows, and only one of them")
        if self.row_count < 1:
            raise ValueError("size must be at least one row of 100 bytes")
        return self

    @property
    def row_count(self) -> int:
        """Rows of the data set."""
        return self.rows if self.rows is not None else int(self.size or 0) // ROW_BYTES


class TeraSort:
    """See the module's docstring."""

    name: ClassVar[str] = "terasort"
    summary: ClassVar[str] = "generate, sort and validate rows of 100 bytes (disk, network, CPU)"
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
        roles = cluster.role_counts()
        if not roles.get("nodemanager"):
            return ["workloads.terasort needs YARN, and the cluster has no nodemanagers"]
        datanodes = roles.get("datanode", 0)
        wanted = {
            "input_replication": self.parameters.input_replication,
            "output_replication": self.parameters.output_replication,
        }
        return [
            f"workloads.terasort.{name} is {value}, but the cluster has {datanodes} datanodes"
            for name, value in wanted.items()
            if value > datanodes
        ]

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
            return self._generate(deployment, execution)
        if phase == "terasort":
            settings = {
                "mapreduce.terasort.output.replication": str(self.parameters.output_replication)
            }
            if self.parameters.reduces:
                settings["mapreduce.job.reduces"] = str(self.parameters.reduces)
            argv = [f"{_PACKAGE}.TeraSort", self._input(execution), self._output(execution)]
        else:
            settings = {}
            argv = [f"{_PACKAGE}.TeraValidate", self._output(execution), self._report(execution)]
        return deployment.run_job(phase, argv, settings, deadline_s=execution.deadline_s)

    def _generate(self, deployment: Deployment, execution: Execution) -> JobRun:
        settings = {"dfs.replication": str(self.parameters.input_replication)}
        if self.parameters.maps:
            settings["mapreduce.job.maps"] = str(self.parameters.maps)
        argv = [f"{_PACKAGE}.TeraGen", str(self.parameters.row_count), self._input(execution)]
        return deployment.run_job("teragen", argv, settings, deadline_s=execution.deadline_s)

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if checksums, rows, bytes and replication are what they must be."""
        runs = dict(execution.runs)
        if self.parameters.reuse_input:
            runs["teragen"] = self._inputs[self._input_key(deployment, execution)]
        report = "".join(
            deployment.files.read(file.path).decode(errors="replace")
            for file in deployment.files.list_files(self._report(execution))
            if file.length_bytes
        )
        generated = runs["teragen"].counters.get(_CHECKSUM)
        checks = [
            _check_report(report),
            _check_checksum(report, generated),
            *self._check_rows(runs),
            self._check_files("input", deployment.files.list_files(self._input(execution))),
            self._check_files("output", deployment.files.list_files(self._output(execution))),
        ]
        failed = [check for check in checks if not check.passed]
        reason = "; ".join(f"{c.name}: expected {c.expected}, got {c.got}" for c in failed)
        return Verdict(valid=not failed, reason=reason, checks=checks)

    def _check_rows(self, runs: dict[str, JobRun]) -> list[Check]:
        wanted = self.parameters.row_count
        counters = {
            "teragen": "MAP_OUTPUT_RECORDS",
            "terasort": "REDUCE_OUTPUT_RECORDS",
            "teravalidate": "MAP_INPUT_RECORDS",
        }
        checks = []
        for phase, counter in counters.items():
            got = runs[phase].counters.get(f"{_TASK}:{counter}", 0)
            checks.append(_check(f"rows of {phase}", str(wanted), str(got)))
        return checks

    def _check_files(self, which: str, files: list[FileStatus]) -> Check:
        copies = {
            "input": self.parameters.input_replication,
            "output": self.parameters.output_replication,
        }[which]
        parts = [file for file in files if "/part-" in file.path]
        wanted = f"{self.data_bytes()} bytes with replication {copies}"
        total = sum(file.length_bytes for file in parts)
        found = sorted({file.replication for file in parts if file.length_bytes})
        replication = "/".join(map(str, found)) or "none"
        return _check(f"{which} on HDFS", wanted, f"{total} bytes with replication {replication}")

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


def _check(name: str, expected: str, got: str) -> Check:
    return Check(name=name, passed=expected == got, expected=expected, got=got)


def _check_report(report: str) -> Check:
    """TeraValidate's report holds one line, the checksum; every other line is an error."""
    rows = [row for row in report.splitlines() if row and not row.startswith("checksum\t")]
    got = "no errors" if not rows else f"{len(rows)} error lines, first: {rows[0][:160]}"
    return _check("order (TeraValidate's report)", "no errors", got)


def _check_checksum(report: str, generated: int | None) -> Check:
    wanted = "unknown" if generated is None else f"{generated & _LOW_64_BITS:x}"
    found = [row.split("\t")[1] for row in report.splitlines() if row.startswith("checksum\t")]
    got = "none"
    if len(found) == 1:
        try:
            got = f"{int(found[0], 16) & _LOW_64_BITS:x}"
        except ValueError:
            got = f"no number: {found[0][:40]}"
    check = _check("checksum of the output against TeraGen's", wanted, got)
    return check if generated is not None else check.model_copy(update={"passed": False})
