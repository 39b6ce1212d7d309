"""HBase beside a real cluster: up in time, measured, broken on purpose, a RegionServer killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.real.conftest import Intruder
from tests.support import sockets
from windtunnel.engines.hbase import engine as hbase_engine
from windtunnel.engines.hbase.engine import HBase
from windtunnel.engines.ycsb import store
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution
from windtunnel.workloads.keyvalue.keyvalue import KeyValue, KeyValueParameters

# 24 MB in few rows: more than both block caches, loaded in seconds
KEYVALUE = KeyValue(
    KeyValueParameters.model_validate(
        {
            "workload": "A",
            "records": 1200,
            "fields": 50,
            "field_length": "400 B",
            "operations": 2500,
            "target_rate": 250,
            "regions": 4,
            "warm_up": "1 s",
        }
    )
)


@pytest.fixture(scope="module")
def hbase(deployment: LocalDeployment) -> Iterator[LocalDeployment]:
    """The shared cluster with HBase on it; it goes as it came."""
    with pytest.MonkeyPatch.context() as patch:  # few operations: C2 would compile most of the time
        patch.setattr(store, "WORKING", ())
        patch.setattr(hbase_engine, "_SERVING", ("-XX:-UseSerialGC", "-XX:+UseG1GC"))
        engine = deployment.engine(HBase)
        pids = list(engine.processes().values())
        yield deployment
        pids += list(engine.processes().values())
        deployment.close_engines()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    left = deployment.files.folders("/windtunnel")
    assert not any("hbase" in folder for folder in left), "its data is gone from HDFS"


def test_its_daemons_listen_on_their_hosts_and_nowhere_else(hbase: LocalDeployment) -> None:
    addresses = {host.name: host.address for host in hbase.hosts}
    running = hbase.engine(HBase).processes()
    roles = sorted(name.partition("@")[0] for name in running)
    assert roles == ["hbase-master", "regionserver", "regionserver", "zookeeper"]
    for name, pid in running.items():
        own = addresses[name.partition("@")[2]]
        assert {address for address, _ in sockets.listening(pid)} == {own}


def test_another_account_reaches_nothing_of_it(hbase: LocalDeployment, other: Intruder) -> None:
    assert other.reached(hbase) == []


@pytest.fixture(scope="module")
def killed(hbase: LocalDeployment) -> Execution:
    """The workload, in the middle of which a RegionServer died; it was started again since."""
    made = Execution("/windtunnel/trials/killed", "/windtunnel/shared", time.monotonic() + 600)
    KEYVALUE.prepare(hbase, made)
    made.runs["load"] = KEYVALUE.run_phase("load", hbase, made)
    undo: list[Any] = []
    over = threading.Event()

    def kill() -> None:
        while (hbase.faulty.progress(0) or 0) < 0.2:
            if over.wait(0.1):
                return
        undo.append(hbase.faulty.kill_daemon("regionserver", "worker-2"))

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        made.runs["run"] = KEYVALUE.run_phase("run", hbase, made)
    finally:
        over.set()
        killer.join(60)
    assert undo, "it was killed while the workload ran"
    undo[0]()
    hbase.faulty.restore(copies=False)
    hbase.check_alive()
    return made


def test_a_killed_regionserver_loses_nothing_that_was_acknowledged(
    hbase: LocalDeployment, killed: Execution
) -> None:
    verdict = KEYVALUE.verify(hbase, killed)
    assert verdict.valid, verdict.reason
    load, run = (killed.runs[phase].phase.metrics for phase in ("load", "run"))
    assert load["data_to_cache"].value > 1
    assert load["stored"].value % 2**20, "bytes, and not whole MiB of each region"
    for name in ("read_p50", "read_p99.9", "update_max", "throughput"):
        assert run[name].value > 0, name
    # the seconds in which it was away count, and a client that waits would have missed them
    assert run["longest_stall"].value > 1
    assert run["read_p99"].value > 1000
    assert any(row[2] == "kv_throughput" for row in killed.runs["run"].samples)


def test_whatever_is_broken_on_purpose_is_caught(hbase: LocalDeployment, killed: Execution) -> None:
    engine = hbase.engine(HBase)
    words = ["spoil", "trials_killed", "0", "lost", "1", "altered", "2", "outdated"]
    engine.run("spoil", words, deadline_s=killed.deadline_s)
    found = KEYVALUE.verify(hbase, killed)
    failed = {check.name: check.got for check in found.checks if not check.passed}
    assert failed.pop("rows") == "1199"
    assert set(failed) == {
        "acknowledged rows that are lost",
        "rows with a wrong value",
        "rows without their last acknowledged write",
    }
    assert all(got.startswith("1, such as user") for got in failed.values())
    KEYVALUE.clean(hbase, killed)
