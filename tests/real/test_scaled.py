"""The testbed ``scaled`` with real daemons on real virtual hosts: needs root on Linux."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.real.conftest import (
    FEW_RECORDS,
    LIGHT_DAEMONS,
    LIGHT_TASKS,
    Intruder,
    by_hand,
    jobs_in_one_jvm,
    remains,
    wait_for,
)
from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.hosts.fabric.state import capabilities, differences, machine_state
from windtunnel.probes.sampler import Sampler
from windtunnel.testbeds.scaled.deployment import ScaledDeployment
from windtunnel.testbeds.scaled.testbed import ScaledTestbed
from windtunnel.workloads.base import Execution
from windtunnel.workloads.terasort.terasort import TeraSort, TeraSortParameters
from windtunnel.workloads.transfer import Transfer, TransferParameters

pytestmark = pytest.mark.skipif(
    any(lack.fatal for lack in capabilities()), reason="this machine can make no virtual hosts"
)

FAST = {f"hosts.{name}.nics.0.rate": "400 Mb/s" for name in ("master", "worker", "client")}


@pytest.fixture(scope="module")
def testbed(state: Path, tmp_path_factory: pytest.TempPathFactory) -> ScaledTestbed:
    return ScaledTestbed(tmp_path_factory.mktemp("scaled-logs"), lambda text: None)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    # one JVM for tasks and one for an application master on each worker, if a test fills the pool
    changes = {
        "software.task_start": "warm",
        "software.warm_jvms": 1,
        **LIGHT_TASKS,
        **LIGHT_DAEMONS,
        "settings.mapreduce.map.java.opts": FEW_RECORDS,
        "settings.mapreduce.reduce.java.opts": FEW_RECORDS,
    }
    return apply_overrides(load_cluster("model-3"), changes)


@pytest.fixture(scope="module")
def model(testbed: ScaledTestbed, cluster: Cluster) -> Iterator[ScaledDeployment]:
    with testbed.deploy(cluster) as running:
        print("\nseconds until it stands:", running.took_s)
        yield running


def execution(name: str) -> Execution:
    return Execution(f"/trials/{name}", "/shared", time.monotonic() + 300)


def test_terasort_is_verified_and_every_host_is_sampled(model: ScaledDeployment) -> None:
    workload = TeraSort(
        TeraSortParameters(
            rows=200_000, maps=2, reduces=2, input_replication=2, output_replication=1
        )
    )
    here = execution("terasort")
    sampled = Sampler(model.processes, sources=model.sources())
    with sampled as sampler, jobs_in_one_jvm(model):
        for phase in workload.phases():
            here.runs[phase] = workload.run_phase(phase, model, here)
            print(phase, here.runs[phase].phase.elapsed_s)
    verdict = workload.verify(model, here)
    assert verdict.valid, verdict.reason
    workload.clean(model, here)

    assert sampler.failures == []
    written = [
        (host, value) for _, host, name, _, value in sampler.rows if name == "disk_write:disk-1"
    ]
    assert {host for host, _ in written} == {"worker-1", "worker-2", "worker-3", "client"}
    by_host = {host for _, host, name, _, _ in sampler.rows if name == "net_received"}
    assert by_host == {"this-machine", "master", "worker-1", "worker-2", "worker-3", "client"}
    done = [t for run in here.runs.values() for t in run.tasks if t["status"] == "SUCCEEDED"]
    tasks = {task["host"] for task in done}
    assert tasks <= {"worker-1", "worker-2", "worker-3"}


def cpu_group(pid: int) -> str:
    """The control group of a process that has the CPU quota."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    groups = {
        name: path
        for _, names, path in (x.split(":", 2) for x in lines)
        for name in names.split(",")
    }
    return groups.get("cpu", groups.get("", ""))


def test_tasks_start_outside_the_quota_of_their_host_and_work_within_it(
    model: ScaledDeployment,
) -> None:
    model.before_phase()
    assert model.pool is not None
    waiting = [*model.pool.waiting(), *model.pool.processes().values()]
    assert len(waiting) == 9
    starters = {name: pid for name, pid in model.processes().items() if "nodemanager" in name}
    for pid in (*waiting, *starters.values()):
        assert cpu_group(pid).endswith(".start")
    datanode = model.processes()["datanode@worker-1"]
    assert cpu_group(datanode).endswith("/worker-1")

    seen: dict[str, set[tuple[int, str]]] = {"master": set(), "task": set(), "stock": set()}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            for process in psutil.Process(model.supervisor.pid).children(recursive=True):
                with suppress(psutil.Error, OSError):
                    command = process.cmdline()
                    ours = "/container_" in process.cwd()
                    # a process that has ended, and was not waited for, has no command
                    if ours and command and command[0].endswith("/bin/java"):
                        kind = next((k for k in ("master", "task") if k in command), "stock")
                        seen[kind].add((process.pid, cpu_group(process.pid)))

    thread = threading.Thread(target=watch)
    thread.start()
    words = ["org.apache.hadoop.examples.QuasiMonteCarlo", "4", "5000000"]
    run = model.run_job("pi", words, {}, deadline_s=time.monotonic() + 240)
    over.set()
    thread.join()
    assert model.phase_metrics(run.phase)["core_probe"].value > 0
    assert "core_probe" not in model.phase_metrics(run.phase), "nothing is measured later"

    assert [row["status"] for row in run.tasks].count("SUCCEEDED") == 5
    assert seen["master"] and all(group.endswith(".start") for _, group in seen["master"])
    # four maps and a reduce: three at most had a waiting JVM
    assert len({pid for pid, group in seen["task"] if "worker-" in group[-9:]}) >= 2
    assert seen["stock"] and not any(group.endswith(".start") for _, group in seen["stock"])


def put_and_get(model: ScaledDeployment, name: str) -> dict[str, float]:
    workload = Transfer(TransferParameters.model_validate({"size": "40 MB", "replication": 2}))
    here = execution(name)
    workload.prepare(model, here)
    for phase in workload.phases():
        assert all(host.drop_caches() for host in model.hosts)
        here.runs[phase] = workload.run_phase(phase, model, here)
        assert not here.runs[phase].notes
    verdict = workload.verify(model, here)
    assert verdict.valid, verdict.reason
    workload.clean(model, here)
    return {phase: run.phase.elapsed_s for phase, run in here.runs.items()}


def test_a_faster_nic_makes_put_faster_without_a_restart(
    model: ScaledDeployment, testbed: ScaledTestbed, cluster: Cluster
) -> None:
    before = dict(model.processes())
    slow = put_and_get(model, "slow")
    began = time.monotonic()
    lines = model.reconfigure(apply_overrides(cluster, FAST))
    took_s = time.monotonic() - began
    wire_s = 40 / 12.5 * 0.9  # the slow wire cannot be faster, whatever the CPUs do
    for _ in range(3):  # with the fast one, the CPUs are the bottleneck, and other tests use them
        fast = put_and_get(model, "fast")
        if fast["put"] < wire_s:
            break
    print(f"\n100 Mb/s {slow}, 400 Mb/s {fast}, changed in {took_s:.3f} s")

    assert lines == ["NIC 12.5 MB/s -> 50 MB/s: master, worker-1, worker-2, worker-3, client"]
    assert slow["put"] > wire_s, "no faster than the wire"
    assert fast["put"] < wire_s, "faster than the slow wire can be"
    assert model.processes() == before


def test_a_worker_goes_out_of_service_and_comes_back(
    model: ScaledDeployment, testbed: ScaledTestbed, cluster: Cluster
) -> None:
    began = time.monotonic()
    less = {"hosts.worker.count": 2, "storage.replication": 2}
    lines = model.reconfigure(apply_overrides(cluster, less))
    print(f"\n{lines} {time.monotonic() - began:.1f} s")
    model.check_alive()
    assert "datanode@worker-3" not in model.processes()
    put_and_get(model, "two-workers")

    began = time.monotonic()
    print(model.reconfigure(cluster), f"{time.monotonic() - began:.1f} s")
    assert "datanode@worker-3" in model.processes()
    put_and_get(model, "three-workers")


def test_a_command_of_the_user_runs_inside_the_client_host(model: ScaledDeployment) -> None:
    by_hand(model, "hdfs", "dfs", "-mkdir", "-p", "/by-hand/here")
    assert model.files.folders("/by-hand") == ["/by-hand/here"]


def test_another_account_reaches_nothing(model: ScaledDeployment, other: Intruder) -> None:
    assert other.reached(model) == []


RUNNER = """\
import json, sys, time
from pathlib import Path
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.testbeds.scaled.testbed import ScaledTestbed
cluster = apply_overrides(load_cluster("model-3"), json.loads(sys.argv[2]))
with ScaledTestbed(Path(sys.argv[1]), lambda text: None).deploy(cluster) as it:
    it.before_phase()
    print(it.registration.folder, *it.pool.waiting(), flush=True)
    time.sleep(600)
"""
ONE_WORKER = {
    "hosts.worker.count": 1,
    "storage.replication": 1,
    "software.task_start": "warm",
    "software.warm_jvms": 1,
    "settings.mapreduce.map.java.opts": FEW_RECORDS,
    "settings.mapreduce.reduce.java.opts": FEW_RECORDS,
    **LIGHT_DAEMONS,
}


def test_after_a_kill_of_the_runner_the_machine_is_as_it_was(state: Path, tmp_path: Path) -> None:
    """SIGKILL with a full pool of waiting JVMs: neither processes nor changes remain."""
    before = machine_state()
    command = [sys.executable, "-c", RUNNER, str(tmp_path), json.dumps(ONE_WORKER)]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    name, *jvms = runner.stdout.readline().split()
    folder = Path(name)
    assert len(jvms) == 2, "a task and an application master"
    records = [
        json.loads(line) for line in (folder / "ledger.jsonl").read_text().split("\n") if line
    ]
    loops = {str(record["index"]) for record in records if record["kind"] == "loop"}
    assert len(loops) == 3
    os.kill(runner.pid, signal.SIGKILL)
    runner.communicate()  # closes the pipe as well

    def ours() -> list[str]:  # other clusters may come and go on this machine meanwhile
        marks = {folder.name, *(f"loop{i}" for i in loops), *(f"7:{i}" for i in loops)}
        return [
            line
            for line in differences(before, machine_state())
            if any(re.search(rf"\b{re.escape(mark)}\b", line) for mark in marks)
        ]

    wait_for(lambda: not ours() and not (folder / "ledger.jsonl").exists(), "the undoing", 60)
    wait_for(lambda: not any(folder.name in line for line in remains(state)), "the end", 30)
    assert not [pid for pid in jvms if Path(f"/proc/{pid}").exists()]
