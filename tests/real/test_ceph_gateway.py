"""Hadoop on an object store: a TeraSort during which Ceph's gateway is killed and restarted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import by_hand
from windtunnel.cluster import apply_overrides, load_cluster, load_text, validate
from windtunnel.engines.ceph import programs
from windtunnel.results.folder import read_results
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import Conditions, run_trial
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

CHANGES = {
    "hosts.worker.count": 2,
    "storage.replication": 2,
    "storage.block_size": "16 MiB",
    "storage.tls": True,
}
STUDY = """\
study: gateway
cluster: local-3-s3a
set:
  hosts.worker.count: 2
  storage.replication: 2
  storage.block_size: 16 MiB
  storage.tls: true
  settings.mapreduce.job.ubertask.enable: true
  settings.yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms: 100
workloads:
  terasort: {rows: 200000, maps: 1, input_replication: 2, output_replication: 2}
factors:
  fault:
    none: {}
    killed:
      fault: {kind: kill-daemon, role: rgw, phase: terasort, after: 500 ms, lasts: 3 s, watch: 0 s}
baseline: {fault: none}
protocol: {rounds: 1, trial_time_limit: 5 min}
"""

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


def test_terasort_is_verified_although_the_gateway_dies(
    store: LocalDeployment, tmp_path: Path
) -> None:
    located = load_text(STUDY, "study.yaml")
    plan = make_plan(validate(StudyFile, located), located)
    with open_journal(tmp_path / "results", study_record(plan)) as journal:
        slot = next(s for s in plan.round_slots(1) if s.treatment.id == "killed")
        run_trial(plan, slot, 1, store, journal, Conditions())
    (trial,) = read_results(tmp_path / "results").trials

    assert trial.verdict.valid, trial.verdict.reason
    assert trial.outcome == "finished"
    (fault,) = trial.faults
    assert fault.target == "the rgw on master"
    assert fault.undone_at is not None
    stored = trial.metrics["stored_per_byte"].value
    assert 1.9 < stored < 2.6, "two copies, and what the disks allocate"
    whole = store.storage.copies({})
    assert whole is not None
    assert (whole.holders, whole.wanting, whole.serving) == (2, 0, True)

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
    (tmp_path / "file").write_bytes(bytes(range(256)) * 100_000)
    (tmp_path / "back").mkdir()
    by_hand(store, "hdfs", "dfs", "-put", str(tmp_path / "file"), "/tmp/file")
    by_hand(store, "hdfs", "dfs", "-get", "/tmp/file", str(tmp_path / "back"))

    assert (tmp_path / "back" / "file").read_bytes() == (tmp_path / "file").read_bytes()
    (status,) = [f for f in store.files.list_files("/tmp") if f.path == "/tmp/file"]
    assert status.length_bytes == 25_600_000
    assert store.files.read("/tmp/file", 300) == bytes(range(256)) + bytes(range(44))
