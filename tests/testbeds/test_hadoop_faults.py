"""Killing daemons on purpose: no crash to those who watch, and started again as they were."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.faulty import Breakable, Copies
from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.errors import DeploymentError, NotRealisableError
from windtunnel.testbeds import hadoop_faults
from windtunnel.testbeds.hadoop_faults import HadoopFaults

BEAN = {
    "FSState": "Operational",
    "NumLiveDataNodes": 3,
    "UnderReplicatedBlocks": 0,
    "PendingReplicationBlocks": 0,
}


class Sleeper:
    """A process that sleeps, as a daemon of the supervisor's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.log = Path("daemon.log")
        self._child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        self.pid = self._child.pid

    def returncode(self) -> int | None:
        return self._child.poll()

    def wait(self, timeout_s: float) -> int | None:
        return self._child.wait(timeout_s)

    def kill(self) -> None:
        self._child.terminate()


class Fakes(Daemons):
    """Real bookkeeping over sleeping processes and a made-up NameNode."""

    def __init__(self, names: list[str]) -> None:
        self.running = {name: Sleeper(name) for name in names}
        self.out = set()
        self.started: list[str] = []
        self.waited: list[dict[str, float]] = []
        self.beans: list[dict[str, Any]] = [BEAN]
        self.anew_serve = True

    def restart(self, name: str) -> None:
        self.started.append(name)
        self.running[name] = Sleeper(name)

    def wait_ready(self, timeout_s: float, tell: Any = None, fresh: Any = None) -> None:
        self.waited.append(dict(fresh))

    def namenode_bean(self, name: str) -> dict[str, Any]:
        assert name == "FSNamesystemState", "the other bean is up to ten seconds old"
        return self.beans.pop(0) if len(self.beans) > 1 else self.beans[0]

    def serve(self, fresh: Any) -> bool:
        return self.anew_serve or not fresh


@pytest.fixture
def deployment() -> Iterator[Any]:
    names = ["namenode@master", "datanode@w1", "nodemanager@w1", "datanode@w2"]
    daemons = Fakes(names)
    yield SimpleNamespace(
        daemons=daemons,
        testbed="local",
        processes=lambda: {name: p.pid for name, p in daemons.running.items()},
        check_alive=daemons.check_alive,
        layout=SimpleNamespace(
            properties=lambda: {"dfs.namenode.redundancy.interval.seconds": "0"}
        ),
    )
    for process in daemons.running.values():
        process.kill()
        process.wait(10)


@pytest.fixture
def faults(deployment: Any, monkeypatch: pytest.MonkeyPatch) -> HadoopFaults:
    monkeypatch.setattr(hadoop_faults, "_STEP_S", 0.01)
    monkeypatch.setattr(HadoopFaults, "_recount_s", lambda self: 0.02)
    return HadoopFaults(deployment)


def test_a_killed_daemon_is_dead_and_no_crash(deployment: Any, faults: HadoopFaults) -> None:
    victim = deployment.daemons.running["datanode@w1"]
    undo = faults.kill_daemon("datanode", "w1")

    assert victim.returncode() == -signal.SIGKILL
    assert "datanode@w1" not in deployment.processes()
    deployment.check_alive()

    undo()
    assert deployment.daemons.started == ["datanode@w1"]
    deployment.check_alive()


def test_any_other_death_is_a_crash_all_the_same(deployment: Any, faults: HadoopFaults) -> None:
    faults.kill_daemon("datanode", "w1")
    other = deployment.daemons.running["datanode@w2"]
    other.kill()
    other.wait(10)
    with pytest.raises(DeploymentError, match="the datanode on w2 has died"):
        deployment.check_alive()


def test_a_daemon_that_was_started_again_is_watched_again(
    deployment: Any, faults: HadoopFaults
) -> None:
    faults.kill_daemon("datanode", "w1")()
    again = deployment.daemons.running["datanode@w1"]
    again.kill()
    again.wait(10)
    with pytest.raises(DeploymentError, match="the datanode on w1 has died"):
        deployment.check_alive()


def test_a_host_goes_with_all_its_daemons(deployment: Any, faults: HadoopFaults) -> None:
    undo = faults.kill_host("w1")
    assert set(deployment.processes()) == {"namenode@master", "datanode@w2"}
    undo()
    assert deployment.daemons.started == ["datanode@w1", "nodemanager@w1"]


def test_what_does_not_run_cannot_be_killed(faults: HadoopFaults) -> None:
    with pytest.raises(DeploymentError, match="resourcemanager@master does not run"):
        faults.kill_daemon("resourcemanager", "master")
    with pytest.raises(DeploymentError, match="no daemon"):
        faults.kill_host("w9")


def test_all_serve_and_every_block_is_whole_before_the_next_trial(
    deployment: Any, faults: HadoopFaults
) -> None:
    faults.kill_daemon("datanode", "w1")()
    deployment.daemons.beans = [{}, {**BEAN, "UnderReplicatedBlocks": 2}, BEAN]
    faults.restore(copies=True)
    (fresh,) = deployment.daemons.waited
    assert set(fresh) == {"datanode@w1"}
    assert deployment.daemons.beans == [BEAN]


def test_what_does_not_become_whole_is_told(
    deployment: Any, faults: HadoopFaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hadoop_faults, "_WHOLE_LIMIT_S", 0.0)
    deployment.daemons.beans = [{**BEAN, "PendingReplicationBlocks": 2}]
    with pytest.raises(DeploymentError, match="2 want a copy"):
        faults.restore(copies=True)
    faults.restore(copies=False)


def test_the_namenodes_word_on_copies(deployment: Any, faults: HadoopFaults) -> None:
    assert faults.copies() == Copies(3, 0, True)
    deployment.daemons.beans = [{**BEAN, "FSState": "safeMode", "UnderReplicatedBlocks": 7}]
    assert faults.copies() == Copies(3, 7, False)
    deployment.daemons.beans = [{}]
    assert faults.copies() is None


def test_a_datanode_that_has_not_reported_yet_does_not_serve(
    deployment: Any, faults: HadoopFaults
) -> None:
    faults.kill_daemon("datanode", "w1")()
    deployment.daemons.anew_serve = False
    assert faults.copies() == Copies(3, 0, False)


def test_hardware_is_not_this_testbeds(faults: HadoopFaults) -> None:
    for broken in (
        lambda: faults.cut("w1"),
        lambda: faults.slow_disk("w1", 1, 0.1),
        lambda: faults.slow_nic("w1", 0.1),
        lambda: faults.fill_disk("w1", 1, 1.0),
    ):
        with pytest.raises(NotRealisableError, match="'local' cannot break"):
            broken()


def test_deployments_can_be_broken(deployment: Any, faults: HadoopFaults) -> None:
    assert isinstance(SimpleNamespace(faulty=faults), Breakable)
    assert not isinstance(deployment, Breakable)
