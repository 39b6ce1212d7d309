"""Hadoop on an object store: a WordCount during which Ceph's gateway is killed and restarted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import wait_for
from tests.real.storage_trials import (
    count_of,
    fault_study,
    file_is_read_as_written,
    fully_replicated,
    killed_trial,
    survived,
)
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.ceph import programs
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

CHANGES = {
    "hosts.worker.count": 2,
    "storage.replication": 2,
    "storage.block_size": "16 MiB",
    "storage.tls": True,
}
STUDY = fault_study(
    "local-3-s3a",
    CHANGES,
    workload=count_of("20 MB", 2),
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
