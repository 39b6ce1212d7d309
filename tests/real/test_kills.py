"""``kill -9`` in the middle of a job: of each daemon, and of the runner itself."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.real.conftest import (
    FEW_RECORDS,
    LIGHT_DAEMONS,
    LIGHT_TASK,
    LIMIT_S,
    PI_STUDY,
    SMALL_JOBS,
    TINY_STUDY,
    Cli,
    java_of_the_older_line,
    remains,
    wait_for,
)
from windtunnel.engines.hadoop.pool import ROLE, Status
from windtunnel.hosts.leftovers import registered
from windtunnel.results.folder import read_results
from windtunnel.results.record import Trial


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A register for one test: what it looks for is its own, whatever else is running."""
    folder = tmp_path / "state"
    folder.mkdir()
    monkeypatch.setenv("WINDTUNNEL_STATE", str(folder))
    return folder


def started(results: Path, phase: str) -> int:
    """How many jobs of a phase were submitted so far, by the clients' logs."""
    logs = results.glob(f"logs/*/*/clients/*-{phase}.log")
    return sum("Running job" in log.read_text(errors="replace") for log in logs)


def daemon_pid(role: str) -> int:
    pids = [e.facts().get("pids", {}) for e in registered() if e.owner_alive()]
    return next(pid for found in pids for name, pid in found.items() if name.startswith(role))


def trials(results: Path) -> list[Trial]:
    return read_results(results).trials


def test_each_daemon_and_the_study_goes_on(cli: Cli, state: Path, tmp_path: Path) -> None:
    """NameNode, DataNode and NodeManager die one after the other; every slot is run again."""
    study = (PI_STUDY % 2).replace("extra_rounds: 0", "extra_rounds: 0, retry_invalid: 2")
    (tmp_path / "study.yaml").write_text(study)
    results = tmp_path / "results"
    running = cli.start("run", "study.yaml", "--results", str(results))

    def begun(job: int) -> bool:
        return started(results, "pi") == job

    def recorded(trials: int) -> bool:
        return len(list(results.glob("trials/*.json"))) >= trials

    # The first slot's third attempt and the second slot's second are left in peace.
    for job, role in ((1, "namenode"), (2, "datanode"), (4, "nodemanager")):
        wait_for(partial(begun, job), f"job {job}")
        os.kill(daemon_pid(role), signal.SIGKILL)
        wait_for(partial(recorded, job), role, 60)
    output, _ = running.communicate(timeout=300)
    assert running.returncode == 0, output
    assert "Traceback" not in output

    invalid = [trial for trial in trials(results) if not trial.verdict.valid]
    valid = [trial for trial in trials(results) if trial.verdict.valid]
    assert sorted((trial.round, trial.attempt) for trial in valid) == [(1, 3), (2, 2)]
    reasons = [trial.verdict.reason for trial in invalid]
    for role, reason in zip(("namenode", "datanode", "nodemanager"), reasons, strict=True):
        assert f"the {role} on " in reason and "killed by signal 9" in reason
        assert reason in output
    assert remains(state) == []


POOL_STUDY = re.sub(
    r"  settings.mapreduce.job.ubertask.*\n(.*\n)*?.*reduce.java.opts.*",
    "  software.task_start: warm\n  software.warm_jvms: 1\n"
    "  settings.yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms: 100\n"
    f"  settings.mapreduce.map.java.opts: {FEW_RECORDS}\n"
    f"  settings.mapreduce.reduce.java.opts: {LIGHT_TASK}",
    PI_STUDY % 2,
)


def waiting_jvms() -> list[int]:
    """Process ids of the JVMs that wait for tasks, in pools that were filled."""
    found: list[int] = []
    for entry in registered():
        for file in entry.scratch.glob(f"*/{ROLE}/status"):
            status = Status.parse(file.read_text())
            found += status.waiting if status.filled else []
    return found


def test_the_runner_while_jvms_wait_and_the_study_is_resumed(
    cli: Cli, state: Path, tmp_path: Path
) -> None:
    """No waiting JVM and no container outlives the runner; no trial is lost or counted twice."""
    (tmp_path / "study.yaml").write_text(POOL_STUDY)
    results = tmp_path / "results"
    words = ("run", "study.yaml", "--results", str(results))
    running = cli.start(*words)
    wait_for(lambda: started(results, "pi") == 2, "the second trial's job")
    wait_for(lambda: containers(state, "java"), "the application master's container")
    waiting = waiting_jvms()
    assert waiting, "the JVM for the map task still waits"
    recorded = sorted(results.glob("trials/*.json"))
    assert len(recorded) == 1
    first = recorded[0].read_bytes()
    running.kill()
    running.communicate(timeout=30)
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in waiting), "the end of the pool", 60)
    wait_for(lambda: remains(state) == [], "all daemons to end by themselves", 60)
    data = [entry.scratch for entry in registered()]
    wait_for(lambda: not any(folder.exists() for folder in data), "the data to be removed", 60)

    cleaned = cli("clean")
    assert cleaned.returncode == 0 and "removed the folder of wt-" in cleaned.stdout
    assert registered() == []

    again = cli(*words)
    assert again.returncode == 0, again.stderr
    assert "resuming: 1 of 2 trials are done" in again.stderr
    assert recorded[0].read_bytes() == first
    assert [(trial.round, trial.attempt) for trial in trials(results)] == [(1, 1), (2, 1)]
    assert all(trial.verdict.valid for trial in trials(results))


def test_a_cluster_for_interactive_use(cli: Cli, state: Path, tmp_path: Path) -> None:
    settings = (SMALL_JOBS | LIGHT_DAEMONS).items()
    up = cli("up", "local-1", *(word for item in settings for word in ("--set", "=".join(item))))
    assert up.returncode == 0, up.stdout + up.stderr
    try:
        assert "windtunnel exec" in up.stdout
        (tmp_path / "hello.txt").write_text("hello\n")
        put = cli("exec", "--", "hdfs", "dfs", "-put", "hello.txt", "/hello.txt")
        assert put.returncode == 0, put.stderr
        listing = cli("exec", "--", "hdfs", "dfs", "-ls", "/", "/absent")
        assert "/hello.txt" in listing.stdout
        assert listing.returncode == 1, "the exit code is that of the command"
        nodes = cli("exec", "--", "yarn", "node", "-list")
        assert "Total Nodes:1" in nodes.stdout
        jobs = cli("exec", "--", "mapred", "job", "-list")
        assert "Total jobs:0" in jobs.stdout
        pi = cli("exec", "--", "hadoop", "jar", "examples", "pi", "2", "100")
        assert "Estimated value of Pi is 3.1" in pi.stdout, pi.stderr[-2000:]
        status = cli("status")
        assert "interactive" in status.stdout and "DEAD" not in status.stdout
        assert "wt-" not in cli("clean").stdout
    finally:
        down = cli("down")
    assert down.returncode == 0, down.stderr
    wait_for(lambda: remains(state) == [], "the end of the daemons", 60)
    nobody = cli("exec", "--", "hdfs", "dfs", "-ls", "/")
    assert nobody.returncode == 2 and "no cluster is up" in nobody.stderr


def test_a_taken_port_is_named(cli: Cli, state: Path) -> None:
    """Taken within the cluster: other programs cannot be in its network."""
    place = "127.0.0.1:28123"
    names = ("dfs.namenode.http-address", "dfs.namenode.rpc-address")
    changes = [word for name in names for word in ("--set", f"settings.{name}={place}")]
    up = cli("up", "local-1", *changes)
    assert up.returncode == 7
    assert "the namenode on master has died" in up.stderr
    assert "Address already in use" in up.stderr and "28123" in up.stderr
    assert "Traceback" not in up.stderr
    assert remains(state) == []


def test_the_demo_on_the_older_line_and_ctrl_c_stops_it_after_the_trial(
    cli: Cli, state: Path, tmp_path: Path
) -> None:
    """The demo as users run it, but with Hadoop 3.4 and for one trial: all six take minutes."""
    results = tmp_path / "results"
    line = ["--hadoop", "3.4"]
    if not java_of_the_older_line():
        refused = cli("demo", *line, "--results", str(tmp_path / "refused"))
        assert refused.returncode == 5
        assert "Hadoop 3.4 needs Java 17 to 21, and none was found" in refused.stderr
        line = []
    running = cli.start("demo", *line, "--results", str(results))
    wait_for(lambda: started(results, "terasort") == 1, "the first trial's sort")
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 130, output
    assert "stopping after the current trial" in output
    assert "stopped on request after 1 of 6 trials" in output
    assert f"windtunnel run demo --results {results}" in output
    assert remains(state) == []
    found = read_results(results)
    assert [trial.verdict.valid for trial in found.trials] == [True]
    provenance = json.dumps(found.provenance(found.trials[0])["software"])
    assert json.loads(provenance)["hadoop"].startswith("3.4." if line else "3.5.")
    assert "no two levels can be" in " ".join(cli("report", str(results)).stdout.split())


def test_supervisor_and_runner_at_once_and_clean_finds_the_rest(
    cli: Cli, state: Path, tmp_path: Path
) -> None:
    """Daemons end with their supervisor; containers, which detach themselves, are cleaned up."""
    (tmp_path / "study.yaml").write_text(TINY_STUDY % 1)
    results = tmp_path / "results"
    running = cli.start("run", "study.yaml", "--results", str(results))

    def suspended() -> bool:
        """Containers might end by themselves before they can be cleaned up."""
        found = containers(state)
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in found:
                process.suspend()
            return any(process.status() == psutil.STATUS_STOPPED for process in found)
        return False

    wait_for(suspended, "a container that is suspended")
    supervisor = next(e.facts()["supervisor"] for e in registered() if e.owner_alive())
    os.kill(supervisor, signal.SIGSTOP)
    running.kill()
    os.kill(supervisor, signal.SIGKILL)
    running.communicate(timeout=30)

    def daemons_ended() -> bool:
        return not any("-Dproc_" in line for line in remains(state))

    wait_for(daemons_ended, "daemons to end by themselves", 60)
    assert containers(state), "a container outlives its NodeManager: else this tests nothing"
    cleaned = cli("clean")
    assert "ended process" in cleaned.stdout
    assert trials(results) == []
    wait_for(lambda: remains(state) == [], "the last process to go", 60)
    assert registered() == []


def containers(state: Path, program: str = "") -> list[psutil.Process]:
    """The processes of containers: their JVMs, and the shells that wait for them."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            command = " ".join(process.cmdline())
            ours = f"{state}/deployments/" in command and "/container_" in command
            if ours and program in process.name():
                found.append(process)
    return found
