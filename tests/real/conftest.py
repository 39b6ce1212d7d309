"""Tests with real daemons: small data, the shared cache of jars, a state folder of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support import intruder
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.deployment import JobRun
from windtunnel.engines.hadoop.client import user_process
from windtunnel.engines.java import find_java
from windtunnel.errors import SetupError
from windtunnel.testbeds.hadoop_cluster import HadoopDeployment
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

T = TypeVar("T")

LIGHT = "-XX:TieredStopAtLevel=1"
"""An option of JVMs: the second compiler takes a third of the CPU time of such short jobs."""
LIGHT_TASK = f"{LIGHT} -XX:CompileThresholdScaling=3 -XX:-UsePerfData"
# reflection and dependency injection of masters, as in the daemons: no classes at run time
_NO_CLASSES = "-Dsun.reflect.inflationThreshold=1000 -Dguice_bytecode_gen_option=DISABLED"
MASTER_OPTIONS = f"-Xmx1024m -XX:+UseSerialGC {LIGHT_TASK} {_NO_CLASSES}"
LIGHT_TASKS = {
    "settings.mapreduce.map.java.opts": LIGHT_TASK,
    "settings.mapreduce.reduce.java.opts": LIGHT_TASK,
    "settings.yarn.app.mapreduce.am.command-opts": MASTER_OPTIONS,
    # on busy processors, YARN starts some tasks twice: the number of attempts is not determined
    "settings.mapreduce.map.speculative": "false",
    "settings.mapreduce.reduce.speculative": "false",
}
# Threads of idle daemons: two wake up every 5 and 10 ms (3 % of a core in each cluster), and those
# that wait for requests, 150 in a ResourceManager (2 %), once per second.
_REQUESTS = (
    "yarn.resourcemanager.client.thread-count",
    "yarn.resourcemanager.scheduler.client.thread-count",
    "yarn.resourcemanager.resource-tracker.client.thread-count",
    "yarn.nodemanager.container-manager.thread-count",
    "mapreduce.jobhistory.client.thread-count",
)
LIGHT_YARN = {
    "settings.yarn.scheduler.capacity.schedule-asynchronously.scheduling-interval-ms": "50",
    **{f"settings.{name}": "4" for name in _REQUESTS},
}
LIGHT_DAEMONS = {
    **LIGHT_YARN,
    "settings.dfs.namenode.block.deletion.unlock.interval.ms": "200",
    "settings.dfs.namenode.handler.count": "4",
    "settings.dfs.datanode.handler.count": "4",
}
LIGHT_SPARK = {
    f"settings.spark.{who}.extraJavaOptions": f"{LIGHT} -XX:+UseSerialGC"
    for who in ("driver", "executor")
}
# small block caches: little data exceeds them
SMALL_CACHES = {
    "settings.hfile.block.cache.memory.size": "8m",
    "settings.kudu.block_cache_capacity_mb": "8",
}
FEW_RECORDS = f"{LIGHT_TASK} -Dwindtunnel.pool.records=2000"
"""Options of tasks: the warm-up of a waiting JVM takes less CPU time than for a measurement."""
LIMIT_S = 600

SMALL_JOBS = {  # as few processes and waits as real jobs can do with
    "settings.mapreduce.job.ubertask.enable": "true",
    "settings.yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "100",
    **LIGHT_TASKS,
}
SMALL_STUDY = "\n".join(
    f"  {name}: {value}" for name, value in (SMALL_JOBS | LIGHT_DAEMONS).items()
)
"""Lines below ``set`` of a study."""
TINY_STUDY = f"""\
study: tiny
cluster: local-1
set:
{SMALL_STUDY}
workloads:
  terasort: {{rows: 20000, maps: 1, input_replication: 1, output_replication: 1}}
protocol: {{rounds: %d, seed: 7, trial_time_limit: 5 min, extra_rounds: 0}}
"""
PI_STUDY = re.sub("terasort: .*", "pi: {maps: 1, samples_per_map: 1000000}", TINY_STUDY)
"""One job instead of three."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real daemons last; files that take long first, so that no process works alone at the end."""
    here = Path(__file__).parent
    real = [item for item in items if here in item.path.parents]
    for item in real:
        item.add_marker(pytest.mark.real)
    place = {name: number for number, name in enumerate(LONGEST)}
    real.sort(key=lambda item: place.get(group_of(item.path), len(place)))
    items[:] = [item for item in items if here not in item.path.parents] + real


SHARED = "shared"
_USES_SHARED = re.compile(
    r"^(def test_\w+|@pytest\.fixture.*\ndef \w+)\([^)]*\bdeployment: LocalDeployment", re.MULTILINE
)
GROUPS = {"test_fabric": "test_scaled", "test_fabric_kills": "test_scaled"}
"""One process at a time has virtual hosts: a loop device that is left is of its test."""
LONGEST = (
    SHARED,
    "test_kills",
    "test_scaled",
    "test_secure_cluster",
    "test_ozone",
    "test_ceph",
    "test_ceph_gateway",
    "test_warm_starts",
    "test_faults",
    "test_ha",
    "test_isolation",
)


@cache
def group_of(file: Path) -> str:
    """The group of a file: all files that use the fixture ``deployment`` are in one."""
    return SHARED if _USES_SHARED.search(file.read_text()) else GROUPS.get(file.stem, file.stem)


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # of an untyped package
    """Gives all tests of a group to the same process, which then starts one shared cluster."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(Path(nodeid.partition("::")[0]).absolute())


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """The scheduler of several processes (``-n``)."""
    return Groups(config, log)


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A register of deployments for these tests alone; nothing of it may be left running."""
    folder = tmp_path_factory.mktemp("state")
    old = os.environ.get("WINDTUNNEL_STATE")
    os.environ["WINDTUNNEL_STATE"] = str(folder)
    yield folder
    if old is None:
        del os.environ["WINDTUNNEL_STATE"]
    else:
        os.environ["WINDTUNNEL_STATE"] = old


@pytest.fixture(scope="session")
def testbed(state: Path, tmp_path_factory: pytest.TempPathFactory) -> LocalTestbed:
    return LocalTestbed(tmp_path_factory.mktemp("logs"), lambda text: None)


@pytest.fixture(scope="session")
def deployment(testbed: LocalTestbed) -> Iterator[LocalDeployment]:
    """Two workers, shared by the tests that do not break it."""
    changes = {"hosts.worker.count": 2, **LIGHT_TASKS, **LIGHT_DAEMONS, **LIGHT_SPARK}
    cluster = apply_overrides(load_cluster("local-3"), changes | SMALL_CACHES)
    yield _shared.enter_context(testbed.deploy(cluster))
    _shared.close()


_shared = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End the shared cluster before the tests of other groups: its heartbeats take CPU time."""
    if group_of(item.path) != SHARED:
        _shared.close()


@dataclass
class Cli:
    """The command line as a user has it, in a process of its own."""

    cwd: Path

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "windtunnel", *words]

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*words),
            cwd=self.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def cli(state: Path, tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def java_of_the_older_line() -> bool:
    """Whether this machine has a Java for Hadoop 3.4."""
    try:
        return find_java(17, 21) is not None
    except SetupError:
        return False


def wait_for(condition: Callable[[], T | None], what: str, limit_s: float = 300) -> T:
    """What ``condition`` returns as soon as it is true."""
    deadline = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {limit_s} s for {what}"
        time.sleep(0.2)
    return found


class Intruder:
    """Another account of this machine, which tries to reach a running deployment."""

    def __init__(self, account: intruder.Other) -> None:
        self.account = account

    def reached(self, deployment: HadoopDeployment) -> list[str]:
        """What it can reach, by every way that it has; see ``tests/support/intruder.py``."""
        folder = deployment.registration.folder
        targets = intruder.targets(deployment.supervisor.pid, folder, deployment.logs)
        assert len(targets["tcp"]) > 10 and len(targets["files"]) > 20 and len(targets["pids"]) > 5
        return intruder.reached(self.account, **targets)

    @contextmanager
    def during(self, deployment: HadoopDeployment, runs: str) -> Iterator[None]:
        """Tries once, when a process with ``runs`` in its command runs; it reaches nothing."""
        found: list[list[str]] = []
        over = threading.Event()

        def attempt() -> None:
            while not over.wait(0.2):
                if any(runs in words for words in commands_of(deployment)):
                    found.append(self.reached(deployment))
                    return

        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60)
        assert found == [[]], f"{runs} was not seen, or more than nothing was reached"


@pytest.fixture(scope="session")
def other() -> Iterator[Intruder]:
    """A second account."""
    if os.geteuid() != 0:
        pytest.skip("needs root: a second account is made and removed")
    with intruder.other_account(f"wtother{os.getpid()}") as account:
        yield Intruder(account)


def commands_of(deployment: HadoopDeployment) -> list[str]:
    """Command lines of all processes of a deployment."""
    found = []
    for process in psutil.Process(deployment.supervisor.pid).children(recursive=True):
        with suppress(psutil.Error):
            found.append(" ".join(process.cmdline()))
    return found


@contextmanager
def jobs_in_one_jvm(deployment: HadoopDeployment) -> Iterator[None]:
    """Jobs with at most one reduce task run in the JVM of their application master."""
    plain = deployment.run_job

    def run_job(
        phase: str, argv: Sequence[str], settings: Mapping[str, str], *, deadline_s: float
    ) -> JobRun:
        uber = {**settings, "mapreduce.job.ubertask.enable": "true"}
        return plain(phase, argv, uber, deadline_s=deadline_s)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployment, "run_job", run_job)
        yield


@pytest.fixture
def small_jobs(deployment: LocalDeployment) -> Iterator[None]:
    """:func:`jobs_in_one_jvm` on the shared cluster."""
    with jobs_in_one_jvm(deployment):
        yield


def write_file(
    deployment: HadoopDeployment, path: str, content: bytes, replication: int = 1
) -> None:
    """Write or replace a small file of HDFS without the JVM of a client."""
    files = deployment.files
    copies = str(replication)
    answer = files._request("PUT", path, op="CREATE", overwrite="true", replication=copies)
    assert answer is not None and answer.is_redirect
    done = files._http.put(files._resolve(answer.headers["location"]), content=content)
    assert done.is_success, done.text


def by_hand(deployment: HadoopDeployment, *words: str) -> str:
    """Run a Hadoop command as ``windtunnel exec`` does; returns what it wrote."""
    argv, env = user_process(deployment.registration, words)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def remains(state: Path) -> list[str]:
    """Command lines of daemons, clients and containers of this state folder's deployments."""
    found = []
    for process in psutil.process_iter():
        try:
            command = " ".join(process.cmdline())
            if f"{state}/deployments/" in command:
                found.append(command[:200])
        except psutil.Error:
            continue
    return found
