"""Storage systems that a cluster description names, and that Windtunnel did not start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field

from windtunnel.cluster.hosts import Part

_PORTS = {"http": 80, "https": 443}


def _address(value: str) -> str:
    """Refuse what is not the address of a server alone; returns ``SCHEME://HOST:PORT``."""
    try:
        parts = urlsplit(value)
        good = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("an endpoint is http://HOST:PORT or https://HOST:PORT")
    return f"{parts.scheme}://{parts.netloc}"


def _folder(value: str) -> str:
    if not value.startswith("/") or ".." in value.split("/"):
        raise ValueError("a folder of CephFS is an absolute path, such as /benchmarks")
    return value.rstrip("/") or "/"


def file_of(path: str) -> Path:
    """A file of this machine: relative to the current folder, ``~`` is the home folder."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:  # ~NAME of an unknown account
        return Path(path).absolute()


class S3Endpoint(Part):
    """A bucket of an S3 endpoint; one cluster at a time uses it."""

    endpoint: Annotated[str, AfterValidator(_address)] = Field(
        description="Address, such as `https://s3.example.org:9000`."
    )
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")] = Field(
        description="An empty bucket; a cluster removes its files there at the end."
    )
    keys_file: str = Field(
        description="File with the keys, in the format of the AWS CLI (`~/.aws/credentials`)."
    )
    profile: str = Field("default", description="Profile in `keys_file`.")
    region: str = Field("us-east-1", description="Region of the signatures.")
    path_style: bool = Field(
        True,
        description="Whether the bucket is in the path of a request, and not in the host name.",
    )
    ca_file: str | None = Field(
        None,
        description="PEM file of the certificates that are trusted; default: those of Java.",
    )

    @property
    def host(self) -> str:
        """The name or IP address of the server."""
        return self._parts.hostname or ""

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._parts.port or _PORTS[self._parts.scheme]

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.endpoint)


class CephClient(Part):
    """A client of an existing Ceph cluster, and its folder; one cluster at a time uses it."""

    conf: str = Field(description="`ceph.conf` with the addresses of the monitors.")
    client: Annotated[str, Field(pattern=r"^[\w.-]+$")] = Field(
        description="Name of the client, without `client.`."
    )
    keyring: str = Field(description="File with the key of this client.")
    folder: Annotated[str, AfterValidator(_folder)] = Field(
        "/", description="An empty folder; a cluster removes its files there at the end."
    )
    file_system: str | None = Field(
        None, description="Name of the file system; default: the one that Ceph has as its default."
    )
