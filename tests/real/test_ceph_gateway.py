"""Hadoop on an object store: a WordCount during which Ceph's gateway is killed and restarted."""

from __future__ import annotations

import configparser
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import by_hand, wait_for
from tests.real.storage_trials import (
    TWO_OSDS,
    count_of,
    fault_study,
    file_is_read_as_written,
    fully_replicated,
    killed_trial,
    small_study,
    survived,
    verified_inside,
)
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.ceph import programs
from windtunnel.engines.ceph.gateway import ObjectGateway, signed
from windtunnel.engines.existing_storage import OWNER, this_process
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

CHANGES = {**TWO_OSDS, "storage.tls": True}
STUDY = fault_study(
    "local-3-s3a",
    CHANGES,
    workload=count_of("10 MB", 2),
    fault={"role": "rgw", "after": "500 ms", "lasts": "3 s"},
)

pytestmark = pytest.mark.skipif(
    bool(programs.missing(programs.GATEWAY)),
    reason=f"Ceph's gateway is not installed: {programs.GATEWAY.install}",
)


@pytest.fixture(scope="module")
def store(testbed: LocalTestbed) -> Iterator[LocalDeployment]:
    """Two OSDs on two workers, which hold a copy each, and a gateway."""
    cluster = apply_overrides(load_cluster("local-3-s3a"), CHANGES)
    with testbed.deploy(cluster) as running:
        yield running


def test_wordcount_is_verified_although_the_gateway_dies(
    store: LocalDeployment, tmp_path: Path
) -> None:
    trial = killed_trial(STUDY, store, tmp_path / "results")
    fault = survived(trial)
    assert fault.target == "the rgw on master"
    stored = trial.metrics["stored_per_byte"].value
    assert 1.9 < stored < 2.6, "two copies, and what the disks allocate"
    wait_for(lambda: fully_replicated(store, 2), "all replicas", 60)

    with store.hosts[0].open_socket() as plain:
        plain.settimeout(10)
        plain.connect((store.hosts[0].address, 7480))
        plain.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n")
        assert b"200 OK" not in plain.recv(200), "the gateway answers through TLS only"

    keys = next(store.registration.folder.rglob("ceph/credentials")).read_text()
    secret = keys.rsplit("=", 1)[1].strip()
    assert len(secret) == 40
    written = [*(tmp_path / "results").rglob("*"), *store.logs.rglob("*")]
    shown = [f for f in written if f.is_file() and secret.encode() in f.read_bytes()]
    assert shown == [], "no log and no result contains the secret key"


def test_a_client_reads_what_it_wrote(store: LocalDeployment, tmp_path: Path) -> None:
    file_is_read_as_written(store, tmp_path)
    (status,) = [f for f in store.files.list_files("/tmp") if f.path == "/tmp/file"]
    assert status.length_bytes == 25_600_000
    assert store.files.read("/tmp/file", 300) == bytes(range(256)) + bytes(range(44))


def test_a_bucket_that_windtunnel_did_not_create_is_used_and_emptied(
    store: LocalDeployment, tmp_path: Path
) -> None:
    """What an ended run left is removed first."""
    given = {"kind": "existing-s3", "replication": 1, "s3": _given_bucket(store, tmp_path)}
    ended = {**this_process(), "process": [2**22 + 1, 5, "another boot"]}
    (tmp_path / OWNER).write_text(json.dumps(ended))
    (tmp_path / "windtunnel").write_text("left")
    if ended["machine_id"]:  # otherwise nobody knows that it has ended
        left = [str(tmp_path / name) for name in (OWNER, "windtunnel")]
        by_hand(store, "hdfs", "dfs", "-put", *left, f"{BUCKET}/")
        assert OWNER in _listed(store)

    verified_inside(store, small_study(given, roles=[]), tmp_path)
    facts = [file.read_text() for file in (tmp_path / "results/provenance").glob("*.json")]
    assert any('"guarded": true' in text for text in facts)
    assert _listed(store) == ""
    secret = _keys(store).encode()
    written = [file for file in (tmp_path / "results").rglob("*") if file.is_file()]
    assert [file for file in written if secret in file.read_bytes()] == []


BUCKET = "s3a://bench"


def _keys(store: LocalDeployment) -> str:
    """The secret key of the gateway's user."""
    text = next(store.registration.folder.rglob("ceph/credentials")).read_text()
    return text.rsplit("=", 1)[1].strip()


def _listed(store: LocalDeployment) -> str:
    """The lines about files and folders below the bucket."""
    done = by_hand(store, "hdfs", "dfs", "-ls", "-R", f"{BUCKET}/")
    return "\n".join(line for line in done.splitlines() if BUCKET in line)


def _given_bucket(store: LocalDeployment, folder: Path) -> dict[str, Any]:
    """The description of a new bucket of the gateway."""
    gateway = store.storage
    assert isinstance(gateway, ObjectGateway) and gateway._certificate is not None
    keys = next(store.registration.folder.rglob("ceph/credentials"))
    certificate = folder / "ca.pem"
    certificate.write_text(gateway._certificate.certificate)
    address = store.hosts[0].address
    profile = configparser.ConfigParser()
    profile.read(keys)
    fields = profile["windtunnel"]
    trust = ssl.create_default_context(cadata=certificate.read_text())
    connection = http.client.HTTPConnection(address, 7480)
    plain = store.hosts[0].open_socket()
    plain.connect((address, 7480))
    connection.sock = trust.wrap_socket(plain, server_hostname=address)
    headers = signed("PUT", "/bench", fields["aws_access_key_id"], fields["aws_secret_access_key"])
    connection.request("PUT", "/bench", headers=headers)
    assert connection.getresponse().status == 200
    connection.close()
    return {
        "endpoint": f"https://{address}:7480",
        "bucket": "bench",
        "keys_file": str(keys),
        "profile": "windtunnel",
        "ca_file": str(certificate),
    }
