"""In which order Hadoop's daemons start, on hosts that only keep a list."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.cluster import load_cluster
from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.engines.hadoop.hdfs import Hdfs
from windtunnel.engines.storage_system import Ground
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import ProcessSpec

ROLES = {
    "worker-1": ["datanode", "nodemanager"],
    "worker-2": ["datanode", "nodemanager"],
    "master": ["historyserver", "resourcemanager", "namenode"],
}


class Recorded:
    """Hosts whose processes are names in a list; formatting ends with ``code``."""

    def __init__(self, folder: Path, code: int) -> None:
        self.started: list[str] = []
        self.code = code
        software = SimpleNamespace(
            command=lambda *_, **__: [], java=Path("/java/bin/java"), version="3.5.0"
        )
        hosts = {name: self.host(folder / name) for name in ROLES}
        self.layout: Any = SimpleNamespace(
            placements=[SimpleNamespace(host=hosts[n], roles=r) for n, r in ROLES.items()],
            host_of=lambda role: hosts["master"],
            software=software,
            binding=lambda address: None,
            properties=lambda host: {},
        )

    def host(self, folder: Path) -> Any:
        current = folder / "name" / "current"
        current.mkdir(parents=True)
        (current / "VERSION").write_text("namespaceID=1\nclusterID=a\ncTime=1\nblockpoolID=b\n")
        return SimpleNamespace(
            name=folder.name,
            address="127.0.0.1",
            account="windtunnel",
            root=folder,
            logs=folder,
            spawn=self.spawn,
            write_bytes=lambda path, data: path.write_bytes(data),
        )

    def spawn(self, spec: ProcessSpec) -> Any:
        self.started.append(spec.name)

        def wait(limit_s: float) -> int:
            self.started.append("formatted")
            return self.code

        return SimpleNamespace(name=spec.name, log=spec.log, wait=wait, returncode=lambda: None)


def daemons(hosts: Recorded, folder: Path) -> Daemons:
    storage = Hdfs(Ground(load_cluster("local-3"), [], folder, own_networks=False))
    return Daemons(hosts.layout, storage, folder / "hosts", folder)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("psutil.cpu_count", lambda: 8)


def test_the_second_deployment_does_not_format(tmp_path: Path) -> None:
    for name in ("first", "second"):
        hosts = Recorded(tmp_path / name, code=0)
        daemons(hosts, tmp_path).start()

    assert hosts.started[:2] == ["namenode@master", "resourcemanager@master"]
    assert len(hosts.started) == 6


def test_nobody_starts_long_before_the_one_that_it_asks(tmp_path: Path) -> None:
    hosts = Recorded(tmp_path, code=0)
    daemons(hosts, tmp_path).start()

    order = hosts.started
    assert order[:4] == [
        "namenode@master-format",
        "resourcemanager@master",
        "formatted",
        "namenode@master",
    ]
    assert sorted(order[4:]) == [
        f"{role}@worker-{number}" for role in ("datanode", "nodemanager") for number in (1, 2)
    ], "the history server waits for the NameNode"


def test_on_two_cores_workers_start_when_their_masters_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.cpu_count", lambda: 2)
    hosts = Recorded(tmp_path, code=0)
    started = daemons(hosts, tmp_path)
    seen: list[list[str]] = []
    answering: set[str] = set()

    class Answers:
        """The masters answer one after the other, and count all workers that were started."""

        def answers(self, role: str) -> bool:
            return role in answering

        def live_datanodes(self) -> tuple[int, bool]:
            return sum("datanode" in name for name in hosts.started), "namenode" not in answering

        def active_nodemanagers(self) -> int:
            return sum("nodemanager" in name for name in hosts.started)

        def history_answers(self) -> bool:
            return "historyserver@master" in hosts.started

    def poll(seconds: float) -> None:
        seen.append(hosts.started[4:])
        answering.add("resourcemanager" if answering else "namenode")

    monkeypatch.setattr(started, "masters", Answers())
    monkeypatch.setattr("time.sleep", poll)
    monkeypatch.setattr("windtunnel.engines.hadoop.daemons.keep_key", lambda host: None)
    started.start()
    started.wait_ready(60)

    stored = ["datanode@worker-1", "datanode@worker-2", "historyserver@master"]
    assert seen == [[], stored]
    assert hosts.started[4:] == [*stored, "nodemanager@worker-1", "nodemanager@worker-2"]


def test_without_a_file_system_nothing_more_is_started(tmp_path: Path) -> None:
    hosts = Recorded(tmp_path, code=1)
    with pytest.raises(DeploymentError, match="formatting the file system failed"):
        daemons(hosts, tmp_path).start()

    assert hosts.started[-1] == "formatted"
