"""The cluster's file system over WebHDFS: listings, small reads, removal.

Redirects name DataNodes by their host names in the deployment, which this machine's
resolver does not know; this module maps them to addresses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

from windtunnel.engines.deployment import FileStatus
from windtunnel.engines.web import http_client
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host
from windtunnel.results.metrics import MetricInfo, register

if TYPE_CHECKING:
    import httpx

# The digits of a checksum: bytes per CRC (4 bytes), CRCs per block (8 bytes), the MD5 of all; then
# the remaining content of the DataNode's buffer.
_MD5 = slice(24, 56)
_TIMEOUT_S = 30.0
_STEP_S = 0.5
_STANDBY = "StandbyException"
LIMIT = "windtunnel_limit_bytes"
"""The extension of a request with the bytes that its answer may have, for clients with a limit."""

STORED_PER_BYTE = MetricInfo(
    "stored_per_byte",
    "ratio",
    "bytes of all replicas, or of all data and parity cells, for each byte that the trial wrote",
    "the content summary of the NameNode, or the statistics of Ceph's data pool",
    better="less",
    level="trial",
)
register(STORED_PER_BYTE)


class WebHdfs:
    """Client of a NameNode, or of the file server of another file system.

    Parameters
    ----------
    server:
        Returns the address of its web server, such as ``http://127.0.0.1:9870``.
    failover_s:
        How long a request is repeated while no web server answers it, or only that of a standby.
    names:
        Host name in the deployment -> IP address.
    host:
        A host of the deployment: requests use its network and its account.
    http:
        The connections of the requests, such as those to a cluster that Windtunnel did not start;
        None for those of the host.
    """

    def __init__(
        self,
        server: Callable[[], str],
        names: Mapping[str, str],
        host: Host,
        failover_s: float = 0.0,
        http: httpx.Client | None = None,
    ) -> None:
        self._server = server
        self._failover_s = failover_s
        self._names = names
        self._http = http or http_client(host.open_socket, _TIMEOUT_S)
        self._account = host.account

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def list_files(self, path: str) -> list[FileStatus]:
        """Files directly in a folder; an absent folder is empty."""
        answer = self._request("GET", path, op="LISTSTATUS")
        if answer is None:
            return []
        entries = answer.json()["FileStatuses"]["FileStatus"]
        return [
            FileStatus(
                f"{path}/{e['pathSuffix']}",
                int(e["length"]),
                int(e["replication"]),
                e.get("ecPolicy"),
            )
            for e in entries
            if e["type"] == "FILE"
        ]

    def folders(self, path: str) -> list[str]:
        """Folders directly in a folder; an absent folder has none."""
        answer = self._request("GET", path, op="LISTSTATUS")
        if answer is None:
            return []
        entries = answer.json()["FileStatuses"]["FileStatus"]
        return [f"{path}/{e['pathSuffix']}" for e in entries if e["type"] == "DIRECTORY"]

    def read(self, path: str, limit_bytes: int = 1 << 20) -> bytes:
        """The first ``limit_bytes`` bytes of a file.

        Raises
        ------
        DeploymentError
            If there is no such file.
        """
        answer = self._request("GET", path, limit_bytes, op="OPEN", length=str(limit_bytes))
        if answer is None:
            raise DeploymentError(f"{path} is not on the cluster's file system")
        if answer.is_redirect:
            answer = self._from_datanode(path, self._resolve(answer.headers["location"]))
        return answer.content

    def replicas(self, path: str) -> list[list[str]]:
        """The names of the hosts that hold each block of a file; none if the file is absent."""
        answer = self._request("GET", path, op="GETFILEBLOCKLOCATIONS")
        if answer is None:
            return []
        return [list(block["hosts"]) for block in answer.json()["BlockLocations"]["BlockLocation"]]

    def checksums(self, path: str) -> list[dict[str, Any]]:
        """All files below a folder: ``path`` in it, ``bytes``, ``replication``, ``checksum``.

        Checksums have Hadoop's format: algorithm and MD5.
        """
        head = len(path) + 1
        return [
            {
                "path": file.path[head:],
                "bytes": file.length_bytes,
                "replication": file.replication,
                "checksum": self._checksum(file.path),
            }
            for file in self._listed(path)
        ]

    def _listed(self, path: str) -> list[FileStatus]:
        below = [one for folder in self.folders(path) for one in self._listed(folder)]
        return [*self.list_files(path), *below]

    def _checksum(self, path: str) -> str:
        answer = self._request("GET", path, op="GETFILECHECKSUM")
        if answer is None:
            return ""  # removed meanwhile
        if answer.is_redirect:
            answer = self._from_datanode(path, self._resolve(answer.headers["location"]))
        found = answer.json()["FileChecksum"]
        return f"{found['algorithm']}:{found['bytes'][_MD5]}"

    def _from_datanode(self, path: str, url: str) -> httpx.Response:
        import httpx

        try:
            answer = self._http.get(url)
        except httpx.HTTPError as error:
            raise DeploymentError(f"a DataNode does not return {path}: {error}") from error
        if answer.is_error:
            raise DeploymentError(f"a DataNode does not return {path}: {answer.text[:300]}")
        return answer

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with its content; an absent path is not an error."""
        self._request("DELETE", path, op="DELETE", recursive="true")

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents; one that exists is no error."""
        self._request("PUT", path, op="MKDIRS")

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return self._request("GET", path, op="GETFILESTATUS") is not None

    def write(self, path: str, content: bytes) -> None:
        """Write a new small file; raises DeploymentError if it exists or cannot be written."""
        import httpx

        query = {"user.name": self._account, "op": "CREATE", "overwrite": "false"}
        try:  # the connections follow the redirect to a DataNode
            answer = self._http.request(
                "PUT", self._base() + quote(path), params=query, content=content
            )
        except httpx.HTTPError as error:
            raise DeploymentError(f"{path} cannot be written: {error}") from error
        if answer.is_error or answer.is_redirect:
            raise DeploymentError(f"{path} cannot be written: {answer.text[:300]}")

    def remove_empty(self, path: str) -> bool:
        """Remove a folder without content; returns whether it was removed."""
        try:
            answer = self._request("DELETE", path, op="DELETE", recursive="false")
        except DeploymentError:
            return False
        return answer is not None and bool(answer.json().get("boolean"))

    def set_space_quota(self, path: str, size_bytes: int) -> None:
        """Limit the bytes of all replicas below a folder; raises DeploymentError if refused."""
        self._request("PUT", path, op="SETQUOTA", storagespacequota=str(size_bytes))

    def set_storage_policy(self, path: str, policy: str | None) -> None:
        """Have new files below a folder use a storage policy; None: that of the folder above."""
        if policy is None:
            self._request("POST", path, op="UNSETSTORAGEPOLICY")
        else:
            self._request("PUT", path, op="SETSTORAGEPOLICY", storagepolicy=policy)

    def set_erasure_code(self, path: str, policy: str) -> None:
        """Enable a policy, and have new files below a folder use it."""
        self._request("PUT", "/", op="ENABLEECPOLICY", ecpolicy=policy)
        self._request("PUT", path, op="SETECPOLICY", ecpolicy=policy)

    def stored(self, path: str) -> tuple[int, int]:
        """Bytes of the files below a folder, and the bytes that are stored for them.

        These are the bytes of all replicas, or of all data and parity cells, as the NameNode
        accounts for them. Both are 0 for an absent folder.
        """
        answer = self._request("GET", path, op="GETCONTENTSUMMARY")
        if answer is None:
            return 0, 0
        found = answer.json()["ContentSummary"]
        return int(found["length"]), int(found["spaceConsumed"])

    def set_replication(self, path: str, copies: int) -> None:
        """Request this number of replicas for a file; an absent path is not an error."""
        self._request("PUT", path, op="SETREPLICATION", replication=str(copies))

    def _base(self) -> str:
        return f"{self._server()}/webhdfs/v1"

    def _request(
        self, method: str, path: str, limit_bytes: int = 0, **query: str
    ) -> httpx.Response | None:
        """The answer, of which ``limit_bytes`` may be needed; None if there is no such path."""
        import httpx

        extensions = {LIMIT: limit_bytes}
        parameters: dict[str, Any] = {"user.name": self._account, **query}
        limit = time.monotonic() + self._failover_s
        while True:
            base = self._base()
            again = time.monotonic() < limit
            try:
                answer = self._http.request(
                    method, base + quote(path), params=parameters, extensions=extensions
                )
            except httpx.HTTPError as error:
                if not again:
                    raise DeploymentError(
                        f"the file system's web server does not answer at {base}: {error}",
                        remedy="see the log of the NameNode or of the file server in the results "
                        "folder.",
                    ) from error
            else:
                if not again or not answer.is_error or _STANDBY not in answer.text:
                    break
            time.sleep(_STEP_S)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.is_error:
            raise DeploymentError(f"{method} {path}: {answer.text[:300]}")
        return answer

    def _resolve(self, url: str) -> str:
        parts = urlsplit(url)
        host = self._names.get(parts.hostname or "", parts.hostname or "")
        return urlunsplit(parts._replace(netloc=f"{host}:{parts.port}"))
