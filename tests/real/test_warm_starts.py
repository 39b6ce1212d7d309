"""Warm starts on real daemons: verified output, exit codes, kills of every part, nothing left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.real.conftest import FEW_RECORDS, LIGHT_DAEMONS, LIGHT_TASKS, remains, wait_for
from windtunnel.cluster import Located, apply_overrides, load_cluster, load_text, validate
from windtunnel.engines.hadoop import pool
from windtunnel.engines.hadoop.pool import Pool
from windtunnel.engines.hadoop.pool_metrics import (
    POOL_FILL,
    POOL_MEMORY,
    STOCK_STARTS,
    WARM_STARTS,
)
from windtunnel.engines.hadoop.software import OWN_JAR
from windtunnel.engines.hadoop.start_up import START_SHARE, TASK_START
from windtunnel.engines.java import bundled_home
from windtunnel.errors import TrialInvalidError
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import run_trial
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed
from windtunnel.workloads.base import Execution
from windtunnel.workloads.wordcount.wordcount import WordCount, WordCountParameters

CHANGES = {
    "software.task_start": "warm",
    # few JVMs, because each takes seconds to warm up: an application master, a map and a reduce
    "software.warm_jvms": 2,
    "hosts.worker.count": 1,
    "settings.yarn.nodemanager.resource.memory-mb": 3072,
    "settings.mapreduce.map.memory.mb": 1536,
    "settings.mapreduce.reduce.memory.mb": 1536,
    **LIGHT_TASKS,
    **LIGHT_DAEMONS,
    "settings.mapreduce.map.java.opts": FEW_RECORDS,
    "settings.mapreduce.reduce.java.opts": f"{FEW_RECORDS} -Xmx160m",
    # waiting JVMs for reduce tasks have no room for it
    "settings.mapreduce.task.io.sort.mb": 256,
    "settings.mapreduce.output.fileoutputformat.compress": True,
    # by default, NodeManagers of Hadoop 3.3 and newer leave memory to control groups, which the
    # default executor does not have (ContainersMonitorImpl): they would not check it
    "settings.yarn.nodemanager.resource.memory.enforced": False,
    "settings.yarn.nodemanager.resource-monitor.interval-ms": 1000,
}
PI = "org.apache.hadoop.examples.QuasiMonteCarlo"
STUDY = """\
study: warm
cluster: local-3
set: {software.task_start: warm}
workloads:
  terasort: {rows: 40000, maps: 1, reduces: 1, input_replication: 1, output_replication: 1}
protocol: {rounds: 1, trial_time_limit: 5 min}
"""


@pytest.fixture(scope="module")
def warm(testbed: LocalTestbed) -> Iterator[LocalDeployment]:
    """A cluster with warm starts, shared by these tests."""
    with testbed.deploy(apply_overrides(load_cluster("local-3"), CHANGES)) as running:
        yield running


def pool_of(deployment: LocalDeployment) -> Pool:
    assert deployment.pool is not None
    return deployment.pool


def running_tasks(deployment: LocalDeployment) -> list[psutil.Process]:
    """The JVMs of the pool that run a container: they are in the folder of one."""
    found = []
    for keeper in pool_of(deployment).processes().values():
        for child in psutil.Process(keeper).children():
            with suppress(psutil.Error):
                if "/container_" in child.cwd() and "task" in child.cmdline():
                    found.append(child)
    return found


def log_of_nodemanager(deployment: LocalDeployment) -> str:
    host = next(host for host in deployment.hosts if host.name == "worker")
    return (host.logs / "nodemanager.log").read_text()


@pytest.mark.parametrize("which", ["of Hadoop's daemons", "newest"])
def test_a_waiting_jvm_becomes_a_container(
    warm: LocalDeployment, tmp_path: Path, which: str
) -> None:
    """The private fields that this needs have other names in newer releases of Java."""
    home = bundled_home() if which == "newest" else warm.software.java.parents[1]
    script, output = tmp_path / "java", tmp_path / "stdout"
    script.write_text("read -r line\n")
    version = "org.apache.hadoop.util.VersionInfo"
    with output.open("a") as file:
        launch = subprocess.Popen(
            ["/bin/sh", script, "-Da=b", "-cp", "/absent.jar", version],
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={"PWD": str(tmp_path)},
        )
    jars = ":".join([*warm.software.jars, str(OWN_JAR)])
    command = [str(home / "bin" / "java"), *pool.OPENS, "-cp", jars]
    try:
        done = subprocess.run(
            [*command, "io.windtunnel.pool.WarmStart", "master", tmp_path, tmp_path / "tmp"],
            input=f"{launch.pid}\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        launch.communicate(timeout=20)
    assert (done.returncode, done.stdout) == (0, "windtunnel: warm\n"), done.stderr
    assert output.read_text().startswith("Hadoop 3.")


def test_terasort_runs_in_waiting_jvms_and_is_verified(
    warm: LocalDeployment, tmp_path: Path
) -> None:
    located = load_text(STUDY, "study.yaml")
    plan = make_plan(validate(StudyFile, located), located)
    with open_journal(tmp_path / "results", study_record(plan)) as journal:
        trial, broken = run_trial(plan, plan.round_slots(1)[0], 1, warm, journal)

    assert trial.verdict.valid and not broken, trial.verdict.reason
    for phase, tasks in zip(trial.phases, (1, 2, 2), strict=True):
        # the application master and every task
        assert phase.metrics[WARM_STARTS.name].value == 1 + tasks, phase.name
        assert phase.metrics[POOL_FILL.name].value > 0
        assert phase.metrics[POOL_MEMORY.name].value > 100 << 20
        assert phase.metrics[STOCK_STARTS.name].value == 0, phase.name
        assert phase.metrics[TASK_START.name].value > 0
        assert 0 < phase.metrics[START_SHARE.name].value < 1
    sort = trial.phases[1].metrics
    # counters have nothing of the warm-up
    assert 4e6 <= sort["hdfs_bytes_read"].value < 4.1e6
    assert sort["map_input_records"].value == 40_000
    assert warm.provenance()["start"] == "warm"


def test_a_job_with_a_program_of_its_own_is_verified(warm: LocalDeployment, tmp_path: Path) -> None:
    """Its jar is copied to the folder of each container."""
    (tmp_path / "text.txt").write_text("a b a\nc\n" * 1000)
    wanted = {"text": str(tmp_path / "text.txt"), "replication": 1, "reduces": 1, "combiner": False}
    workload = WordCount(validate(WordCountParameters, Located(wanted)))
    execution = Execution("/windtunnel/own", "/windtunnel/words", time.monotonic() + 300)
    workload.prepare(warm, execution)
    warm.before_phase()
    (phase,) = workload.phases()
    execution.runs[phase] = run = workload.run_phase(phase, warm, execution)
    verdict = workload.verify(warm, execution)
    assert verdict.valid, verdict.reason
    starts = warm.phase_metrics(run.phase)
    assert starts[WARM_STARTS.name].value == 3
    assert starts[STOCK_STARTS.name].value == 0


def test_a_task_that_exceeds_its_memory_is_killed(warm: LocalDeployment) -> None:
    """The NodeManager watches the JVM that has taken the container."""
    warm.before_phase()
    before = pool_of(warm).starts()
    settings = {
        "mapreduce.map.memory.mb": "128",
        # the options of the waiting JVMs, whose heap has 0.8 of 1,536 MiB
        "mapreduce.map.java.opts": f"{FEW_RECORDS} -Xmx1229m",
        "mapreduce.map.maxattempts": "1",
    }
    with pytest.raises(TrialInvalidError, match="pi failed"):
        warm.run_job("pi", [PI, "1", "1000000000"], settings, deadline_s=time.monotonic() + 120)
    started = pool_of(warm).starts() - before
    assert (started.warm, started.stock) == (2, 0)  # an application master and the map
    assert "beyond the 'PHYSICAL' memory limit" in log_of_nodemanager(warm)


@pytest.mark.parametrize(
    "sent", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped until its time-out"]
)
def test_a_task_that_ends_or_hangs_is_repeated_and_the_job_succeeds(
    warm: LocalDeployment, sent: signal.Signals
) -> None:
    warm.before_phase()
    killed: list[int] = []

    def signal_one() -> bool:
        for process in running_tasks(warm)[:1]:
            process.send_signal(sent)
            killed.append(process.pid)
        return bool(killed)

    # other tests keep the processors busy: a task may be silent for seconds
    limit_ms = "10000" if sent == signal.SIGSTOP else "600000"
    times = {"mapreduce.task.timeout": limit_ms, "mapreduce.task.timeout.check-interval-ms": "500"}
    thread = threading.Thread(target=wait_for, args=(signal_one, "a running task", 120))
    thread.start()
    run = warm.run_job("pi", [PI, "2", "10000000"], times, deadline_s=time.monotonic() + 240)
    thread.join()
    assert not psutil.pid_exists(killed[0])

    failed = [row for row in run.tasks if row["status"] != "SUCCEEDED"]
    assert killed and len(failed) == 1
    assert run.phase.metrics["failed_attempts"].value == 1
    done = [row for row in run.tasks if row["status"] == "SUCCEEDED"]
    assert len({row["task"] for row in done}) == len(done) == 3
    # 128 + SIGKILL, as of a killed stock JVM
    assert re.search(r"Exit code from container \w+ is : 137", log_of_nodemanager(warm))


def test_the_pool_survives_a_killed_nodemanager_and_replaces_a_killed_jvm(
    warm: LocalDeployment,
) -> None:
    pool = pool_of(warm)
    warm.before_phase()
    full = pool.waiting()
    assert warm.faulty is not None
    undo = warm.faulty.kill_daemon("nodemanager", "worker")
    undo()
    warm.faulty.restore(copies=False)
    assert pool.waiting() == full

    for pid in full:
        os.kill(pid, signal.SIGKILL)
    run = warm.run_job("pi", [PI, "1", "100"], {}, deadline_s=time.monotonic() + 240)
    starts = warm.phase_metrics(run.phase)
    assert starts[WARM_STARTS.name].value == 0
    assert starts[STOCK_STARTS.name].value == 3  # a master, a map, a reduce
    warm.before_phase()
    assert len(pool.waiting()) == len(full)
    assert not set(full) & set(pool.waiting())


def test_nothing_of_a_full_pool_is_left_after_the_end(
    warm: LocalDeployment, testbed: LocalTestbed, state: Path
) -> None:
    pool = pool_of(warm)
    assert pool.waiting()
    mine = set(pool.waiting()) | set(pool.processes().values())
    warm.supervisor.send({"op": "close"})  # as at the end of the runner, whatever ends it
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in mine), "the end of the pool", 60)
    wait_for(lambda: not [c for c in remains(state) if warm.id in c], "the end of all", 60)
