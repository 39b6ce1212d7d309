"""CephFS as the file system below Hadoop: a Ceph cluster with metadata servers.

Hadoop reaches CephFS through ``io.windtunnel.ceph.CephFileSystem``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from windtunnel.cluster import Cluster
from windtunnel.engines.ceph import mounted, programs
from windtunnel.engines.ceph.cluster import OWN_JAR, CephCluster, write_private
from windtunnel.engines.ceph.site import (
    CLIENT,
    DATA_POOL,
    FILE_SYSTEM,
    MDS,
    METADATA_POOL,
    only,
)
from windtunnel.engines.digest import sha256_of
from windtunnel.engines.storage_system import Ground, Mounted
from windtunnel.errors import SetupError

ENGINES = frozenset({"hive", "pig", "spark"})
JARS = (programs.LIBRARY, OWN_JAR)
"""The binding of Ceph, and Hadoop's file system on it."""
JAVA_OPTIONS = ("-Xss1m",)  # libcephfs overflows a smaller stack
_SCHEME = "ceph"
_METADATA_PGS = 8


class CephFs(CephCluster):
    """See the module's docstring."""

    name: ClassVar[str] = "cephfs"
    engines: ClassVar[frozenset[str] | None] = ENGINES
    needs: ClassVar[programs.Needs] = programs.CEPHFS
    service: ClassVar[str] = MDS
    client: ClassVar[str] = CLIENT
    data_pool: ClassVar[str] = DATA_POOL

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._client_keys = self.folder / "hadoop.keyring"
        self._open = False

    @classmethod
    def jars(cls, cluster: Cluster) -> Sequence[Path]:
        """The binding of Ceph, and Hadoop's file system on it."""
        return JARS

    def settings(self) -> Mapping[str, str]:
        """CephFS as the default file system."""
        return client_settings(self.conf, CLIENT, self._client_keys)

    def java_options(self) -> tuple[str, ...]:
        """The size of the stack of a thread."""
        return JAVA_OPTIONS

    def write_files(self) -> str:
        """Also the keyring of Hadoop, which contains only its own key."""
        keys = super().write_files()
        write_private(self._client_keys, only(f"client.{CLIENT}", keys))
        return keys

    def create_pools(self) -> None:
        """Create the pools of metadata and of data, and the file system."""
        run = self.admin.run
        self.create_pool(METADATA_POOL, _METADATA_PGS)
        self.create_data_pool()
        code = self.cluster.storage.code
        if code:
            run("osd pool set", pool=DATA_POOL, var="allow_ec_overwrites", val="true")
        run("fs new", fs_name=FILE_SYSTEM, metadata=METADATA_POOL, data=DATA_POOL, force=bool(code))

    def start_service(self) -> None:
        """Start the metadata servers."""
        for daemon in self.players(MDS):
            self.spawn(daemon)

    def open_files(self, status: Mapping[str, Any]) -> list[str]:
        """Wait for the metadata server, then let every account write to the root."""
        if missing := self.service_unready(status):
            return missing
        if not self._open:
            self.admin.open_root()
            self._open = True
        return []

    def service_unready(self, status: Mapping[str, Any]) -> list[str]:
        """One metadata server must be active."""
        active = any(rank["status"] == "up:active" for rank in status["fsmap"]["by_rank"])
        return [] if active else ["the metadata server"]

    def facts(self) -> dict[str, Any]:
        """Also the jar with which Hadoop reaches CephFS."""
        return {**super().facts(), **client_facts()}

    def mounted(self, program: Sequence[str]) -> Mounted | str:
        """Mounts of ceph-fuse; a reason if this machine cannot mount it."""
        try:
            mounted.check()
        except SetupError as error:
            return f"{error.message}: {error.remedy}"
        work = self.ground.shared / "mounts"
        command = mounted.command(self.conf, work, program)
        return Mounted("ceph-fuse", command, as_root=True)


def client_settings(conf: Path, client: str, keyring: Path) -> dict[str, str]:
    """The properties with which Hadoop has CephFS as its default file system."""
    package = "io.windtunnel.ceph"
    return {
        "fs.defaultFS": f"{_SCHEME}://{FILE_SYSTEM}/",
        "fs.ceph.impl": f"{package}.CephFileSystem",
        "fs.AbstractFileSystem.ceph.impl": f"{package}.CephFs",
        "ceph.conf.file": str(conf),
        "ceph.auth.id": client,
        "ceph.auth.keyring": str(keyring),
    }


def client_facts() -> dict[str, Any]:
    """The jar with which Hadoop reaches CephFS, for the provenance."""
    return {"hadoop": {"jar": OWN_JAR.name, "sha256": sha256_of(OWN_JAR)}}
