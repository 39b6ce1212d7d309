"""Workers out of service and back, against masters that answer as told."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.deployment import FileStatus
from windtunnel.engines.hadoop import membership as module
from windtunnel.engines.hadoop.membership import Membership
from windtunnel.errors import DeploymentError


class Cluster:
    """Daemons, file system and clients of a made-up cluster; keeps the order of events."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[str] = []
        self.out: set[str] = set()
        self.state = "In Service"
        self.missing = 0
        self.held = {"/a/one": 3, "/a/b/two": 1}
        hosts = [SimpleNamespace(name=f"worker-{n}", address=f"10.9.0.{n + 2}") for n in (1, 2, 3)]
        self.worker = self.host = hosts[2]
        roles = ["datanode", "nodemanager"]
        placements = [SimpleNamespace(host=host, roles=roles) for host in hosts]
        self.layout = SimpleNamespace(placements=placements)
        self.masters = self

    # what Membership asks of the daemons
    def check_alive(self) -> None:
        pass

    def plays(self, name: str) -> bool:
        return name.endswith("worker-3")

    def release(self, names: list[str]) -> list[Any]:
        self.events.append(f"release {' '.join(names)}")
        ended = SimpleNamespace(kill=lambda: self.events.append("kill"), wait=lambda limit_s: -9)
        return [ended]

    def stop(self, names: list[str]) -> None:
        self.events.append(f"stop {' '.join(names)}")

    def restart_all(self, names: list[str]) -> dict[str, float]:
        self.events.append(f"start {' '.join(names)}")
        return dict.fromkeys(names, 1.0)

    def yarn_nodes(self) -> list[dict[str, Any]]:
        state = "DECOMMISSIONED" if "worker-3" in self.out else "RUNNING"
        return [{"nodeHostName": "worker-3", "state": state}]

    def namenode_bean(self, name: str) -> dict[str, Any]:
        if name == "NameNodeInfo":
            return {"LiveNodes": json.dumps({"worker-3:9866": {"adminState": self.state}})}
        return {"UnderReplicatedBlocks": 0, "MissingBlocks": self.missing}

    # of the file system
    def list_files(self, path: str) -> list[FileStatus]:
        found = [p for p in self.held if p.rpartition("/")[0] == path.rstrip("/")]
        return [FileStatus(p, 1, self.held[p]) for p in found]

    def folders(self, path: str) -> list[str]:
        return {"/": ["/a"], "/a": ["/a/b"]}.get(path, [])

    def set_replication(self, path: str, copies: int) -> None:
        self.events.append(f"{path} {copies}")
        self.held[path] = copies

    # of the clients
    def run(self, name: str, command: object, deadline_s: float) -> None:
        self.events.append(name)
        if name == "hdfs-refresh":
            excluded = (self.folder / "dfs.exclude").read_text().split()
            self.state = "Decommissioned" if excluded == ["10.9.0.5"] else "In Service"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(module, "client_command", lambda *words: list(words))
    Membership.settings(tmp_path)
    return Cluster(tmp_path)


def membership(cluster: Cluster) -> Membership:
    them: Any = cluster
    return Membership(them, them, them, cluster.folder)


def test_out_is_decommissioned_first_and_stopped_last(cluster: Cluster) -> None:
    membership(cluster).take_out([cluster.worker])

    assert cluster.events == [
        "release nodemanager@worker-3",
        "hdfs-refresh",
        "yarn-refresh",
        "/a/one 2",  # the file with one copy stays as it is
        "kill",
        "stop datanode@worker-3",
    ]
    assert (cluster.folder / "yarn.exclude").read_text() == "worker-3\n"


def test_back_gets_the_copies_back(cluster: Cluster) -> None:
    members = membership(cluster)
    members.take_out([cluster.worker])
    del cluster.events[:]
    waited: list[dict[str, float]] = []
    members.bring_back([cluster.worker], waited.append)

    assert cluster.events == [
        "hdfs-refresh",
        "yarn-refresh",
        "start datanode@worker-3 nodemanager@worker-3",
        "/a/one 3",
    ]
    assert set(waited[0]) == {"datanode@worker-3", "nodemanager@worker-3"}
    assert (cluster.folder / "dfs.exclude").read_text() == ""


def test_files_keep_as_many_copies_as_there_are_datanodes(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = membership(cluster)
    two = [placement.host for placement in cluster.layout.placements[1:]]
    cluster.held = {"/a/three": 3, "/a/two": 2}
    cluster.state = "Decommissioned"
    monkeypatch.setattr(cluster, "run", lambda *words: None)
    cluster.out = {"worker-2"}
    members.take_out(two[1:])
    assert cluster.held == {"/a/three": 1, "/a/two": 1}

    cluster.out = {"worker-2", "worker-3"}
    members.bring_back(two[:1], lambda started: None)
    assert cluster.held == {"/a/three": 2, "/a/two": 2}, "one worker is still out"
    members.bring_back(two[1:], lambda started: None)
    assert cluster.held == {"/a/three": 3, "/a/two": 2}


def test_a_decommission_without_end_is_given_up(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LIMIT_S", 0.0)
    monkeypatch.setattr(cluster, "run", lambda *words: None)
    with pytest.raises(DeploymentError, match="0 s waiting for the decommission of worker-3"):
        membership(cluster).take_out([cluster.worker])


def test_lost_blocks_are_said(cluster: Cluster) -> None:
    cluster.missing = 2
    with pytest.raises(DeploymentError, match="blocks without any replica: 2"):
        membership(cluster).wait_replicated()
