"""The testbed contract."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment


@dataclass(frozen=True)
class Realisation:
    """What a testbed can and cannot realise of a description.

    ``impossible`` stops a study before it starts; ``unrealised`` is carried into the
    report as a caveat.
    """

    impossible: list[str] = field(default_factory=list)
    unrealised: list[str] = field(default_factory=list)


Tell = Callable[[str], None]


class Testbed(Protocol):
    """Where a cluster description becomes measurable.

    ``has_walls``: clusters are models on a machine whose own limits must not be met; a trial
    that met them is invalid.
    """

    name: str
    has_walls: bool

    def __init__(self, logs: Path, tell: Tell) -> None: ...

    def check(self, cluster: Cluster) -> Realisation:
        """What can and cannot be realised, before anything starts."""
        ...

    def can_drop_caches(self) -> bool:
        """Whether the hosts' page caches can be emptied."""
        ...

    def cache_bytes(self) -> int:
        """Memory that could hold data in page caches: larger data cannot be cached."""
        ...

    def prepare(self, cluster: Cluster) -> None:
        """Fetch and verify the software; raises SetupError. Starts nothing."""
        ...

    def deploy(self, cluster: Cluster) -> AbstractContextManager[Deployment]:
        """A running cluster; leaves nothing behind, whatever happens."""
        ...

    def reconfigure(self, deployment: Deployment, cluster: Cluster) -> list[str]:
        """Change what differs, and only that; returns a line for each thing done."""
        ...

    def provenance(self, deployment: Deployment) -> dict[str, Any]:
        """Versions and hashes of the software and all settings that are not defaults."""
        ...
