"""A Ceph cluster for tests: its processes are names in a list, its monitors prepared answers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support.hosts import host
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.engines.ceph.cluster import CephCluster
from windtunnel.engines.hadoop.layout import Placement
from windtunnel.engines.storage_system import Ground
from windtunnel.engines.storage_systems import storage_of

CLEAN = {
    "osdmap": {"num_up_osds": 3},
    "pgmap": {"num_pgs": 9, "pgs_by_state": [{"state_name": "active+clean", "count": 9}]},
    "fsmap": {"by_rank": [{"status": "up:active"}]},
}


def placements(cluster: Cluster, folder: Path, disks: int = 1) -> list[Placement]:
    return [
        Placement(host(node.name, f"127.1.1.{i + 1}", folder), (), folder, disks)
        for i, node in enumerate(cluster.nodes())
    ]


class Monitors:
    """Answers commands with ``status``, and notes them; ``refused`` stand for a start."""

    name = "ceph-admin@master"

    def __init__(self) -> None:
        self.status: dict[str, Any] | None = None
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.osds = [{"up": 1, "in": 1} for _ in range(3)]
        self.opened = 0
        self.pool = ""
        self.spawn: Any = None

    def queried(self, prefix: str) -> dict[str, Any] | None:
        if prefix == "osd dump":
            return {"osds": self.osds} if self.status else None
        assert prefix == "status"
        return self.status

    def run(self, prefix: str, **arguments: Any) -> dict[str, Any]:
        self.commands.append((prefix, arguments))
        if prefix == "osd pool get":
            return {"size": 2}
        if prefix == "df":
            stats = {"stored": 100, "bytes_used": 205}
            return {"pools": [{"name": self.pool, "stats": stats}, {"name": "other", "stats": {}}]}
        return {}

    def open_root(self) -> None:
        self.opened += 1

    def named(self, prefix: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.commands if name == prefix]


class Started:
    """A Ceph cluster whose processes are names in a list; ``code`` is their exit code."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        changes: dict[str, Any] | None = None,
        code: int | None = 0,
    ) -> None:
        cluster = apply_overrides(cluster, changes or {})
        self.spawned: list[str] = []
        self.made = code
        placed = placements(cluster, folder)
        for placement in placed:
            made: Any = placement.host
            made.spawn = self.spawn
            made.root.mkdir(parents=True)
        ground = Ground(cluster, placed, folder / "shared", own_networks=True)
        storage = storage_of(cluster)(ground)
        assert isinstance(storage, CephCluster)
        self.storage = storage
        self.monitors = Monitors()
        self.monitors.pool = storage.data_pool
        self.storage.admin = self.monitors  # type: ignore[assignment]
        self.monitors.spawn = lambda: self.process("ceph-admin@master")
        self.words: tuple[str, ...] = ()
        self.jvms: Any = SimpleNamespace(spawn_own=self.spawn_own)
        self.storage.begin(self.jvms)

    def spawn(self, spec: Any) -> Any:
        return self.process(spec.name)

    def spawn_own(self, _: object, name: str, main: str, *words: str, heap_mb: int) -> Any:
        self.words = words
        return self.process(name)

    def process(self, name: str) -> Any:
        self.spawned.append(name)
        return SimpleNamespace(
            name=name,
            pid=1,
            log=Path("log"),
            wait=lambda limit_s: self.made,
            returncode=lambda: self.made,
        )
