"""The mock testbed with parts that break: what struck and what was put back is noted.

Looks at the copies answer from :attr:`BreakingTestbed.looks`, and at the job's progress from
:attr:`BreakingTestbed.progress`, one after the other; the last one stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.mock import MockDeployment, MockTestbed
from windtunnel.cluster import Cluster
from windtunnel.engines.faults import Copies, Faulty, Part, Undo
from windtunnel.errors import DeploymentError, NotRealisableError

WHOLE = Copies(holders=3, wanting=0, serving=True)


@dataclass
class MockFaults(Faulty):
    """Notes ``(verb, *arguments)`` and, once undone, ``("undo", verb)``."""

    testbed: BreakingTestbed
    deployment: MockDeployment
    asked: int = 0

    def _broken(self, *call: Any) -> Undo:
        if self.testbed.refuses:
            raise DeploymentError(self.testbed.refuses)
        self.testbed.events.append(call)
        return lambda: self.testbed.events.append(("undo", call[0]))

    def refusal(self, part: Part) -> NotRealisableError:
        return NotRealisableError(f"the mock cannot break {part}", remedy="ask for daemons.")

    def kill_daemon(self, role: str, host: str) -> Undo:
        return self._broken("kill", role, host)

    def kill_host(self, host: str) -> Undo:
        return self._broken("kill host", host)

    def decommission(self, host: str) -> Undo:
        return self._broken("decommission", host)

    def moves_data_back(self) -> bool:
        return self.testbed.moves_data_back

    def cut(self, name: str) -> Undo:
        return self._broken("cut", name)

    def slow_disk(self, host: str, disk: int, share: float) -> Undo:
        return self._broken("slow disk", host, disk, share)

    def slow_nic(self, host: str, share: float) -> Undo:
        return self._broken("slow NIC", host, share)

    def fill_disk(self, host: str, disk: int, share: float) -> Undo:
        return self._broken("fill disk", host, disk, share)

    def progress(self, since: float) -> float | None:
        told = self.testbed.progress
        return told.pop(0) if len(told) > 1 else told[0]

    def copies(self) -> Copies | None:
        looks = self.testbed.looks
        self.asked += 1
        return looks[min(self.asked, len(looks)) - 1]

    def sure_s(self) -> float:
        return 0.0

    def restore(self, *, copies: bool) -> None:
        self.testbed.events.append(("restore", copies))
        if self.testbed.stays_broken:
            raise DeploymentError("HDFS is not whole")


class BreakingDeployment(MockDeployment):
    """A running cluster in which faults can be made."""

    def __init__(self, testbed: BreakingTestbed, cluster: Cluster, number: int) -> None:
        super().__init__(testbed, cluster, number)
        self.faulty = MockFaults(testbed, self)


@dataclass
class BreakingTestbed(MockTestbed):
    """See the module's docstring. ``refuses`` is why no fault can be made, empty if it can."""

    breakable: frozenset[Part] = frozenset({"daemons", "links", "disks", "NICs"})
    looks: Sequence[Copies | None] = (WHOLE,)
    progress: list[float | None] = field(default_factory=lambda: [0.0])
    refuses: str = ""
    stays_broken: bool = False
    moves_data_back: bool = False
    events: list[tuple[Any, ...]] = field(default_factory=list)

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[BreakingDeployment]:
        """A new deployment."""
        self.deployed.append(cluster)
        self.open += 1
        try:
            yield BreakingDeployment(self, cluster, len(self.deployed))
        finally:
            self.open -= 1
