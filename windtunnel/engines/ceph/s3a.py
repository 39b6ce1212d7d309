"""Hadoop's client of object stores, S3A: its jars, settings and keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from windtunnel.cluster import Cluster
from windtunnel.engines.artifacts import ArtifactSet, ensure_shipped
from windtunnel.engines.ceph.cluster import OWN_JAR
from windtunnel.engines.hadoop.cds import ClientClasses, class_list
from windtunnel.engines.hadoop.releases import line_of

_NAME: Final = "s3a"  # of the lock and of the list of classes
_PROFILE: Final = "windtunnel"
_BLOCK_BYTES: Final = 128 << 20  # as dfs.blocksize in hdfs-default.xml


def client(cluster: Cluster) -> ArtifactSet:
    """Hadoop's S3A and the modules of the AWS SDK that it uses, fetched if missing."""
    line = line_of(cluster.software.hadoop).lock.removeprefix("hadoop-")
    return ensure_shipped(f"{_NAME}-{line}")


def jars(cluster: Cluster) -> Sequence[Path]:
    """The jars of :func:`client`, then Windtunnel's own."""
    return [*(jar.path for jar in client(cluster).jars), OWN_JAR]


def client_classes(cluster: Cluster) -> ClientClasses:
    """The classes of S3A and of the AWS SDK."""
    return ClientClasses([jar.path for jar in client(cluster).jars], class_list(__package__, _NAME))


def settings(
    cluster: Cluster,
    bucket: str,
    endpoint: str,
    keys_file: Path,
    *,
    region: str,
    path_style: bool = True,
) -> dict[str, str]:
    """The properties with which Hadoop has a bucket as its default file system.

    Parameters
    ----------
    endpoint:
        ``http://HOST:PORT`` or ``https://HOST:PORT``.
    keys_file:
        A file with the text of :func:`profile`.
    """
    block = int(cluster.storage.block_size or _BLOCK_BYTES)
    return {
        "fs.defaultFS": f"s3a://{bucket}/",
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.endpoint.region": region,
        "fs.s3a.connection.ssl.enabled": str(endpoint.startswith("https:")).lower(),
        "fs.s3a.path.style.access": str(path_style).lower(),
        "fs.s3a.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.auth.ProfileAWSCredentialsProvider"
        ),
        "fs.s3a.auth.profile.file": str(keys_file),
        "fs.s3a.auth.profile.name": _PROFILE,
        "fs.s3a.block.size": str(block),  # so that jobs have as many splits as on HDFS
        "fs.s3a.audit.execution.interceptors": "io.windtunnel.s3.WholePayload",
        "fs.s3a.etag.checksum.enabled": "true",
        # the default of Hadoop 3.5, analytics, deadlocks (two locks in different orders: BlobStore
        # and Blob of its library 1.3.1) when the client of TeraSort of 1 GB reads its input
        "fs.s3a.input.stream.type": "classic",
        "fs.s3a.committer.name": "magic",
        "mapreduce.outputcommitter.factory.scheme.s3a": (
            "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
        ),
    }


def profile(keys: Mapping[str, str]) -> str:
    """The text of a credentials file of the AWS SDK; keys such as ``aws_secret_access_key``."""
    return f"[{_PROFILE}]\n" + "".join(f"{name} = {value}\n" for name, value in keys.items())
