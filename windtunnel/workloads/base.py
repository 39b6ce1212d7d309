"""The workload contract: parameters, prepare, ordered phases, verify, demands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.record import Verdict

WARM = "-warm"
"""The end of the names of phases before which no caches are dropped, whatever the protocol says:
they are about what the phase before them left in the caches."""


class Parameters(BaseModel):
    """Base of all workload parameters: typed, with units, closed.

    ``amounts`` are the parameters that are amounts of data or of work, in whole numbers: a
    scale model runs a share of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    amounts: ClassVar[tuple[str, ...]] = ()

    def at_scale(self, data: float) -> dict[str, Any]:
        """These parameters as plain data, with ``data`` times the amounts, 1 at least."""
        amounts = {key: getattr(self, key) for key in self.amounts}
        shares = {k: max(1, round(v * data)) for k, v in amounts.items() if v is not None}
        return self.model_copy(update=shares).model_dump(mode="json", exclude_none=True)

    def takes_whole(self) -> str | None:
        """What it takes the whole of, so that a second one would have to wait; None: nothing."""
        return None

    def engines(self) -> tuple[str, ...]:
        """Names of the engines beside Hadoop that the workload needs with these parameters."""
        return ()


@dataclass
class Execution:
    """One execution of a workload: where it works, until when, what came of its phases.

    ``folder`` is a folder of its own on the cluster's file system; ``shared`` one for
    inputs that later trials of the study use again. ``deadline_s`` is monotonic time.
    """

    folder: str
    shared: str
    deadline_s: float
    runs: dict[str, JobRun] = field(default_factory=dict)


@dataclass(frozen=True)
class Demand:
    """What a phase asks of the cluster as a whole, bytes; replication and shuffle included."""

    disk_read_bytes: float = 0.0
    disk_write_bytes: float = 0.0
    network_bytes: float = 0.0


@dataclass(frozen=True)
class About:
    """What a user should know of a workload, beside its parameters.

    ``stresses`` names the resources that it needs most, ``metrics`` its own figures by name with
    what they mean (those of every job come in addition), ``example`` is a study that ships.
    """

    stresses: str
    metrics: Mapping[str, str]
    example: str


class Workload(Protocol):
    """What is run. One file per workload, one entry in the registry."""

    name: ClassVar[str]
    summary: ClassVar[str]
    about: ClassVar[About]
    parameters_type: ClassVar[type[Parameters]]

    def __init__(self, parameters: Parameters) -> None: ...

    @property
    def parameters(self) -> Parameters:
        """What it was made with."""
        ...

    def phases(self) -> tuple[str, ...]:
        """Names of the timed phases, in order."""
        ...

    def check(self, cluster: Cluster) -> list[str]:
        """Why this workload cannot run on that cluster; empty if it can."""
        ...

    def data_bytes(self) -> int:
        """Bytes of the data set, for cache and size rules."""
        ...

    def demands(self, phase: str, workers: int) -> Demand:
        """Bytes that a phase moves."""
        ...

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Untimed work before the phases."""
        ...

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run one phase; raises TrialInvalidError if it fails."""
        ...

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """The verdict, from the data itself."""
        ...

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove what this trial wrote and no later one needs."""
        ...
