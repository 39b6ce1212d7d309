"""Warm starts: which JVMs wait, with which options, and how a launch reaches them."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engines.test_hadoop_layout import layout_of
from windtunnel.cluster import load_cluster
from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.engines.hadoop.hdfs import Hdfs
from windtunnel.engines.hadoop.pool import Pool, Starts, Status, launch_options
from windtunnel.engines.hadoop.software import OWN_JAR
from windtunnel.engines.java import find_java
from windtunnel.engines.storage_system import Ground
from windtunnel.errors import DeploymentError
from windtunnel.hosts.local import LocalHost

SETTINGS = {
    "mapreduce.admin.map.child.java.opts": "-Da=$NM_HOST --add-opens=x -cp /lib/*:$CLASSPATH:/own",
    "yarn.app.mapreduce.am.admin-command-opts": "-XX:+UseSerialGC",
}


def test_a_task_has_the_options_that_hadoop_gives_it() -> None:
    found = launch_options("map", SETTINGS, "worker-1", "3.5")
    # 0.8 of a default container of 1,024 MiB, rounded up
    assert found == ("-Da=worker-1", "--add-opens=x", "-Xmx820m")

    own = {"mapreduce.map.java.opts": "-Xmx256m -XX:+UseParallelGC"}
    found = launch_options("map", SETTINGS | own, "worker-1", "3.5")
    assert found[-2:] == ("-Xmx256m", "-XX:+UseParallelGC")

    smaller = {"mapreduce.map.memory.mb": "320"}
    assert launch_options("map", SETTINGS | smaller, "w", "3.5")[-1] == "-Xmx256m"
    hexadecimal = {"mapreduce.map.memory.mb": "0x140"}
    assert launch_options("map", SETTINGS | hexadecimal, "w", "3.5")[-1] == "-Xmx256m"


@pytest.mark.parametrize(("ratio", "heap"), [("0.5f", 512), ("1.5", 820), ("half", 820)])
def test_the_heap_of_a_task_has_the_ratio_that_hadoop_reads(ratio: str, heap: int) -> None:
    given = {"mapreduce.job.heap.memory-mb.ratio": ratio}
    assert launch_options("map", SETTINGS | given, "w", "3.5")[-1] == f"-Xmx{heap}m"


def test_an_application_master_has_its_own_options() -> None:
    found = launch_options("master", SETTINGS, "worker-1", "3.5")
    assert found == ("-XX:+UseSerialGC", "-Xmx1024m")


def test_options_that_hadoop_adds_on_new_runtimes_belong_to_the_key() -> None:
    added = "--add-exports=java.base/sun.net.util=ALL-UNNAMED"
    for kind in ("map", "reduce", "master"):
        assert launch_options(kind, SETTINGS, "w", "3.4")[-1] == added, (
            "after the options of the user"
        )
        assert added not in launch_options(kind, SETTINGS, "w", "3.5")
        off = {"mapreduce.jvm.add-opens-as-default": "false"}
        assert added not in launch_options(kind, SETTINGS | off, "w", "3.4")


def test_the_status_of_a_keeper_is_read() -> None:
    text = "serial 3\nfilled true\nwarm 5\nstock 2\nfailed 0\nwaiting 1 77 78\nwaiting 2 99\n"
    assert Status.parse(text) == Status(3, True, Starts(5, 2), 0, [77, 78, 99])
    assert Status.parse("") == Status(0, False, Starts(), 0, [])
    assert Starts(5, 2) - Starts(3, 2) == Starts(2, 0)


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    """A prepared pool on hosts whose stock java prints its arguments; nothing is started."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\necho "stock $*"\nexit 3\n')
    java.chmod(0o755)
    layout = layout_of(tmp_path / "hosts")
    layout.software = replace(layout.software, java=java)
    for placement in layout.placements:
        name = placement.host.name
        root, logs = tmp_path / "scratch" / name, tmp_path / "logs" / name
        supervisor: Any = SimpleNamespace(spawn=lambda spec: SimpleNamespace(pid=os.getpid()))
        placement.host = LocalHost(name, "127.0.0.1", root, logs, supervisor)
    storage = Hdfs(Ground(load_cluster("local-3"), layout.placements, tmp_path, own_networks=False))
    made = Pool(Daemons(layout, storage, tmp_path / "names", tmp_path))
    made._memory_bytes = 64 << 30
    made.prepare()
    return made


@pytest.fixture
def script(pool: Pool) -> Path:
    """The script of a host."""
    worker = next(p.host for p in pool.layout.placements if p.host.name == "worker-1")
    assert pool.daemons.java_homes["worker-1"] == pool.java_home(worker)
    return pool.java_home(worker) / "bin" / "java"


def test_starts_before_the_kill_of_a_keeper_still_count(pool: Pool) -> None:
    status = next(p.host.root for p in pool.layout.placements if p.host.name == "worker-1")
    status = status / "pool" / "status"
    pool.start()
    status.write_text("warm 5\nstock 2\n")
    assert pool.starts() == Starts(5, 2)
    pool.restart("pool@worker-1")
    assert pool.starts() == Starts(5, 2)
    status.write_text("warm 1\nstock 0\n")
    assert pool.starts() == Starts(6, 2)


def orders(pool: Pool) -> dict[str, str]:
    """The present order of each host that has one."""
    files = pool.layout.placements[0].host.root.parent.glob("*/pool/order")
    return {file.parents[1].name: file.read_text() for file in files}


def answer_as_full(pool: Pool) -> Callable[[], None]:
    """What the keepers of all hosts with an order write when the JVMs wait."""

    def answer() -> None:
        for name, order in orders(pool).items():
            (serial,) = re.findall(r"serial (\d+)", order)
            host = next(p.host for p in pool.layout.placements if p.host.name == name)
            (host.root / "pool" / "status").write_text(f"serial {serial}\nfilled true\n")

    return answer


def test_hosts_that_a_fault_has_killed_or_cut_off_are_not_filled(pool: Pool) -> None:
    pool.start()
    pool.release(["pool@worker-1"])
    pool.cuts["worker-2"] = {"worker-2"}
    pool.fill(20, answer_as_full(pool))
    assert orders(pool).keys() == {"worker-3"}
    pool.cuts.clear()
    pool.restart("pool@worker-1")
    pool.fill(20, answer_as_full(pool))
    assert orders(pool).keys() == {"worker-1", "worker-2", "worker-3"}


def test_only_hosts_on_the_side_of_the_masters_are_filled(pool: Pool) -> None:
    masters = pool.layout.placements[0].host.name
    pool.start()
    pool.cuts["r1"] = {masters, "worker-1"}
    pool.cuts["worker-3"] = {"worker-3"}
    pool.fill(20, answer_as_full(pool))
    assert orders(pool).keys() == {"worker-1"}


def test_a_keeper_that_starts_again_obeys_no_earlier_order(pool: Pool) -> None:
    """It would start JVMs within the timed phase."""
    pool.start()
    pool.fill(20, answer_as_full(pool))
    pool.restart("pool@worker-1")
    assert "worker-1" not in orders(pool)


def test_hosts_out_of_service_do_not_count_for_the_reduces(pool: Pool) -> None:
    pool.layout.settings |= {
        "mapreduce.job.reduces": "6",
        "yarn.nodemanager.resource.memory-mb": "8192",
    }
    pool.start()
    found = []
    for out in (set(), {"worker-2", "worker-3"}):
        pool.daemons.out = out
        pool.fill(20, answer_as_full(pool))
        numbers = re.findall(r"kind \d+ (\d+)", orders(pool)["worker-1"])
        found.append(sum(map(int, numbers)))
    assert found[1] == found[0] + 4, "all six reduce tasks run here, and not two"


def test_jvms_that_warmed_up_with_other_settings_are_replaced(pool: Pool) -> None:
    """The keeper keeps a JVM only if its command is the same."""
    pool.daemons.client_conf.mkdir(parents=True, exist_ok=True)
    site = pool.daemons.client_conf / "mapred-site.xml"
    pool.start()
    found = []
    for text in ("<configuration/>", "<configuration/>", "<configuration>\n</configuration>"):
        site.write_text(text)
        pool.fill(20, answer_as_full(pool))
        found.append(re.findall("^command (.*)", orders(pool)["worker-1"], re.MULTILINE))
    assert found[0] == found[1] != found[2]


def test_kinds_that_differ_in_properties_of_the_launch_only_are_one(pool: Pool) -> None:
    """A running JVM sets them, and a launch does not state which of the kinds it is."""
    own = {f"mapreduce.{kind}.java.opts": f"-Dlog4j.x={kind}" for kind in ("map", "reduce")}
    pool.layout.settings |= own
    pool.start()
    pool.fill(20, answer_as_full(pool))
    order = orders(pool)["worker-1"]
    keys = re.findall(r"((?:^key .*\n)+)", order, re.MULTILINE)
    assert len(keys) == len(set(keys)) == 2, "one kind for tasks, one for masters"
    assert "log4j.x" not in order


def test_no_jvm_waits_with_options_that_act_at_its_start(pool: Pool) -> None:
    pool.layout.settings |= {"mapreduce.map.java.opts": "-Xlog:gc:file=gc.log"}
    pool.start()
    pool.fill(20, answer_as_full(pool))
    order = orders(pool)["worker-1"]
    assert "gc.log" not in order and "YarnChild" in order and "MRAppMaster" in order


def test_after_a_failure_no_jvm_starts(pool: Pool) -> None:
    """With a fault in force, the phase runs nevertheless."""
    pool.start()

    def fail() -> None:
        raise DeploymentError("the namenode has died")

    with pytest.raises(DeploymentError, match="has died"):
        pool.fill(20, fail)
    assert set(orders(pool).values()) == {"serial 2\nend\n"}


def test_waiting_jvms_see_the_processors_of_the_quota_of_their_host(pool: Pool) -> None:
    """They start without the quota, and would choose another collector and more threads."""
    worker = next(p for p in pool.layout.placements if p.host.name == "worker-1")
    worker.processors = 1
    pool.start()
    pool.fill(20, answer_as_full(pool))
    found = {name: "-XX:ActiveProcessorCount=1" in text for name, text in orders(pool).items()}
    assert found == {"worker-1": True, "worker-2": False, "worker-3": False}


def launch(
    script: Path, answer: str | None, main: str = "Main", note: str = ""
) -> subprocess.CompletedProcess[str]:
    """Start the script as a NodeManager does; a keeper gives the answer, None: there is none.

    Before the last line of its answer, it writes ``note`` to the script's standard error.
    """
    folder = script.parents[2]

    def keep() -> None:
        with os.fdopen(os.open(folder / "requests", os.O_RDWR), "r+b", buffering=0) as requests:
            pid = requests.readline().decode().strip()
            pipe = folder / f"reply-{pid}"
            with os.fdopen(os.open(pipe, os.O_RDWR), "wb", buffering=0) as reply:
                pipe.unlink()
                first, _, rest = (answer or "").partition("\n")
                reply.write(f"{first}\n".encode())
                if rest:
                    with Path(f"/proc/{pid}/fd/2").open("a") as errors:
                        errors.write(note)
                    reply.write(rest.encode())

    keeper = threading.Thread(target=keep)
    if answer is not None:
        (folder / "keeper").write_text(f"{os.getpid()}\n")
        keeper.start()
    done = subprocess.run(
        [script, "-Xmx1m", main], capture_output=True, text=True, timeout=20, check=False
    )
    if answer is not None:
        keeper.join(20)
    return done


def test_a_launch_ends_with_the_exit_code_of_the_waiting_jvm(script: Path) -> None:
    assert stat.S_ISFIFO((script.parents[2] / "requests").stat().st_mode)
    done = launch(script, "warm 1\n143\n", note="what the JVM writes")
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "what the JVM writes")


def test_a_jvm_ends_with_its_keeper_and_so_does_the_launch(script: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as jvm:
        done = launch(script, f"warm {jvm.pid}")
        assert done.returncode == 128 + signal.SIGKILL
        assert jvm.wait(20) == -signal.SIGKILL


@pytest.fixture
def keeping(script: Path) -> Iterator[Callable[[str], None]]:
    """A function that gives an order to a keeper and waits until its JVMs wait.

    Their command is a shell that ends with code 5 when it has its launch.
    """
    folder = script.parents[2]
    java = find_java(17).home / "bin" / "java"
    argv = [str(java), "-Xmx16m", "-cp", str(OWN_JAR), "io.windtunnel.pool.Keeper", str(folder)]
    with subprocess.Popen(argv) as keeper:
        (folder / "keeper").write_text(f"{keeper.pid}\n")

        def order(kinds: str) -> None:
            jvm = 'command sh\ncommand -c\ncommand echo "windtunnel: warm"; read pid; exit 5\n'
            text = f"serial 1\n{kinds.format(jvm=jvm)}end\n"
            (folder / "order.new").write_text(text)
            (folder / "order.new").rename(folder / "order")
            for _ in range(600):
                with suppress(FileNotFoundError):  # the keeper is starting
                    status = Status.parse((folder / "status").read_text())
                    if status.serial == 1 and status.filled:
                        return
                time.sleep(0.05)
            raise AssertionError("the JVMs do not wait")

        try:
            yield order
        finally:
            keeper.kill()


def test_a_launch_takes_one_jvm_also_of_two_kinds_with_its_key(
    script: Path, keeping: Callable[[str], None]
) -> None:
    key = "key -Xmx1m\nkey Main\n"
    keeping(f"kind 1 1\n{key}{{jvm}}kind 2 1\n{key}{{jvm}}")
    found = []
    for _ in range(2):
        command = [str(script), "-Xmx1m", "Main"]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        status = Status.parse((script.parents[2] / "status").read_text())
        found.append((done.returncode, status.starts.warm, len(status.waiting)))
    assert found == [(5, 1, 1), (5, 2, 0)]


@pytest.mark.parametrize(
    ("environment", "warm"),
    [
        ({"LD_LIBRARY_PATH": "{here}:/no/such/folder:."}, True),
        ({"LD_LIBRARY_PATH": "{here}:/usr/lib"}, False),
        ({"TZ": "Asia/Tokyo"}, False),
        ({"MALLOC_ARENA_MAX": ""}, True),
        ({"MALLOC_ARENA_MAX": "4"}, False),
        ({"LC_ALL": "C.UTF-8"}, False),
        ({"OTHER": "set later"}, True),
    ],
)
def test_variables_that_a_process_reads_at_its_start_must_agree(
    script: Path,
    keeping: Callable[[str], None],
    environment: dict[str, str],
    warm: bool,
    tmp_path: Path,
) -> None:
    keeping("kind 1 1\nkey -Xmx1m\nkey Main\n{jvm}")
    env = {name: value.format(here=tmp_path) for name, value in environment.items()}
    command = [str(script), "-Xmx1m", "Main"]
    given = {**os.environ, "PWD": str(tmp_path), **env}
    done = subprocess.run(command, capture_output=True, timeout=60, check=False, env=given)
    assert done.returncode == (5 if warm else 3)


def test_stock_starts_without_a_keeper_are_counted(script: Path, pool: Pool) -> None:
    launch(script, None, main="org.apache.hadoop.mapred.YarnChild")
    launch(script, None, main="org.apache.spark.deploy.yarn.ApplicationMaster")
    launch(script, "stock", main="org.apache.hadoop.mapred.YarnChild")  # its keeper counts it
    assert pool.starts() == Starts(stock=1)


def test_a_keeper_that_has_ended_keeps_no_launch_waiting(script: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    (script.parents[2] / "keeper").write_text(f"{ended.pid}\n")
    assert launch(script, None).returncode == 3


@pytest.mark.parametrize("answer", ["stock", None])
def test_without_a_waiting_jvm_the_stock_java_starts(script: Path, answer: str | None) -> None:
    done = launch(script, answer)
    assert (done.returncode, done.stdout) == (3, "stock -Xmx1m Main\n")
