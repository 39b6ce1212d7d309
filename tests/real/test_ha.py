"""High availability of the NameNode: the active one is killed during TeraSort and PUT."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import by_hand, wait_for
from windtunnel.cluster import apply_overrides, load_cluster, load_text, validate
from windtunnel.results.folder import read_results
from windtunnel.results.record import Trial
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import Conditions, run_trial
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

CHANGES = {"hosts.worker.count": 2, "storage.replication": 2}
STUDY = """\
study: ha
cluster: local-3-ha
set:
  hosts.worker.count: 2
  storage.replication: 2
  settings.mapreduce.job.ubertask.enable: true
  settings.yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms: 100
workloads:
  terasort: {rows: 500000, maps: 1, input_replication: 2, output_replication: 2}
factors:
  fault:
    none: {}
    killed:
      fault:
        {kind: kill-daemon, role: namenode, host: active, phase: terasort, watch: 0 s}
baseline: {fault: none}
protocol: {rounds: 1, trial_time_limit: 5 min}
"""


@pytest.fixture(scope="module")
def available(testbed: LocalTestbed) -> Iterator[LocalDeployment]:
    """Two NameNodes, three JournalNodes and ZooKeeper servers, two DataNodes."""
    cluster = apply_overrides(load_cluster("local-3-ha"), CHANGES)
    with testbed.deploy(cluster) as running:
        yield running


def killed_trial(deployment: LocalDeployment, folder: Path) -> Trial:
    located = load_text(STUDY, "study.yaml")
    plan = make_plan(validate(StudyFile, located), located)
    with open_journal(folder, study_record(plan)) as journal:
        slot = next(s for s in plan.round_slots(1) if s.treatment.id == "killed")
        run_trial(plan, slot, 1, deployment, journal, Conditions())
    (trial,) = read_results(folder).trials
    return trial


def test_terasort_is_verified_although_the_active_namenode_dies(
    available: LocalDeployment, tmp_path: Path
) -> None:
    first = available.storage.active_host()
    assert first == "master"
    trial = killed_trial(available, tmp_path / "results")

    assert trial.verdict.valid, trial.verdict.reason
    assert trial.outcome == "finished"
    (fault,) = trial.faults
    assert fault.target == "the active namenode"
    assert fault.undone_at is not None
    assert available.storage.active_host() == "standby", "the other one has taken over"
    assert {"namenode@master", "namenode@standby", "journalnode@witness"} <= set(
        available.processes()
    )
    states = available.daemons.masters.namenode_states()
    assert states == {"master": "standby", "standby": "active"}


def test_a_put_survives_the_failover(available: LocalDeployment, tmp_path: Path) -> None:
    content = bytes(range(256)) * 40_000
    (tmp_path / "file").write_bytes(content)
    (tmp_path / "back").mkdir()
    by_hand(available, "hdfs", "dfs", "-put", str(tmp_path / "file"), "/tmp/acknowledged")
    active = available.storage.active_host()
    assert active is not None

    undo = available.faulty.kill_daemon("namenode", "active")
    began = time.monotonic()
    by_hand(available, "hdfs", "dfs", "-put", str(tmp_path / "file"), "/tmp/during")
    assert time.monotonic() - began < 90
    assert available.storage.active_host() not in (None, active)
    undo()
    available.faulty.restore(copies=True)

    for name in ("acknowledged", "during"):
        by_hand(available, "hdfs", "dfs", "-get", f"/tmp/{name}", str(tmp_path / "back"))
        assert (tmp_path / "back" / name).read_bytes() == content
    wait_for(lambda: len(available.daemons.masters.namenode_states()) == 2, "both NameNodes", 60)
