"""A bucket of an S3 endpoint that Windtunnel did not start, through Hadoop's S3A."""

from __future__ import annotations

import configparser
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from windtunnel.cluster import Cluster
from windtunnel.cluster.existing_storage import S3Endpoint, file_of
from windtunnel.engines.ceph import s3a
from windtunnel.engines.ceph.cluster import write_private
from windtunnel.engines.certificate import trust_store, trusting
from windtunnel.engines.existing_storage import ExistingStorage
from windtunnel.engines.hadoop.cds import ClientClasses
from windtunnel.engines.storage_system import Jvms, no_warm_starts
from windtunnel.errors import DeploymentError, DescriptionError

_KEYS: Final = ("aws_access_key_id", "aws_secret_access_key")
_SESSION: Final = "aws_session_token"  # of temporary keys
_LIMIT_S: Final = 10.0


class ExistingS3(ExistingStorage):
    """See the module's docstring."""

    name: ClassVar[str] = "existing-s3"
    engines: ClassVar[frozenset[str] | None] = frozenset({"pig", "spark"})
    remedy: ClassVar[str] = "check the bucket, the keys and their permissions, and 'region'."

    @classmethod
    def problems(cls, cluster: Cluster) -> list[str]:
        """The keys must be readable; Windtunnel does not know the replicas of the bucket."""
        found, given = [], _given(cluster)
        if cluster.replication != 1 or cluster.storage.erasure_code:
            found.append(
                "storage: the replicas of a bucket are those of its owner, and S3A reports 1: set "
                "'replication' to 1, without 'erasure_code'"
            )
        found += no_warm_starts(cluster)
        try:
            _keys(given)
            _trusted(given)
        except DescriptionError as error:
            found.append(f"storage.s3: {error.message}")
        return found

    @classmethod
    def outside(cls, cluster: Cluster) -> str:
        """The bucket and the endpoint."""
        given = _given(cluster)
        return f"the bucket {given.bucket} of {given.endpoint}"

    @classmethod
    def jars(cls, cluster: Cluster) -> Sequence[Path]:
        """Hadoop's S3A and the modules of the AWS SDK that it uses, fetched if missing."""
        return s3a.jars(cluster)

    @classmethod
    def client_classes(cls, cluster: Cluster) -> ClientClasses:
        """The classes of S3A and of the AWS SDK."""
        return s3a.client_classes(cluster)

    @property
    def given(self) -> S3Endpoint:
        """The endpoint and the bucket of the description."""
        return _given(self.cluster)

    def settings(self) -> Mapping[str, str]:
        """The bucket as the default file system."""
        given = self.given
        return {
            **s3a.settings(
                self.cluster,
                given.bucket,
                given.endpoint,
                self._credentials,
                region=given.region,
                path_style=given.path_style,
            ),
            # the removal of a folder also ends the uploads that killed tasks have begun
            "fs.s3a.directory.operations.purge.uploads": "true",
        }

    def java_options(self) -> tuple[str, ...]:
        """The trust store, if the description has its own certificates."""
        return trusting(self._store) if self.given.ca_file else ()

    def connect(self, jvms: Jvms) -> None:
        """Write the keys and the certificates, and the address for the JVMs, which use no DNS."""
        given = self.given
        try:
            address = _reached(given)
            write_private(self._credentials, s3a.profile(_keys(given)))
            if (trusted := _trusted(given)) is not None:
                self._store.write_bytes(trusted)
        except DescriptionError as error:
            raise DeploymentError(f"storage.s3: {error.message}", remedy=error.remedy) from error
        names = [given.host] if given.path_style else [given.host, f"{given.bucket}.{given.host}"]
        with jvms.hosts_file.open("a") as file:
            file.writelines(f"{address} {name}\n" for name in names if name != address)

    def facts(self) -> dict[str, Any]:
        """The jars of the client."""
        return {"hadoop": s3a.client(self.cluster).facts()}

    @property
    def _credentials(self) -> Path:
        return self.folder / "credentials"

    @property
    def _store(self) -> Path:
        return self.folder / "trusted.p12"


def _given(cluster: Cluster) -> S3Endpoint:
    given = cluster.storage.s3
    assert given is not None, "the description is checked"
    return given


def _keys(given: S3Endpoint) -> dict[str, str]:
    """The keys of the profile; raises DescriptionError, which contains no key."""
    path = file_of(given.keys_file)
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text(errors="replace"))
        found = dict(parser[given.profile])
    except OSError as error:
        raise DescriptionError(f"keys_file {path} cannot be read: {error.strerror}") from error
    except configparser.Error:
        raise DescriptionError(
            f"keys_file {path} is not a file of keys in the format of the AWS CLI"
        ) from None
    except KeyError:
        raise DescriptionError(f"keys_file {path} has no profile [{given.profile}]") from None
    if missing := [name for name in _KEYS if not found.get(name)]:
        raise DescriptionError(
            f"the profile [{given.profile}] of {path} lacks {' and '.join(missing)}"
        )
    return {name: found[name] for name in (*_KEYS, _SESSION) if found.get(name)}


def _trusted(given: S3Endpoint) -> bytes | None:
    """The trust store of the certificates in ``ca_file``; raises DescriptionError."""
    if given.ca_file is None:
        return None
    path = file_of(given.ca_file)
    try:
        return trust_store(path.read_bytes())
    except OSError as error:
        raise DescriptionError(f"ca_file {path} cannot be read: {error.strerror}") from error
    except ValueError:
        raise DescriptionError(f"ca_file {path} contains no certificate in PEM format") from None


def _reached(given: S3Endpoint) -> str:
    """The IP address of the endpoint, which accepts connections; raises DescriptionError."""
    try:
        found = socket.getaddrinfo(given.host, given.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise DescriptionError(
            f"the host {given.host} has no known address: {error}",
            remedy="check 'endpoint', and the name resolution of this machine.",
        ) from error
    problems = []
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as trial:
                trial.settimeout(_LIMIT_S)
                trial.connect(address)
                return str(address[0])
        except OSError as error:
            problems.append(error.strerror or str(error))
    raise DescriptionError(
        f"{given.endpoint} does not accept connections: {'; '.join(dict.fromkeys(problems))}",
        remedy="check 'endpoint' and that the server runs.",
    )
