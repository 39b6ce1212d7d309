"""The storage of a cluster description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from windtunnel.cluster.erasure_code import HDFS_CODES, ErasureCode
from windtunnel.cluster.existing_storage import CephClient, S3Endpoint
from windtunnel.cluster.hosts import Count, Part
from windtunnel.cluster.quantity import ByteSize
from windtunnel.cluster.validation_messages import blame


def _code(value: str) -> str:
    """Refuse what is not the name of an erasure code."""
    return ErasureCode.parse(value).name


CodeName = Annotated[str, AfterValidator(_code)]
# Source: Hadoop documentation, ArchivalStorage ("Storage Policies").
StoragePolicy = Literal[
    "HOT", "WARM", "COLD", "ALL_SSD", "ONE_SSD", "ALL_NVDIMM", "LAZY_PERSIST", "PROVIDED"
]


class Storage(Part):
    """The storage of the workloads' data."""

    kind: Literal[
        "hdfs",
        "cephfs",
        "ceph-fuse",
        "s3a",
        "ozone",
        "nfs",
        "local",
        "existing-s3",
        "existing-cephfs",
    ] = Field("hdfs", description="Storage system below Hadoop.")
    replication: Count | None = Field(
        None,
        description="Default number of replicas of a file in HDFS, Ceph or Ozone; default: 3, at "
        "most one per storage host.",
    )
    erasure_code: CodeName | None = Field(
        None,
        description="Erasure code such as `RS-3-2`, instead of replicas of the workloads' files.",
    )
    block_size: ByteSize | None = Field(
        None, description="Block size of files: `dfs.blocksize`, or that of Ozone, CephFS or S3A."
    )
    external: tuple[str, ...] = Field(
        (),
        description="Host classes of a separate storage cluster; default: the compute hosts "
        "hold the data. Only with `hdfs`.",
    )
    ha: Annotated[bool, Field(strict=True)] | None = Field(
        None,
        description="High availability: an active and a standby NameNode with automatic failover.",
    )
    short_circuit: Annotated[bool, Field(strict=True)] | None = Field(
        None, description="Short-circuit reads of HDFS; no testbed supports them."
    )
    topology: Literal["flat", "rack", "host"] | None = Field(
        None,
        description="Failure domain of replicas in scale models: the DataNode (`flat`), the rack, "
        "or the physical host of virtual machines. Default: `host` with virtual machines, `rack` "
        "with racks, otherwise `flat`.",
    )
    file_system: Literal["ext4", "xfs"] | None = Field(
        None, description="File system of the data disks of a scale model; default: `ext4`."
    )
    tls: Annotated[bool, Field(strict=True)] | None = Field(
        None, description="Encrypt the connections to an object store."
    )
    policy: StoragePolicy | None = Field(
        None,
        description="Storage policy of HDFS for the files of the workloads; only on `attached`.",
    )

    s3: S3Endpoint | None = Field(
        None, description="The endpoint and the bucket of the kind `existing-s3`."
    )
    ceph: CephClient | None = Field(
        None, description="The client and the folder of the kind `existing-cephfs`."
    )

    @property
    def code(self) -> ErasureCode | None:
        """The erasure code; None with replication."""
        return ErasureCode.parse(self.erasure_code) if self.erasure_code else None

    @model_validator(mode="after")
    def _known_code(self) -> Storage:
        if self.ha and self.kind != "hdfs":
            raise blame(
                f"'ha' requires storage of kind hdfs, but the kind is {self.kind}",
                "ha",
                remedy="remove 'ha', or use 'kind: hdfs'.",
            )
        if self.tls and self.kind != "s3a":
            raise blame(
                f"'tls' requires storage of kind s3a, but the kind is {self.kind}",
                "tls",
                remedy="remove 'tls', or use 'kind: s3a'.",
            )
        if self.policy and self.kind != "hdfs":
            raise blame(
                f"'policy' requires storage of kind hdfs, but the kind is {self.kind}",
                "policy",
                remedy="remove 'policy', or use 'kind: hdfs'.",
            )
        if self.kind == "hdfs" and self.erasure_code not in (None, *HDFS_CODES):
            raise blame(
                f"HDFS has no erasure code {self.erasure_code}",
                "erasure_code",
                remedy=f"its codes are: {', '.join(HDFS_CODES)}.",
            )
        return self

    @model_validator(mode="after")
    def _existing(self) -> Storage:
        """An existing storage system needs its address, and no other one has such an address."""
        for key, kind in (("s3", "existing-s3"), ("ceph", "existing-cephfs")):
            given = getattr(self, key) is not None
            if given and self.kind != kind:
                raise blame(
                    f"'{key}' requires storage of kind {kind}, but the kind is {self.kind}",
                    key,
                    remedy=f"remove '{key}', or use 'kind: {kind}'.",
                )
            if self.kind == kind and not given:
                raise blame(
                    f"storage of kind {kind} requires '{key}'",
                    "kind",
                    remedy=f"add 'storage.{key}', or use another kind.",
                )
        return self

    @model_serializer(mode="wrap")
    def _without_default(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Plain data; existing fingerprints contain none of the newer keys."""
        found: dict[str, Any] = serialise(self)
        for name in ("ha", "tls", "policy", "s3", "ceph"):
            if getattr(self, name) is None:
                found.pop(name, None)
        return found
