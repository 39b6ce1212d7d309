"""A folder of CephFS in a Ceph cluster that Windtunnel did not start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from windtunnel.cluster import Cluster
from windtunnel.cluster.existing_storage import CephClient, file_of
from windtunnel.engines.ceph import cephfs, programs
from windtunnel.engines.ceph.cluster import write_private
from windtunnel.engines.ceph.site import only
from windtunnel.engines.deployment import copies_text
from windtunnel.engines.existing_storage import OWNER, ExistingStorage
from windtunnel.engines.storage_system import Jvms, no_warm_starts
from windtunnel.errors import DeploymentError

_MOUNT_LIMIT_S: Final = 30


class ExistingCephFs(ExistingStorage):
    """See the module's docstring."""

    name: ClassVar[str] = "existing-cephfs"
    engines: ClassVar[frozenset[str] | None] = cephfs.ENGINES
    remedy: ClassVar[str] = (
        "check 'conf', the name and the key of the client, and its capabilities: mds 'allow rwp' "
        "for the folder, mon 'allow r', osd 'allow rw' for the data pool."
    )

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """The configuration and the keyring must be readable."""
        found, given = [], _given(cluster)
        found += no_warm_starts(cluster)
        for key in ("conf", "keyring"):
            path = file_of(getattr(given, key))
            try:
                text = path.read_text(errors="replace")
            except OSError as error:
                found.append(f"storage.ceph.{key}: {path} cannot be read: {error.strerror}")
                continue
            if key == "keyring" and f"[client.{given.client}]" not in text:
                found.append(f"storage.ceph.keyring: {path} has no key of client.{given.client}")
        return found

    @classmethod
    def check_machine(cls) -> None:
        """Raise SetupError if this machine lacks Ceph's library for Java."""
        programs.check(programs.CEPHFS_CLIENT, cls.name)

    @classmethod
    def outside(cls, cluster: Cluster) -> str:
        """The folder and the configuration of the Ceph cluster."""
        given = _given(cluster)
        return f"the folder {given.folder} of the Ceph cluster of {file_of(given.conf)}"

    @classmethod
    def jars(cls, cluster: Cluster) -> Sequence[Path]:
        """The binding of Ceph, and Hadoop's file system on it."""
        return cephfs.JARS

    def settings(self) -> Mapping[str, str]:
        """The folder as the root of the default file system."""
        given = _given(self.cluster)
        return {
            **cephfs.client_settings(self._conf, given.client, self._keyring),
            "ceph.root.dir": given.folder,
        }

    def java_options(self) -> tuple[str, ...]:
        """The size of the stack of a thread."""
        return cephfs.JAVA_OPTIONS

    def connect(self, jvms: Jvms) -> None:
        """Write copies of the configuration and of the key, which the clients can read."""
        given = _given(self.cluster)
        # a later section of the same name adds to an earlier one
        lines = [
            f"[client.{given.client}]",
            f"keyring = {self._keyring}",
            f"client_mount_timeout = {_MOUNT_LIMIT_S}",
            "client_permissions = false",  # Hadoop's accounts are not those of the storage
            "log_file =",
            "log_to_stderr = true",
            "admin_socket =",
            *([f"client_fs = {given.file_system}"] if given.file_system else []),
        ]
        try:
            conf = file_of(given.conf).read_text(errors="replace")
            keys = file_of(given.keyring).read_text(errors="replace")
        except OSError as error:
            raise DeploymentError(
                f"storage.ceph: {error.filename} cannot be read: {error.strerror}",
                remedy="check 'conf' and 'keyring'.",
            ) from error
        write_private(self._conf, "\n".join([conf, *lines]) + "\n")
        write_private(self._keyring, only(f"client.{given.client}", keys))

    def expected_copies(self, replication: int) -> str:
        """All files have the replication of the pool: as described, or all its cells."""
        return copies_text(self._copies)

    def facts(self) -> dict[str, Any]:
        """The jar with which Hadoop reaches CephFS."""
        return cephfs.client_facts()

    def _check_place(self) -> None:
        found = [file for file in self._web.list_files("") if file.path == f"/{OWNER}"]
        copies = found[0].replication if found else 0
        if copies != self._copies:
            raise DeploymentError(
                f"its pool stores {copies} replicas or cells of a file, but the "
                f"description has {self._copies}",
                remedy="set 'storage.replication' or 'storage.erasure_code' to that of the pool, "
                "and the replication parameters of the workloads accordingly.",
            )

    @property
    def _copies(self) -> int:
        code = self.cluster.storage.code
        return code.hosts if code else self.cluster.replication

    @property
    def _conf(self) -> Path:
        return self.folder / "ceph.conf"

    @property
    def _keyring(self) -> Path:
        return self.folder / "keyring"


def _given(cluster: Cluster) -> CephClient:
    given = cluster.storage.ceph
    assert given is not None, "the description is checked"
    return given
