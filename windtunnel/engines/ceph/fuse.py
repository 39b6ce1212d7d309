"""CephFS mounted with ceph-fuse on this machine, as the file system below Hadoop.

All hosts share the machine and one mount. Hadoop reads and writes files below the mount point, as
those of a local folder.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from windtunnel.cluster import Cluster
from windtunnel.engines.ceph import mounted, programs
from windtunnel.engines.ceph.cephfs import CephFs
from windtunnel.engines.ceph.cluster import CephCluster
from windtunnel.engines.ceph.site import CLIENT, FUSE, MGR, plan_daemons
from windtunnel.engines.hadoop.cds import ClientClasses
from windtunnel.engines.hadoop.local_files import TOPS, mount_table
from windtunnel.engines.running import tail
from windtunnel.engines.storage_system import Ground, Jvms
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Process, ProcessSpec

_FOLDER: Final = "cephfs"
_START_LIMIT_S: Final = 120.0
_STEP_S: Final = 0.2


class CephFuse(CephFs):
    """See the module's docstring."""

    name: ClassVar[str] = "ceph-fuse"
    engines: ClassVar[frozenset[str] | None] = frozenset()
    one_machine: ClassVar[bool] = True
    needs: ClassVar[programs.Needs] = programs.FUSE
    single: ClassVar[tuple[str, ...]] = (MGR, FUSE)  # all hosts share the mount

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._mount = plan_daemons(ground.cluster, ground.placements, [FUSE])[0]
        self._point = ground.shared / _FOLDER
        self._folders: Process | None = None

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError if this machine lacks Ceph's packages, or cannot mount CephFS."""
        super().check_machine()
        mounted.check()

    @classmethod
    def mount_point(cls, shared: Path) -> Path | None:
        """A folder of the deployment."""
        return shared / _FOLDER

    @classmethod
    def jars(cls, cluster: Cluster) -> Sequence[Path]:
        """None: Hadoop itself has a client of mounted files."""
        return ()

    @classmethod
    def client_classes(cls, cluster: Cluster) -> ClientClasses | None:
        """None, as :meth:`jars`."""
        return None

    def settings(self) -> Mapping[str, str]:
        """The mount point as the default file system."""
        return mount_table(self.cluster, self._point)

    def java_options(self) -> tuple[str, ...]:
        """None: Ceph's library is not in the JVMs."""
        return ()

    def start(self, jvms: Jvms) -> None:
        """Wait for the mount: only processes that start later see it. Raises DeploymentError."""
        limit = time.monotonic() + _START_LIMIT_S
        while not (state := self.state()).serving:
            self.check_alive()
            if time.monotonic() > limit:
                raise DeploymentError(
                    f"CephFS is not mounted after {_START_LIMIT_S:.0f} s; still missing: "
                    f"{', '.join(state.missing)}",
                    log=self._mount.host.logs,
                )
            time.sleep(_STEP_S)

    def open_files(self, status: Mapping[str, Any]) -> list[str]:
        """Also mount the file system, and create the folders to which Hadoop's names refer."""
        if missing := super().open_files(status):
            return missing
        if self._mount.name not in self.running:
            self._spawn_mount()
        # the table of mounts has no symbolic links
        if f" {self._point.resolve()} " not in _mounts_of(self.running[self._mount.name].pid):
            return ["the mount"]
        if self._folders is None:
            self._folders = self._make_folders()
        code = self._folders.returncode()
        if code not in (None, 0):
            raise DeploymentError(
                f"the mounted file system cannot be written (exit code {code})",
                log=self._folders.log,
                tail=tail(self._folders.log),
            )
        return [] if code == 0 else ["the folders of the mount"]

    def facts(self) -> dict[str, Any]:
        """Those of Ceph: Hadoop has no client of its own."""
        return CephCluster.facts(self)

    def replicas(self) -> int:
        """Replicas or cells of each file, as the monitors report them: a mount has none."""
        return self.pool_size()

    def plays(self, name: str) -> bool:
        """Also the mount."""
        return name == self._mount.name or super().plays(name)

    def _spawn_mount(self) -> None:
        host = self._mount.host
        client = ["-n", f"client.{CLIENT}", "-c", str(self.conf), "-k", str(self._client_keys)]
        words = ["ceph-fuse", "-f", *client, str(self._point)]
        # its account is that of this program, so that its log is where no other account can write
        log = self.folder / f"{FUSE}.log"
        spec = ProcessSpec(self._mount.name, words, log, host.root, mounts=True)
        self.running[self._mount.name] = host.spawn(spec)

    def _make_folders(self) -> Process:
        host = self._mount.host
        words = ["mkdir", "-p", *(str(self._point / top) for top in TOPS)]
        log = host.logs / f"{FUSE}-folders.log"
        return host.spawn(ProcessSpec(f"folders@{host.name}", words, log, host.root))


def _mounts_of(pid: int) -> str:
    """The table of mounts of a process; empty if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/mountinfo").read_text()
    return ""
