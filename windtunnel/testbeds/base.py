"""The testbed contract."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment
from windtunnel.engines.faulty import Part
from windtunnel.results.calibration import CalibrationRecord
from windtunnel.results.record import Check, Phase


@dataclass(frozen=True)
class Realisation:
    """What a testbed can and cannot realise of a description.

    ``impossible`` stops a study before it starts; ``unrealised`` is carried into the
    report as a caveat.
    """

    impossible: list[str] = field(default_factory=list)
    unrealised: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Judgement:
    """What the samples of a trial say against it by a testbed's own rules.

    A check that is not passed makes the trial invalid: ``got`` is the reason. ``flags`` are
    told with the trial.
    """

    checks: list[Check] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


Tell = Callable[[str], None]
# A sample as the sampler has it: time in s since 1970, host, metric, unit, value.
Row = tuple[float, str, str, str, float]


class Testbed(Protocol):
    """Where a cluster description becomes measurable.

    ``breakable`` are the parts that a study's faults can break here.
    """

    name: str
    breakable: frozenset[Part]

    def __init__(self, logs: Path, tell: Tell) -> None: ...

    def permit_open(self) -> None:
        """Let root start clusters that other accounts of the machine can reach."""
        ...

    def check(self, cluster: Cluster) -> Realisation:
        """What can and cannot be realised, before anything starts."""
        ...

    def can_drop_caches(self) -> bool:
        """Whether the hosts' page caches can be emptied."""
        ...

    def cache_bytes(self) -> int:
        """Memory that could hold data in page caches: larger data cannot be cached."""
        ...

    def prepare(self, cluster: Cluster, engines: Collection[str] = ()) -> None:
        """Fetch and verify the software, with that of the named engines; starts nothing.

        Raises SetupError.
        """
        ...

    def deploy(self, cluster: Cluster) -> AbstractContextManager[Deployment]:
        """A running cluster; leaves nothing behind, whatever happens."""
        ...

    def reconfigure(self, deployment: Deployment, cluster: Cluster) -> list[str]:
        """Change what differs, and only that; returns a line for each thing done."""
        ...

    def ready(self, clusters: Iterable[Cluster], tell: Tell) -> CalibrationRecord | None:
        """See that what is set is what is got, before the first deployment of a run.

        Returns what was measured, or None where nothing is shaped. Raises NotRealisableError
        where something is off.
        """
        ...

    def judge(self, rows: Sequence[Row], phases: Sequence[Phase]) -> Judgement:
        """Whether the testbed itself got in the way of a trial, by the samples taken."""
        ...

    def provenance(self, deployment: Deployment) -> dict[str, Any]:
        """Versions and hashes of the software and all settings that are not defaults."""
        ...
