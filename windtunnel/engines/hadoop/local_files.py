"""A folder of this machine as the file system of a cluster whose hosts all share the machine.

It is the lower bound in comparisons of storage systems: no network, no replicas, no daemons.
Hadoop's ViewFileSystem shows its folders below the root of the file system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from windtunnel.cluster import Cluster
from windtunnel.engines.faults import Copies
from windtunnel.engines.hadoop.file_server import FileServer
from windtunnel.engines.storage_system import Ground, Jvms, Mounted, State, StorageSystem

_FOLDER = "files"
_TABLE = "windtunnel"
_HDFS_BLOCK_BYTES = 128 << 20  # dfs.blocksize in hdfs-default.xml
# A link of the root itself (linkMergeSlash) gives committers wrong paths in Hadoop 3.5.
TOPS = ("windtunnel", "tmp", "user")


class LocalFiles(StorageSystem):
    """See the module's docstring."""

    name: ClassVar[str] = "local"
    engines: ClassVar[frozenset[str] | None] = frozenset()
    one_machine: ClassVar[bool] = True

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.server = FileServer(ground)
        self._folder = ground.placements[0].host.root / _FOLDER

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """The description must not have replicas or an erasure code."""
        storage, found = cluster.storage, []
        if cluster.replication != 1:
            found.append("storage.replication: a local file system has no replicas; set it to 1")
        if storage.erasure_code:
            found.append("storage.erasure_code: a local file system has no erasure codes")
        return found

    def settings(self) -> Mapping[str, str]:
        """The mount table, with a link for each top folder."""
        return mount_table(self.cluster, self._folder)

    def begin(self, jvms: Jvms) -> None:
        """Create the folders and start the server."""
        self._jvms = jvms
        for top in TOPS:
            (self._folder / top).mkdir(parents=True, exist_ok=True)
        self.running[self.server.name] = self.server.spawn(jvms)

    def state(self) -> State:
        """The folder serves at once; the server is missing until it listens."""
        listens = self.server.listens()
        return State(serving=True, missing=[] if listens else ["the file server"])

    def web_server(self) -> tuple[str, int]:
        """The address of Windtunnel's own server for requests of WebHDFS."""
        return self.server.address

    def mounted(self, program: Sequence[str]) -> Mounted:
        """The folder itself."""
        return Mounted("the folder itself", [*program, str(self._folder / "tmp" / "checks")])

    def plays(self, name: str) -> bool:
        """Only the server is its own."""
        return name == self.server.name

    def restart(self, name: str) -> None:
        """Restart the server."""
        self.running[name] = self.server.spawn(self._jvms)

    def copies(self, since: Mapping[str, float]) -> Copies | None:
        """None: there are no replicas that could be lost and restored."""
        return Copies(holders=1, wanting=0, serving=True)


def mount_table(cluster: Cluster, folder: Path) -> dict[str, str]:
    """The properties with which the file system of Hadoop has the folders ``TOPS`` of a folder."""
    link = f"fs.viewfs.mounttable.{_TABLE}.link"
    links = {f"{link}./{top}": f"file://{folder}/{top}" for top in TOPS}
    block = int(cluster.storage.block_size or _HDFS_BLOCK_BYTES)
    return {
        "fs.defaultFS": f"viewfs://{_TABLE}/",
        "fs.local.block.size": str(block),  # so that jobs have as many splits as on HDFS
        **links,
    }
