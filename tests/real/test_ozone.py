"""Hadoop on Apache Ozone: a TeraSort during which the ozone manager is killed and restarted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import by_hand
from windtunnel.cluster import apply_overrides, load_cluster, load_text, validate
from windtunnel.results.folder import read_results
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import Conditions, run_trial
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

CHANGES = {
    "hosts.worker.roles": ["ozone-datanode"],
    "hosts.worker.extra_roles": {0: ["nodemanager"]},
}
STUDY = """\
study: ozone
cluster: local-3-ozone
set:
  hosts.worker.roles: [ozone-datanode]
  hosts.worker.extra_roles: {0: [nodemanager]}
  settings.mapreduce.job.ubertask.enable: true
  settings.yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms: 100
workloads:
  terasort: {rows: 100000, maps: 1, input_replication: 3, output_replication: 3}
factors:
  fault:
    none: {}
    killed:
      fault: {kind: kill-daemon, role: om, phase: terasort, after: 500 ms, lasts: 3 s, watch: 0 s}
baseline: {fault: none}
protocol: {rounds: 1, trial_time_limit: 5 min}
"""


@pytest.fixture(scope="module")
def store(testbed: LocalTestbed) -> Iterator[LocalDeployment]:
    """Three datanodes, which hold a replica each, and one NodeManager."""
    with testbed.deploy(apply_overrides(load_cluster("local-3-ozone"), CHANGES)) as running:
        yield running


def test_terasort_is_verified_although_the_ozone_manager_dies(
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
    assert fault.target == "the om on master"
    assert fault.undone_at is not None
    whole = store.storage.copies({})
    assert whole is not None
    assert (whole.holders, whole.wanting, whole.serving) == (3, 0, True)


def test_a_client_reads_what_it_wrote(store: LocalDeployment, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)) * 100_000)
    (tmp_path / "back").mkdir()
    by_hand(store, "hdfs", "dfs", "-put", str(tmp_path / "file"), "/tmp/file")
    by_hand(store, "hdfs", "dfs", "-get", "/tmp/file", str(tmp_path / "back"))

    assert (tmp_path / "back" / "file").read_bytes() == (tmp_path / "file").read_bytes()
    (status,) = [f for f in store.files.list_files("/tmp") if f.path == "/tmp/file"]
    assert (status.length_bytes, status.replication) == (25_600_000, 3)
