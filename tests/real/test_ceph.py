"""Hadoop on CephFS: a TeraSort during which an OSD is killed, on a real Ceph cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.ceph_contract import runner
from tests.real.conftest import Cli, remains, wait_for
from tests.real.storage_trials import (
    TWO_OSDS,
    fault_study,
    file_is_read_as_written,
    fully_replicated,
    killed_trial,
    small_study,
    sort_of,
    survived,
    verified_inside,
)
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.ceph import mounted, programs
from windtunnel.engines.ceph.cephfs import CephFs
from windtunnel.engines.storage_checks.run import run_checks
from windtunnel.errors import SetupError
from windtunnel.hosts.leftovers import registered
from windtunnel.results.folder import read_results
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

STUDY = fault_study(
    "local-3-cephfs",
    TWO_OSDS,
    workload=sort_of(500_000, 2),
    fault={"role": "osd", "host": "worker-2", "after": "500 ms"},
)

FUSE_STUDY = small_study(
    {"kind": "ceph-fuse", "replication": 1},
    roles=["mon", "mgr", "mds", "ceph-fuse", "osd"],
    rounds=2,
)

pytestmark = pytest.mark.skipif(
    bool(programs.missing(programs.CEPHFS) + programs.missing(programs.FUSE)),
    reason=f"Ceph is not installed: {programs.CEPHFS.install} ceph-fuse",
)


@pytest.fixture(scope="module")
def ceph(testbed: LocalTestbed) -> Iterator[LocalDeployment]:
    """Two OSDs on two workers, which hold a copy each."""
    cluster = apply_overrides(load_cluster("local-3-cephfs"), TWO_OSDS)
    with testbed.deploy(cluster) as running:
        running.files.make_folder("/bench")  # without clients that CephFS would wait for
        assert isinstance(running.storage, CephFs)
        name = {"fs_name": "windtunnel", "var": "session_timeout", "val": "30"}
        running.storage.admin.run("fs set", **name)  # of clients that were killed; default: 60 s
        yield running


def test_nothing_is_left_after_the_program_was_killed_with_ceph_running(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL after a trial on mounted CephFS: neither processes nor files nor mounts remain."""
    state = tmp_path / "own-state"
    state.mkdir()
    monkeypatch.setenv("WINDTUNNEL_STATE", str(state))
    (tmp_path / "study.yaml").write_text(FUSE_STUDY)
    running = cli.start("run", "study.yaml", "--results", "results")
    results = tmp_path / "results"
    wait_for((results / "study.json").exists, "the results folder", 60)
    wait_for(lambda: running.poll() is not None or read_results(results).trials, "a trial", 200)
    (trial,) = read_results(results).trials
    assert trial.verdict.valid, trial.verdict.reason
    assert any("ceph-fuse" in words for words in remains(state))
    running.kill()
    running.communicate(timeout=30)
    assert trial.metrics["stored_per_byte"].value < 1.3, "one copy, and what the disks allocate"

    wait_for(lambda: remains(state) == [], "all daemons to end by themselves", 60)
    data = [entry.scratch for entry in registered()]
    assert data, "the entry remains for 'clean'"
    wait_for(lambda: not any(folder.exists() for folder in data), "the data to be removed", 60)
    assert str(state) not in Path("/proc/self/mountinfo").read_text()
    assert cli("clean").returncode == 0
    assert registered() == []
    assert list((state / "deployments").iterdir()) == []


def test_terasort_is_verified_although_an_osd_dies(ceph: LocalDeployment, tmp_path: Path) -> None:
    trial = killed_trial(STUDY, ceph, tmp_path / "results")
    fault = survived(trial)
    assert fault.target == "the osd on worker-2"
    stored = trial.metrics["stored_per_byte"].value
    assert 1.9 < stored < 2.6, "two copies, and what the disks allocate"
    wait_for(lambda: fully_replicated(ceph, 2), "all replicas", 60)
    assert {"mon@master", "mgr@master", "mds@master", "osd@worker-2"} <= set(ceph.processes())


def test_a_client_reads_what_it_wrote(ceph: LocalDeployment, tmp_path: Path) -> None:
    file_is_read_as_written(ceph, tmp_path)
    (status,) = [f for f in ceph.files.list_files("/tmp") if f.path == "/tmp/file"]
    assert (status.length_bytes, status.copies) == (25_600_000, "replication 2")
    blocks = ceph.files.replicas("/tmp/file")
    assert [sorted(hosts) for hosts in blocks] == [["worker-1", "worker-2"]] * 2
    assert ceph.files.read("/tmp/file", 300) == bytes(range(256)) + bytes(range(44))


def test_a_folder_is_used_and_emptied_with_a_key_for_this_folder_only(
    ceph: LocalDeployment, tmp_path: Path
) -> None:
    running = ceph.storage
    assert isinstance(running, CephFs)
    caps = ["mon", "allow r", "mds", "allow rwp path=/bench", "osd", "allow rw pool=data"]
    (made,) = running.admin.run("auth get-or-create", entity="client.bench", caps=caps)["list"]
    keyring = tmp_path / "keyring"
    keyring.write_text(f"[client.bench]\n\tkey = {made['key']}\n")
    given = {
        "conf": str(running.conf),
        "client": "bench",
        "keyring": str(keyring),
        "folder": "/bench",
    }
    storage = {"kind": "existing-cephfs", "replication": 2, "ceph": given}
    verified_inside(ceph, small_study(storage, roles=[]), tmp_path)
    assert (ceph.files.folders("/bench"), ceph.files.list_files("/bench")) == ([], [])


def test_hadoop_s_contract_of_file_systems_holds(ceph: LocalDeployment, tmp_path: Path) -> None:
    outcome = runner.run(ceph, tmp_path)
    assert outcome.failed == []
    assert outcome.unexplained() == []
    assert sum(outcome.passed.values()) > 150
    assert len(outcome.passed) == 13


def test_what_cephfs_promises_through_hadoop_and_mounted(ceph: LocalDeployment) -> None:
    hadoop, posix = run_checks(ceph, "CephFS", ceph.registration.folder)
    assert hadoop.answers["append"].word == "yes"
    assert hadoop.answers["data-after-hflush"].word == "yes"
    assert hadoop.answers["unlink-while-read"].word == "yes", "as POSIX states"
    assert hadoop.answers["hard-link"].word == "no"
    try:
        mounted.check()
    except SetupError as error:
        assert error.message in posix.missing
        return
    assert posix.missing == ""
    for name in ("hard-link", "lock", "random-overwrite", "rename-over-file", "snapshot"):
        assert posix.answers[name].word == "yes", f"{name}: {posix.answers[name].note}"
