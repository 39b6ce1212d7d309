"""Deployments that implement no more than they must, as bases of those of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.mock import MockFiles
from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun


class BareDeployment(Deployment):
    """Without a client, engines, limits, hosts to sample; no job runs either."""

    id = "wt-bare"
    hosts: Sequence[Any] = ()
    files: Any = MockFiles()

    def run_job(
        self, phase: str, argv: Sequence[str], settings: Mapping[str, str], *, deadline_s: float
    ) -> JobRun:
        raise AssertionError("no job was to run")

    def reconfigure(self, cluster: Cluster) -> list[str]:
        return []

    def provenance(self) -> dict[str, Any]:
        return {}

    def check_alive(self) -> None:
        """Alive."""

    def processes(self) -> Mapping[str, int]:
        return {}


class ClientDeployment(BareDeployment):
    """Its client and its file system are the object itself."""

    root: Any  # the folder of the client

    def __init__(self, client_folder: Path) -> None:
        self.root = client_folder
        self.files = self

    @property
    def client(self) -> Any:
        return self

    @property
    def client_folder(self) -> Path:
        return Path(self.root)
