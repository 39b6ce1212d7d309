"""PUT and GET: files copied between a client's local disk and HDFS, each a timed phase.

The data is generated on the client's disk before the timed phases. It is the same for equal
parameters, and not compressible. The client compares the retrieved files with it by SHA-256.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import ByteSize, Cluster
from windtunnel.engines.deployment import Deployment, JobRun, found_copies
from windtunnel.engines.hadoop.transfer import TRANSFER_RATE, TRANSFERRED
from windtunnel.engines.job_metrics import CLIENT_OVERHEAD
from windtunnel.results.record import Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters, Workload
from windtunnel.workloads.client import make_data
from windtunnel.workloads.copies import impossible_copies
from windtunnel.workloads.verdicts import check, verdict


class TransferParameters(Parameters):
    """Parameters of ``transfer``."""

    amounts: ClassVar[tuple[str, ...]] = ("size",)

    size: ByteSize = Field(description="Data set: all files together.")
    files: PositiveInt = Field(1, description="Files of equal size.")
    streams: PositiveInt = Field(1, description="Files that are copied at the same time.")
    replication: PositiveInt = Field(description="Replicas of each block.")

    @model_validator(mode="after")
    def _enough(self) -> TransferParameters:
        if self.size < self.files:
            raise ValueError("size must be at least one byte per file")
        if self.streams > self.files:
            raise ValueError("streams cannot be more than files: one file is one stream")
        return self

    @property
    def file_bytes(self) -> int:
        """Bytes of each file."""
        return int(self.size) // self.files


class Transfer(Workload[TransferParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "transfer"
    summary: ClassVar[str] = "copy files of a client to HDFS and back (network, disk)"
    about: ClassVar[About] = About(
        stresses="the client's network and disk, then the DataNodes' disks",
        metrics=(TRANSFERRED, TRANSFER_RATE, CLIENT_OVERHEAD),
        example="put-get-sizes",
    )

    def phases(self) -> tuple[str, ...]:
        """PUT, then GET."""
        return ("put", "get")

    def phases_without_fraction(self) -> tuple[str, ...]:
        """All: a client that copies files does not report how far it is."""
        return self.phases()

    def check(self, cluster: Cluster) -> list[str]:
        """Replication cannot exceed the number of hosts that hold data."""
        wanted = {"replication": self.parameters.replication}
        return impossible_copies(self.name, cluster, wanted)

    def data_bytes(self) -> int:
        """Bytes of the data set."""
        return self.parameters.file_bytes * self.parameters.files

    def demands(self, phase: str, workers: int) -> Demand:
        """Bytes of all replicas for PUT (sent over the network by the client), of one for GET."""
        size = float(self.data_bytes())
        if phase == "put":
            copies = self.parameters.replication
            return Demand(0.0, size * copies, size * copies)
        return Demand(size, 0.0, size)

    def clients(self) -> int:
        """Each stream of PUT."""
        return self.parameters.streams

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Make the files, if they are not there from an earlier trial."""
        folder = self._sources(deployment)
        if not folder.is_dir():
            self._run(deployment, ["make", str(folder), *self._numbers()], execution)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Copy all files; raises TrialInvalidError if that fails."""
        streams, deadline_s = self.parameters.streams, execution.deadline_s
        if phase == "put":
            sources = [self._sources(deployment) / name for name in self._names()]
            return deployment.put(
                sources,
                f"{execution.folder}/data",
                streams=streams,
                replication=self.parameters.replication,
                deadline_s=deadline_s,
            )
        remote = [f"{execution.folder}/data/{name}" for name in self._names()]
        return deployment.get(
            remote, self._back(deployment, execution), streams=streams, deadline_s=deadline_s
        )

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if what came back is what was made, and HDFS held that many replicas."""
        made = self._digests(deployment, self._sources(deployment), execution)
        back = self._digests(deployment, self._back(deployment, execution), execution)
        held = deployment.files.list_files(f"{execution.folder}/data")
        total = sum(file.length_bytes for file in held)
        copies = deployment.expected_copies(self.parameters.replication)
        checks = [
            check("files that came back", str(self.parameters.files), str(len(back))),
            check("SHA-256 of what came back", _joined(made), _joined(back)),
            check(
                "stored files",
                f"{self.data_bytes()} bytes with {copies}",
                f"{total} bytes with {found_copies(held)}",
            ),
        ]
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder and what came back; what was made stays for later trials."""
        self._run(deployment, ["remove", str(self._back(deployment, execution))], execution)
        deployment.files.delete(execution.folder)

    def _names(self) -> list[str]:
        return [f"part-{number:05d}" for number in range(self.parameters.files)]

    def _numbers(self) -> list[str]:
        return [str(self.parameters.files), str(self.parameters.file_bytes)]

    def _sources(self, client: Deployment) -> Path:
        return client.client_folder / f"made-{'-'.join(self._numbers())}"

    def _back(self, client: Deployment, execution: Execution) -> Path:
        # of its own: several may copy at the same time
        return client.client_folder / f"back{execution.folder.replace('/', '-')}"

    def _digests(self, client: Deployment, folder: Path, execution: Execution) -> dict[str, str]:
        """SHA-256 of each file of a folder by name, computed on the client."""
        text = self._run(client, ["digest", str(folder)], execution)
        pairs = (line.split(maxsplit=1) for line in text.splitlines() if line.startswith("part-"))
        return dict(pairs)

    def _run(self, client: Deployment, words: list[str], execution: Execution) -> str:
        argv = [sys.executable, "-P", make_data.__file__, *words]
        return client.run_on_client(words[0], argv, deadline_s=execution.deadline_s)


def _joined(digests: dict[str, str]) -> str:
    """The only digest; of several, one digest over all names and digests in order."""
    if len(digests) == 1:
        return next(iter(digests.values()))
    return make_data.digest_of("".join(f"{n} {d}\n" for n, d in sorted(digests.items())).encode())
