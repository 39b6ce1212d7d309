"""CephFS mounted with ceph-fuse: the order of its start, without a running Ceph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.ceph import CLEAN, Started
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.ceph import fuse
from windtunnel.engines.ceph.fuse import CephFuse
from windtunnel.errors import DeploymentError, DescriptionError
from windtunnel.study.faults.kill import KillHost

CHANGES = {
    "storage.kind": "ceph-fuse",
    "hosts.master.roles": ["mon", "mgr", "mds", "ceph-fuse", "resourcemanager", "historyserver"],
}
CLUSTER = apply_overrides(load_cluster("local-3-cephfs"), CHANGES)


def waiting(folder: Path, code: int | None = 0) -> Started:
    """A cluster whose OSDs are up."""
    found = Started(CLUSTER, folder, code=code)
    found.monitors.status = CLEAN
    found.storage._making.clear()
    found.storage._set_up = True
    for placement in found.storage.ground.placements:
        made: Any = placement.host
        made.spawn = found.spawn
    return found


def mounted(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The table of mounts of all processes."""
    monkeypatch.setattr(fuse, "_mounts_of", lambda pid: text)


def test_folders_are_made_after_the_mount_and_the_server_starts_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = waiting(tmp_path)
    mounted(monkeypatch, "")
    assert list(found.storage.state().missing) == ["the mount"]
    assert found.spawned[-1] == "ceph-fuse@master"
    assert list(found.storage.state().missing) == ["the mount"]
    assert found.spawned.count("ceph-fuse@master") == 1

    mounted(monkeypatch, f"1 2 0:3 / {tmp_path}/shared/cephfs rw - fuse.ceph-fuse\n")
    assert found.storage.state().serving
    assert found.spawned[-2:] == ["folders@master", "fileserver@master"]
    assert found.words[2:] == ("2",), "the server reports the replicas of the pool"
    assert found.monitors.opened == 1
    assert found.storage.plays("ceph-fuse@master")


def test_a_mount_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = waiting(tmp_path, code=1)
    mounted(monkeypatch, f" {tmp_path.resolve()}/shared/cephfs ")
    with pytest.raises(DeploymentError, match=r"cannot be written \(exit code 1\)"):
        found.storage.state()


def test_a_mount_that_does_not_come_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = waiting(tmp_path, code=None)
    mounted(monkeypatch, "")
    monkeypatch.setattr(fuse, "_START_LIMIT_S", 0.0)
    with pytest.raises(DeploymentError, match="not mounted after 0 s; still missing: the mount"):
        found.storage.start(found.jvms)


def test_hadoop_uses_local_files_without_the_library_of_ceph(tmp_path: Path) -> None:
    storage = waiting(tmp_path).storage
    assert isinstance(storage, CephFuse)
    settings = storage.settings()
    assert settings["fs.defaultFS"] == "viewfs://windtunnel/"
    point = CephFuse.mount_point(tmp_path / "shared")
    assert f"file://{point}/windtunnel" in settings.values()
    assert (storage.jars(CLUSTER), storage.java_options()) == ((), ())


def test_one_host_has_the_mount() -> None:
    assert CephFuse.problems(CLUSTER) == []
    roles = {"hosts.worker.roles": ["osd", "nodemanager", "ceph-fuse"]}
    (problem,) = CephFuse.problems(apply_overrides(CLUSTER, roles))
    assert "exactly one host must have the role ceph-fuse, but 4 have it" in problem
    with pytest.raises(DescriptionError, match="role 'ceph-fuse'"):
        apply_overrides(load_cluster("local-3-cephfs"), {"storage.kind": "ceph-fuse"})


def test_a_state_folder_below_a_symbolic_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    found = waiting(tmp_path / "link")
    mounted(monkeypatch, f" {tmp_path.resolve()}/disk/shared/cephfs ")
    assert found.storage.state().serving


def test_the_host_of_the_mount_cannot_be_killed() -> None:
    (problem,) = KillHost(kind="kill-host", host="master").problems(CLUSTER)
    assert "the ceph-fuse on master cannot be restarted" in problem
    assert list(KillHost(kind="kill-host", host="worker-1").problems(CLUSTER)) == []
