"""Killing daemons on purpose: no crash to those who watch, and started again as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.cluster import load_cluster
from windtunnel.engines.faults import Copies
from windtunnel.engines.hadoop.client import numbered
from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.engines.hadoop.hdfs import Hdfs, replicas_to_copy, under_replicated
from windtunnel.engines.storage_system import Ground
from windtunnel.errors import DeploymentError, NotRealisableError
from windtunnel.testbeds import hadoop_faults
from windtunnel.testbeds.hadoop_faults import HadoopFaults

BEAN = {
    "FSState": "Operational",
    "NumLiveDataNodes": 2,
    "NumDecommissioningDataNodes": 0,
    "NumDecomLiveDataNodes": 0,
}
HEALTHY = "Status: HEALTHY\n Missing blocks:\t\t0\n"


def under(*pairs: tuple[int, int], missing: int = 0) -> str:
    """The NameNode's check of files that (want, have) so many copies."""
    rows = [
        f"/f{i} 11 bytes, replicated: replication={want}, 1 block(s):  Under replicated "
        f"BP-1:blk_{i}_1. Target Replicas is {want} but found {have} live replica(s), 0 decom"
        "missioned replica(s), 0 decommissioning replica(s).\n"
        for i, (want, have) in enumerate(pairs)
    ]
    return "".join(rows) + f"Status: HEALTHY\n Missing blocks:\t\t{missing}\n"


# as Hadoop 3.5 prints it while a DataNode is being decommissioned
BLOCKS = """\
/tmp <dir>
/tmp/a 9 bytes, replicated: replication=2, 2 block(s):  OK
0. BP-1-127.0.0.1-1:blk_1_1001 len=9 Live_repl=2
1. BP-1-127.0.0.1-1:blk_2_1002 len=9 Live_repl=1

/tmp/b 9 bytes, replicated: replication=10, 1 block(s):  OK
0. BP-1-127.0.0.1-1:blk_3_1003 len=9 Live_repl=1

/windtunnel/ec 9 bytes, erasure-coded: policy=XOR-2-1-1024k, 1 block(s):  OK
0. BP-1-127.0.0.1-1:blk_-9_1002 len=9 Live_repl=2

 Number of data-nodes:	3
"""


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
        self.out: set[str] = set()
        self.started: list[str] = []
        self.waited: list[dict[str, float]] = []
        self.bean: dict[str, Any] = BEAN
        self.checks = [HEALTHY]
        self.anew_serve = True
        self.done: float | None = None
        self.masters: Any = self

    def restart(self, name: str) -> None:
        self.started.append(name)
        self.running[name] = Sleeper(name)

    def wait_ready(self, timeout_s: float, notify: Any = None, fresh: Any = None) -> None:
        self.waited.append(dict(fresh))

    def namenode_bean(self, name: str) -> dict[str, Any]:
        assert name == "FSNamesystemState", "the other bean is up to ten seconds old"
        return self.bean

    def application_progress(self, since: float) -> float | None:
        return self.done

    def file_check(self, *, blocks: bool = False) -> str:
        if blocks:
            return BLOCKS
        return self.checks.pop(0) if len(self.checks) > 1 else self.checks[0]

    def serves(self, name: str, since: float) -> bool:
        return self.anew_serve


@pytest.fixture
def deployment() -> Iterator[Any]:
    names = ["namenode@master", "datanode@w1", "nodemanager@w1", "datanode@w2"]
    daemons = Fakes(names)
    daemons.layout = SimpleNamespace(  # type: ignore[assignment]
        properties=lambda: {"dfs.namenode.heartbeat.recheck-interval": "2000"},
        placements=[
            SimpleNamespace(host=SimpleNamespace(name=name), roles=["datanode"])
            for name in ("w1", "w2")
        ],
    )
    storage = Hdfs(Ground(load_cluster("local-3"), [], Path(), own_networks=False))
    storage._jvms = daemons
    yield SimpleNamespace(
        daemons=daemons,
        storage=storage,
        testbed="local",
        processes=lambda: {name: p.pid for name, p in daemons.running.items()},
        check_alive=daemons.check_alive,
        engines={},
        pool=None,
        layout=daemons.layout,
    )
    for process in daemons.running.values():
        process.kill()
        process.wait(10)


@pytest.fixture
def faults(deployment: Any, monkeypatch: pytest.MonkeyPatch) -> HadoopFaults:
    monkeypatch.setattr(hadoop_faults, "_STEP_S", 0.01)
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


def test_a_daemon_that_ended_before_it_was_killed_is_a_crash(
    deployment: Any, faults: HadoopFaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = deployment.daemons.running["datanode@w1"]
    victim.kill()
    victim.wait(10)
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, signal: killed.append(pid))
    with pytest.raises(DeploymentError, match="datanode@w1 ended before it was killed"):
        faults.kill_daemon("datanode", "w1")
    assert not killed, "another process can have its number"


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
    deployment.daemons.checks = ["", under((2, 1), (2, 1)), HEALTHY]
    faults.restore(copies=True)
    (fresh,) = deployment.daemons.waited
    assert set(fresh) == {"datanode@w1"}
    assert deployment.daemons.checks == [HEALTHY]


def test_what_does_not_become_whole_is_told(
    deployment: Any, faults: HadoopFaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hadoop_faults, "_WHOLE_LIMIT_S", 0.0)
    deployment.daemons.checks = [under((2, 1), (2, 1))]
    with pytest.raises(DeploymentError, match="2 blocks are under-replicated"):
        faults.restore(copies=True)
    faults.restore(copies=False)


def test_the_namenodes_word_on_copies(deployment: Any, faults: HadoopFaults) -> None:
    assert faults.copies() == Copies(2, 0, True)
    deployment.daemons.bean = {**BEAN, "FSState": "safeMode"}
    deployment.daemons.checks = [under((2, 1), (1, 0), missing=1)]
    assert faults.copies() == Copies(2, 3, False)
    deployment.daemons.bean = {}
    assert faults.copies() is None


def test_a_file_that_wants_more_copies_than_can_be_is_whole_with_all_that_can() -> None:
    ten_of_three = under((10, 3))
    assert under_replicated(ten_of_three, holders=3, datanodes=3) == 0
    assert under_replicated(under((10, 2)), holders=3, datanodes=3) == 1
    assert under_replicated(under((10, 2)), holders=2, datanodes=3) == 0, "one holder is dead"
    assert under_replicated(under((3, 2)), holders=2, datanodes=3) == 1, "three can be had"


def test_missing_groups_of_an_erasure_code_count_as_missing_blocks() -> None:
    coded = " Missing blocks:\t\t1\n\nErasure Coded Block Groups:\n Missing block groups:\t\t2\n"
    assert under_replicated(coded, holders=3, datanodes=3) == 3


def test_how_long_the_namenode_must_miss_nothing(faults: HadoopFaults) -> None:
    assert faults.sure_s() == 8.0


def test_a_phase_begins_with_its_application_or_with_a_client_that_copies(
    deployment: Any, faults: HadoopFaults
) -> None:
    ended, runs = SimpleNamespace(returncode=lambda: 0), SimpleNamespace(returncode=lambda: None)
    deployment.supervisor = SimpleNamespace(
        processes={
            numbered("transfer-mkdir"): ended,
            numbered("terasort"): runs,
            numbered("transfer-pig"): runs,
        }
    )
    assert faults.progress(1.0) is None
    deployment.daemons.done = 0.5
    assert faults.progress(1.0) == 0.5
    deployment.daemons.done = None
    deployment.supervisor.processes[numbered("transfer-put")] = runs
    assert faults.progress(1.0) == 0.0


def test_a_datanode_that_has_not_reported_yet_does_not_serve(
    deployment: Any, faults: HadoopFaults
) -> None:
    faults.kill_daemon("datanode", "w1")()
    deployment.daemons.anew_serve = False
    assert faults.copies() == Copies(2, 0, False)


def test_hardware_is_not_this_testbeds(faults: HadoopFaults) -> None:
    for broken in (
        lambda: faults.cut("w1"),
        lambda: faults.slow_disk("w1", 1, 0.1),
        lambda: faults.slow_nic("w1", 0.1),
        lambda: faults.fill_disk("w1", 1, 1.0),
    ):
        with pytest.raises(NotRealisableError, match="'local' cannot inject faults into"):
            broken()


class Store:
    """An engine with one daemon on each host."""

    def __init__(self, *names: str) -> None:
        self.running: dict[str, Any] = {name: Sleeper(name) for name in names}
        self.told: list[str] = []
        self.share: float | None = None

    def placed(self, cluster: object) -> dict[str, list[str]]:
        return {"regionserver": ["w1"]}

    def release(self, names: list[str]) -> list[Any]:
        return [self.running.pop(name) for name in names if name in self.running]

    def restart(self, name: str) -> None:
        self.told.append(f"restart {name}")

    def recover(self) -> None:
        self.told.append("recover")

    def progress(self) -> float | None:
        return self.share


def test_a_daemon_of_an_engine_is_killed_and_put_back_by_it(
    deployment: Any, faults: HadoopFaults
) -> None:
    store = Store("regionserver@w1")
    deployment.engines["store"] = store
    deployment.layout.cluster = None
    victim = store.running["regionserver@w1"]
    undo = faults.kill_daemon("regionserver", "w1")
    assert victim.returncode() == -signal.SIGKILL
    assert store.running == {}
    with pytest.raises(DeploymentError, match="does not run"):
        faults.kill_daemon("regionserver", "w1")
    undo()
    faults.restore(copies=False)
    assert store.told == ["restart regionserver@w1", "recover"]
    assert deployment.daemons.started == []


def test_a_host_dies_with_the_daemons_of_its_engines(deployment: Any, faults: HadoopFaults) -> None:
    store = Store("regionserver@w1")
    deployment.engines["store"] = store
    deployment.layout.cluster = None
    own = deployment.processes
    deployment.processes = lambda: {**own(), **{n: p.pid for n, p in store.running.items()}}
    undo = faults.kill_host("w1")
    assert store.running == {}
    undo()
    assert store.told == ["restart regionserver@w1"]
    assert deployment.daemons.started == ["datanode@w1", "nodemanager@w1"]


def test_progress_is_that_of_an_engine_s_client_where_one_runs(
    deployment: Any, faults: HadoopFaults
) -> None:
    store = Store()
    deployment.engines["store"] = store
    deployment.supervisor = SimpleNamespace(processes={})
    deployment.daemons.done = 0.25
    assert faults.progress(0) == 0.25
    store.share = 0.5
    assert faults.progress(0) == 0.5


class Servers(Store):
    """Trino's servers of one job."""

    def placed(self, cluster: object) -> dict[str, list[str]]:
        return {"trino-coordinator": ["master"], "trino-worker": ["w1", "w2"]}


def test_a_trino_server_is_found_by_its_role_while_its_job_runs(
    deployment: Any, faults: HadoopFaults
) -> None:
    servers = Servers("trino-coordinator@master", "trino-worker@w1", "trino-worker@w2")
    deployment.engines["trino"] = servers
    deployment.layout.cluster = None
    victim = servers.running["trino-worker@w2"]
    undo = faults.kill_daemon("trino-worker", "w2")
    assert victim.returncode() == -signal.SIGKILL
    assert set(servers.running) == {"trino-coordinator@master", "trino-worker@w1"}
    undo()
    assert servers.told == ["restart trino-worker@w2"]
    for process in servers.running.values():
        process.kill()
        process.wait(10)
    servers.running.clear()  # its job is over
    with pytest.raises(DeploymentError, match="trino-worker@w1 does not run"):
        faults.kill_daemon("trino-worker", "w1")


def test_the_older_name_of_a_role_finds_the_same_daemon(
    deployment: Any, faults: HadoopFaults
) -> None:
    store = Store("hbase-master@w1")
    deployment.engines["store"] = store
    victim = store.running["hbase-master@w1"]
    faults.kill_daemon("hmaster", "w1")
    assert victim.returncode() == -signal.SIGKILL


@pytest.mark.parametrize("state", ["NumDecommissioningDataNodes", "NumDecomLiveDataNodes"])
def test_replicas_on_a_host_that_leaves_do_not_count(
    deployment: Any, faults: HadoopFaults, state: str
) -> None:
    """The check itself reports these files as healthy."""
    deployment.daemons.bean = {**BEAN, state: 1}
    found = faults.copies()
    assert found is not None
    assert (found.holders, found.wanting) == (1, 1), "the targets are those of one or two hosts"


def test_the_cells_of_an_erasure_code_count_like_replicas() -> None:
    assert replicas_to_copy(BLOCKS, holders=3, datanodes=4) == 3


def test_a_block_without_any_replica_is_counted_while_a_host_leaves() -> None:
    lost = f"{BLOCKS} Missing blocks:\t\t2\n Missing block groups:\t\t1\n"
    assert replicas_to_copy(lost, holders=3, datanodes=4) == 6
