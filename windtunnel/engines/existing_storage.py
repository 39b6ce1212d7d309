"""The common base of storage systems that Windtunnel did not start.

A deployment uses a place of such a storage, a bucket or a folder, which must be empty. It writes a
file with its id there first, and removes Hadoop's folders at its end. If it was killed, the next
deployment on this machine that uses the place removes what is left.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from windtunnel.engines.faults import Copies
from windtunnel.engines.hadoop.file_server import FileServer
from windtunnel.engines.hadoop.local_files import TOPS
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.running import tail
from windtunnel.engines.storage_system import Ground, Jvms, State, StorageSystem
from windtunnel.engines.web import http_client
from windtunnel.errors import DeploymentError
from windtunnel.hosts.identity import alive, identity, machine_id, process_namespace

OWNER: Final = "windtunnel-owner.json"
_REMOVAL_LIMIT_S: Final = 600.0  # a removal of many objects is one request
_SETTLE_S: Final = 2.0  # until a cluster that has started at the same time has written its file
_NAMED: Final = 5


class ExistingStorage(StorageSystem):
    """A place of a storage system, used by one deployment at a time.

    ``remedy`` says what to check if the place cannot be used.
    """

    remedy: ClassVar[str]

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.server = FileServer(ground)
        self.folder = ground.shared / "storage"
        self._host = ground.placements[0].host
        self._files: WebHdfs | None = None
        self._written = self._owned = False
        self._me = {"id": secrets.token_hex(4), **this_process()}

    def begin(self, jvms: Jvms) -> None:
        """Write the keys of the clients, and start the file server; raises DeploymentError."""
        self._jvms = jvms
        self.folder.mkdir(parents=True, exist_ok=True)
        self.connect(jvms)
        self.running[self.server.name] = self.server.spawn(jvms)

    @abstractmethod
    def connect(self, jvms: Jvms) -> None:
        """Write the files that clients need to reach the storage; raises DeploymentError."""

    def state(self) -> State:
        """It serves as soon as this deployment owns the place.

        Raises
        ------
        DeploymentError
            If the place is not empty, in use or not accessible.
        """
        if not self.server.listens():
            return State(serving=False, missing=["the file server"])
        if not self._owned:
            self._own()
        return State(serving=True)

    def check_alive(self) -> None:
        """Also name the usual cause if the file server ends before the storage could be used."""
        process = self.running.get(self.server.name)
        if not self._owned and process is not None and process.returncode() is not None:
            raise DeploymentError(
                f"{self.outside(self.cluster)} cannot be used",
                remedy=self.remedy,
                log=process.log,
                tail=tail(process.log),
            )
        super().check_alive()

    def web_server(self) -> tuple[str, int]:
        """The address of Windtunnel's own server for requests of WebHDFS."""
        return self.server.address

    def copies(self, since: Mapping[str, float]) -> Copies | None:
        """None: Windtunnel does not know its replicas."""
        return None

    def plays(self, name: str) -> bool:
        """Only the server is its own."""
        return name == self.server.name

    def restart(self, name: str) -> None:
        """Restart the server."""
        self.running[name] = self.server.spawn(self._jvms)

    def remove_data(self) -> None:
        """Remove Hadoop's folders and the file with the owner, if it is that of this deployment."""
        if not self._written or self._owner() != self._me:
            return
        self._remove_folders()
        if left := {*self._names()} & {*TOPS}:
            raise DeploymentError(f"{', '.join(sorted(left))} was written while data was removed")
        self._web.delete(f"/{OWNER}")
        self._written = self._owned = False

    def close(self) -> None:
        """Close the connection to the server."""
        if self._files is not None:
            self._files.close()

    @property
    def _web(self) -> WebHdfs:
        if self._files is None:
            host, port = self.server.address
            http = http_client(self._host.open_socket, _REMOVAL_LIMIT_S)
            self._files = WebHdfs(lambda: f"http://{host}:{port}", {}, self._host, http=http)
        return self._files

    def _names(self) -> list[str]:
        """The files and folders of the place, without the file with the owner."""
        found = [*self._web.folders(""), *(file.path for file in self._web.list_files(""))]
        return [path.strip("/") for path in found if path.strip("/") != OWNER]

    def _remove_folders(self) -> None:
        """Remove the folders that Hadoop creates; what others have written stays."""
        for name in TOPS:
            self._web.delete(f"/{name}")

    def _own(self) -> None:
        """Write the file with the owner; raises DeploymentError if the place is not free."""
        place = self.outside(self.cluster)
        try:
            self._take()
        except DeploymentError as error:
            raise DeploymentError(
                f"{place} cannot be used: {error.message}", remedy=error.remedy or self.remedy
            ) from error

    def _take(self) -> None:
        owner = self._owner()
        if owner is not None:
            self._refuse_used(owner)
        ours = set() if owner is None else {*TOPS}
        if others := [name for name in self._names() if name not in ours]:
            more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
            raise DeploymentError(
                f"it is not empty, but contains {', '.join(others[:_NAMED])}{more}",
                remedy="use an empty bucket or folder.",
            )
        if owner is not None:
            self._remove_folders()
            self._web.delete(f"/{OWNER}")
        self._written = True
        self._web.write(f"/{OWNER}", json.dumps(self._me).encode())
        time.sleep(_SETTLE_S)
        if self._owner() != self._me:
            raise DeploymentError(
                "another cluster uses it", remedy="wait until it ends, or use another place."
            )
        self._check_place()
        self._owned = True

    def _check_place(self) -> None:
        """Check what only an existing file shows; raises DeploymentError."""
        return

    def _owner(self) -> dict[str, Any] | None:
        """The content of the file with the owner; None if there is none."""
        if all(file.path != f"/{OWNER}" for file in self._web.list_files("")):
            return None
        try:
            found = json.loads(self._web.read(f"/{OWNER}"))
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _refuse_used(self, owner: Mapping[str, Any]) -> None:
        """Raise DeploymentError unless the owner is an ended deployment of this machine."""
        process = owner.get("process")
        # whether a process has ended is known only where its number has the same meaning
        known = bool(self._me["machine_id"]) and all(
            owner.get(key) == self._me[key] for key in ("machine_id", "processes", "user")
        )
        # an earlier deployment of this process may have failed to remove its data
        if known and (process == self._me["process"] or not alive(process)):
            return
        raise DeploymentError(
            f"a cluster of {owner.get('machine', 'an unknown machine')} uses it",
            remedy="wait until it ends. If it has ended without removing its files, remove "
            f"{', '.join(TOPS)} and the file {OWNER} by hand.",
        )


def this_process() -> dict[str, Any]:
    """What identifies this process: its machine, its namespace of processes, its user, itself.

    The id of the machine is a hash, and empty if the machine has none.
    """
    return {
        "machine": socket.gethostname(),
        "machine_id": machine_id(),
        "processes": process_namespace(),
        "user": os.geteuid(),
        "process": identity(os.getpid()),
    }
