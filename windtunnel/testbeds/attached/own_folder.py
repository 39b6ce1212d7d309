"""The folder of a study on an existing cluster: everything that it writes is inside.

The folder has a marker file with the id of the study's run. Only a folder with the right marker
is removed, and only paths inside it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from windtunnel.engines.deployment import FileStatus
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.errors import DeploymentError

MARKER = ".windtunnel.json"


class OwnFolder:
    """A folder that a study has created; the file system as workloads use it.

    Parameters
    ----------
    parent:
        The folder in which it is created.
    id_:
        The id of the run, which is its name.
    """

    def __init__(self, files: WebHdfs, parent: str, id_: str) -> None:
        self._files = files
        self.parent = parent
        self.id = id_
        self.path = f"{parent}/{id_}"
        self.quota = False

    def new_ancestor(self) -> str | None:
        """The topmost folder above that :meth:`create` will create; None if the parent exists.

        Raises DeploymentError.
        """
        found, path = None, self.parent
        while path and not self._files.exists(path):
            found, path = path, path.rpartition("/")[0]
        return found

    def create(self, space_bytes: int, facts: Mapping[str, object]) -> None:
        """Create the folder with its marker, and a quota if that is permitted.

        Raises DeploymentError.
        """
        if self._files.exists(self.path):
            raise DeploymentError(
                f"{self.path} exists already",
                remedy="remove it if it is yours, or use another folder.",
            )
        self._files.make_folder(self.path)
        marker = {"id": self.id, "created": time.time(), **facts}
        self._files.write(f"{self.path}/{MARKER}", json.dumps(marker).encode())
        try:
            self._files.set_space_quota(self.path, space_bytes)
            self.quota = True
        except DeploymentError:  # only administrators may set quotas on most clusters
            self.quota = False

    def set_policy(self, path: str, policy: str | None) -> None:
        """Have new files in a folder inside use a storage policy; None: that of the parent.

        The folder is created if necessary. Raises DeploymentError, also if the path is outside.
        """
        self._check_inside(path)
        if policy or self._files.exists(path):
            self.make_folder(path)
            self._files.set_storage_policy(path, policy)

    def owned(self) -> bool:
        """Whether the folder exists with the marker of this run. Raises DeploymentError."""
        if not self._files.exists(f"{self.path}/{MARKER}"):
            return False
        try:
            found = json.loads(self._files.read(f"{self.path}/{MARKER}"))
        except ValueError:
            return False
        return isinstance(found, dict) and found.get("id") == self.id

    def remove(self, new_ancestor: str | None = None) -> None:
        """Remove the folder, and the empty folders above that this run created.

        Parameters
        ----------
        new_ancestor:
            The topmost folder above that this run created; None if it created none.

        Raises
        ------
        DeploymentError
            If the folder exists without the marker, or cannot be removed.
        """
        if self._files.exists(self.path):
            # a run that was killed between the folder and its marker left an empty folder
            if not self.owned() and not self._remove_unmarked():
                raise DeploymentError(
                    f"{self.path} has no marker of this run and is not removed",
                    remedy="check what it is, and remove it yourself.",
                )
            if self._files.exists(self.path):
                self._files.delete(self.path)
        path = self.parent
        while new_ancestor and f"{path}/".startswith(f"{new_ancestor}/"):
            if not self._files.remove_empty(path):
                break
            path = path.rpartition("/")[0]

    def _remove_unmarked(self) -> bool:
        """Remove the folder without a recursion if it is empty, except for an empty marker.

        The write of a marker creates the file before its content. Returns whether it was removed.
        """
        marker = f"{self.path}/{MARKER}"
        files, folders = self._files.list_files(self.path), self._files.folders(self.path)
        if not folders and [(one.path, one.length_bytes) for one in files] == [(marker, 0)]:
            self._files.remove_empty(marker)
        return self._files.remove_empty(self.path)

    def list_files(self, path: str) -> list[FileStatus]:
        """Files directly in a folder; an absent folder is empty."""
        return self._files.list_files(path)

    def read(self, path: str, limit_bytes: int = 1 << 20) -> bytes:
        """The first bytes of a file."""
        return self._files.read(path, limit_bytes)

    def replicas(self, path: str) -> list[list[str]]:
        """The hosts of each block of a file."""
        return self._files.replicas(path)

    def checksums(self, path: str) -> list[dict[str, Any]]:
        """All files below a folder with their checksums."""
        return self._files.checksums(path)

    def stored(self, path: str) -> tuple[int, int]:
        """Bytes of the files below a folder, and of all their replicas."""
        return self._files.stored(path)

    def make_folder(self, path: str) -> None:
        """Create a folder inside the own folder. Raises DeploymentError, also if it is outside."""
        self._check_inside(path)
        self._files.make_folder(path)

    def delete(self, path: str) -> None:
        """Remove a file or folder inside the own folder.

        Raises
        ------
        DeploymentError
            If the path is outside: files of others are never removed.
        """
        self._check_inside(path)
        self._files.delete(path)

    def _check_inside(self, path: str) -> None:
        if not path.startswith(f"{self.path}/") or ".." in path.split("/"):
            raise DeploymentError(f"{path} is not inside {self.path} and is not changed")
