"""The TeraSort family: TeraGen, TeraSort and TeraValidate as three timed phases.

Rows are 100 bytes. TeraValidate's job succeeds even if it finds errors, so its report is read.
The report must contain only the checksum, which must equal the checksum that TeraGen counted
during the write (Hadoop's ``TeraGen`` keeps the low 64 bits of the 128-bit sum).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.record import Check, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Workload
from windtunnel.workloads.copies import misfits
from windtunnel.workloads.own_metrics import DATA_RATE, with_metrics, with_rate
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
from windtunnel.workloads.verdicts import check, verdict

_ROWS = {
    "teragen": "MAP_OUTPUT_RECORDS",
    "terasort": "REDUCE_OUTPUT_RECORDS",
    "teravalidate": "MAP_INPUT_RECORDS",
}


class TeraSortParameters(RowParameters):
    """Parameters of ``terasort``."""

    task_counts: ClassVar[tuple[str, ...]] = ("maps", "reduces")

    input_replication: PositiveInt = Field(description="Replicas of each input block.")
    output_replication: PositiveInt = Field(
        description="Replicas of each output block (Hadoop's default: 1)."
    )
    reduces: PositiveInt | None = Field(
        None, description="Reduce tasks of TeraSort. Default: mapreduce.job.reduces."
    )
    reuse_input: bool = Field(
        False, description="Generate the input once per deployment; then TeraGen is not a phase."
    )
    time_validation: bool = Field(
        True,
        description="TeraValidate is a timed phase. Otherwise it only verifies the output, without "
        "the limits of a scale model.",
    )


class TeraSort(Workload[TeraSortParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "terasort"
    summary: ClassVar[str] = "generate, sort and validate rows of 100 bytes (disk, network, CPU)"
    about: ClassVar[About] = About(
        stresses="processors, disks, network, and memory of map and reduce tasks",
        metrics=(DATA_RATE, *PLACEMENT),
        example="demo",
    )

    def phases(self) -> tuple[str, ...]:
        """TeraGen is a phase unless its output is reused, TeraValidate unless it only verifies."""
        first = () if self.parameters.reuse_input else ("teragen",)
        last = ("teravalidate",) if self.parameters.time_validation else ()
        return (*first, "terasort", *last)

    def check(self, cluster: Cluster) -> list[str]:
        """The cluster must have YARN, and at least as many DataNodes as replicas."""
        wanted = {
            "input_replication": self.parameters.input_replication,
            "output_replication": self.parameters.output_replication,
        }
        return misfits(self.name, cluster, wanted)

    def data_bytes(self) -> int:
        """Bytes of the data set."""
        return self.parameters.row_count * ROW_BYTES

    def demands(self, phase: str, workers: int) -> Demand:
        """Bytes written, read and sent; the network carries all but the first replica.

        The first replica is written to the task's own host. The fraction (N-1)/N of the shuffle
        crosses the network.
        """
        size = float(self.data_bytes())
        remote = (workers - 1) / workers
        copies_in = self.parameters.input_replication
        copies_out = self.parameters.output_replication
        if phase == "teragen":
            return Demand(0.0, size * copies_in, size * (copies_in - 1))
        if phase == "terasort":
            # Map output is spilled, and read again for the reducers.
            sent = size * remote + size * (copies_out - 1)
            return Demand(2 * size, size * (1 + copies_out), sent)
        return Demand(size, 0.0, 0.0)

    def shared_bytes(self) -> Mapping[str, float]:
        """The input, if it is reused."""
        size = float(self.data_bytes() * self.parameters.input_replication)
        return {self._shared_name(): size} if self.parameters.reuse_input else {}

    def job_settings(self) -> Iterable[tuple[str, str]]:
        """Those of TeraGen, TeraSort and TeraValidate.

        TeraSort's client sets the replicas of the output for its tasks.
        """
        wanted = self.parameters
        jobs = (
            written_with(wanted.input_replication),
            written_with(wanted.output_replication),
            self._sort_settings(),
            UNCOMPRESSED,
        )
        return [pair for settings in jobs for pair in settings.items()]

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Generate the shared input, if the study uses it again and it is not there yet."""
        if self.parameters.reuse_input:
            self._shared_input(deployment, execution)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run one phase; raises TrialInvalidError if its job fails."""
        if phase == "teragen":
            run = self._generate(deployment, execution)
            run = with_metrics(run, placement(deployment, self._input(execution)))
            return with_rate(run, DATA_RATE, self.data_bytes())
        if phase == "terasort":
            settings = self._sort_settings()
            argv = [f"{PACKAGE}.TeraSort", self._input(execution), self._output(execution)]
        else:
            settings = {**UNCOMPRESSED}
            argv = [f"{PACKAGE}.TeraValidate", self._output(execution), self._report(execution)]
        run = deployment.run_job(phase, argv, settings, deadline_s=execution.deadline_s)
        return with_rate(run, DATA_RATE, self.data_bytes())

    def _sort_settings(self) -> dict[str, str]:
        wanted = self.parameters
        settings = {"mapreduce.terasort.output.replication": str(wanted.output_replication)}
        if wanted.reduces:
            settings["mapreduce.job.reduces"] = str(wanted.reduces)
        return settings

    def _generate(self, deployment: Deployment, execution: Execution) -> JobRun:
        copies = self.parameters.input_replication
        folder = self._input(execution)
        return generate(self.parameters, copies, folder, deployment, execution.deadline_s)

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if checksums, rows, bytes and replication are as expected."""
        runs, wanted = dict(execution.runs), self.parameters
        if wanted.reuse_input:
            runs["teragen"] = self._shared_input(deployment, execution)
        if not wanted.time_validation:
            runs["teravalidate"] = self.run_phase("teravalidate", deployment, execution)
        report = read_all(deployment, self._report(execution))
        rows = [row.split("\t") for row in report.splitlines()]
        sums = [row[1] for row in rows if len(row) > 1 and row[0] == "checksum"]
        size = self.data_bytes()
        copies = [
            deployment.expected_copies(replication)
            for replication in (wanted.input_replication, wanted.output_replication)
        ]
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
        """Remove the trial's folder; keep a shared input."""
        deployment.files.delete(execution.folder)

    def _shared_input(self, deployment: Deployment, execution: Execution) -> JobRun:
        """The job that generated the shared input on this deployment, now if none has."""
        folder = self._input(execution)

        def generated() -> JobRun:
            deployment.files.delete(folder)
            return self._generate(deployment, execution)

        return deployment.once(("input of TeraSort", folder), generated)

    def _input(self, execution: Execution) -> str:
        if not self.parameters.reuse_input:
            return f"{execution.folder}/input"
        return f"{execution.shared}/{self._shared_name()}"

    def _shared_name(self) -> str:
        size = f"{self.parameters.row_count}-{self.parameters.input_replication}"
        return f"terasort-{size}-{self.parameters.maps or 'default'}"

    def _output(self, execution: Execution) -> str:
        return f"{execution.folder}/output"

    def _report(self, execution: Execution) -> str:
        return f"{execution.folder}/report"


def _check_report(report: str) -> Check:
    """A check that TeraValidate's report has only the checksum; other lines are errors."""
    rows = [row for row in report.splitlines() if row and not row.startswith("checksum\t")]
    got = "no errors" if not rows else f"{len(rows)} error lines, first: {rows[0][:160]}"
    return check("order (TeraValidate's report)", "no errors", got)
