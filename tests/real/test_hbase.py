"""HBase beside a real cluster: up in time, measured, broken on purpose, a RegionServer killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from windtunnel.engines.hbase.engine import HBase
from windtunnel.results.record import Verdict
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution
from windtunnel.workloads.keyvalue import KeyValue, KeyValueParameters

# 82 MB in few rows: more than both block caches, loaded in seconds
COLD = {"workload": "A", "records": 2000, "operations": 2000, "field_length": "4 KiB"}
SMALL = {"workload": "E", "records": 2000, "operations": 300, "warm": True}


def keyvalue(parameters: dict[str, Any]) -> KeyValue:
    return KeyValue(KeyValueParameters.model_validate({"regions": 4, **parameters}))


def execution(name: str) -> Execution:
    return Execution(f"/windtunnel/trials/{name}", "/windtunnel/shared", time.monotonic() + 240)


def run(workload: KeyValue, deployment: LocalDeployment, name: str) -> Execution:
    made = execution(name)
    workload.prepare(deployment, made)
    for phase in workload.phases():
        made.runs[phase] = workload.run_phase(phase, deployment, made)
    return made


@pytest.fixture(scope="module")
def hbase(deployment: LocalDeployment) -> Iterator[LocalDeployment]:
    """The shared cluster with HBase on it; it goes as it came."""
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
    assert roles == ["hmaster", "regionserver", "regionserver", "zookeeper"]
    for name, pid in running.items():
        listening = [c for c in psutil.Process(pid).net_connections() if c.status == "LISTEN"]
        assert listening
        own = addresses[name.partition("@")[2]]
        assert {c.laddr.ip.removeprefix("::ffff:") for c in listening} == {own}


def test_cold_data_is_measured_and_right(hbase: LocalDeployment) -> None:
    workload = keyvalue(COLD)
    made = run(workload, hbase, "cold")
    verdict = workload.verify(hbase, made)
    assert verdict.valid, verdict.reason
    found = made.runs["run"].phase.metrics
    for name in ("read_p50", "read_p99.9", "update_max", "throughput", "cache_hits"):
        assert found[name].value > 0, name
    assert made.runs["load"].phase.metrics["data_to_cache"].value > 1
    assert any(row[2] == "kv_throughput" for row in made.runs["load"].samples)
    workload.clean(hbase, made)


def test_whatever_is_broken_is_caught(hbase: LocalDeployment) -> None:
    workload = keyvalue(SMALL)
    made = run(workload, hbase, "broken")
    assert made.runs["run"].counters["rows_scanned"] > 0

    def verdict() -> Verdict:
        return workload.verify(hbase, made)

    assert verdict().valid, verdict().reason
    engine = hbase.engine(HBase)
    for number, how in enumerate(("lost", "altered", "outdated")):
        words = ["spoil", "trials_broken", str(number), how]
        engine.run("spoil", words, deadline_s=made.deadline_s)
    found = verdict()
    failed = {check.name: check.got for check in found.checks if not check.passed}
    assert set(failed) == {
        "rows",
        "acknowledged rows that are lost",
        "rows with a wrong value",
        "rows without their last acknowledged write",
    }
    assert all(got.startswith("1, such as user") for name, got in failed.items() if name != "rows")
    workload.clean(hbase, made)


def test_a_killed_regionserver_loses_nothing_that_was_acknowledged(hbase: LocalDeployment) -> None:
    workload = keyvalue({**SMALL, "workload": "A", "operations": 6000, "target_rate": 300})
    made = execution("killed")
    workload.prepare(hbase, made)
    made.runs["load"] = workload.run_phase("load", hbase, made)
    undo: list[Any] = []

    def kill() -> None:
        while (hbase.faulty.progress(0) or 0) < 0.2:
            time.sleep(0.1)
        undo.append(hbase.faulty.kill_daemon("regionserver", "worker-2"))

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    made.runs["run"] = workload.run_phase("run", hbase, made)
    killer.join(10)
    assert undo, "it was killed while the workload ran"
    assert made.runs["run"].phase.metrics["longest_stall"].value > 0
    undo[0]()
    hbase.faulty.restore(copies=False)
    verdict = workload.verify(hbase, made)
    assert verdict.valid, verdict.reason
    hbase.check_alive()
    workload.clean(hbase, made)
