"""Kudu beside a real cluster: up in time, measured, broken on purpose, a tablet server killed."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.real.conftest import Intruder
from tests.support import sockets
from windtunnel.engines.kudu.engine import Kudu
from windtunnel.engines.ycsb import store
from windtunnel.testbeds.local import LocalDeployment
from windtunnel.workloads.base import Execution
from windtunnel.workloads.keyvalue.keyvalue import KeyValue, KeyValueParameters
from windtunnel.workloads.keyvalue.result import reads_checked

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="Kudu is published for Linux on x86_64 only",
)

# 22 MB in few rows: more than both block caches, loaded in seconds
KEYVALUE = KeyValue(
    KeyValueParameters.model_validate(
        {
            "store": "kudu",
            "workload": "A",
            "records": 1100,
            "fields": 20,
            "field_length": "1000 B",
            "operations": 1200,
            "target_rate": 250,
            "regions": 4,
            "warm_up": "1 s",
        }
    )
)


def folders_of(deployment: LocalDeployment) -> list[Path]:
    """Folders that Kudu made on the hosts' disks."""
    return [
        Path(top)
        for host in deployment.hosts
        for top, _, files in os.walk(host.root)
        if "README" in files and Path(top).name.startswith("kudu-")
    ]


@pytest.fixture(scope="module")
def kudu(deployment: LocalDeployment) -> Iterator[LocalDeployment]:
    """The shared cluster with Kudu on it; it goes as it came."""
    with pytest.MonkeyPatch.context() as patch:  # few operations: C2 would compile most of the time
        patch.setattr(store, "WORKING", ())
        engine = deployment.engine(Kudu)
        pids = list(engine.processes().values())
        assert folders_of(deployment)
        yield deployment
        pids += list(engine.processes().values())
        deployment.close_engines()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not folders_of(deployment), "its data is gone from the disks"


def test_its_daemons_listen_and_write_on_their_hosts_and_nowhere_else(
    kudu: LocalDeployment,
) -> None:
    hosts = {host.name: host for host in kudu.hosts}
    running = kudu.engine(Kudu).processes()
    roles = sorted(name.partition("@")[0] for name in running)
    assert roles == ["kudu-master", "kudu-tserver", "kudu-tserver"]
    for name, pid in running.items():
        assert len(sockets.listening(pid)) == 2
        its_host = hosts[name.partition("@")[2]]
        assert sockets.addresses(pid) == {its_host.address}
        written = {Path(file.path) for file in psutil.Process(pid).open_files()}
        assert written
        assert all({its_host.root, its_host.logs} & {*file.parents} for file in written)


def test_another_account_reaches_nothing_of_it(kudu: LocalDeployment, other: Intruder) -> None:
    assert other.reached(kudu) == []


@pytest.fixture(scope="module")
def killed(kudu: LocalDeployment) -> Execution:
    """The workload, in the middle of which a tablet server died and was started again."""
    made = Execution("/windtunnel/trials/kudu", "/windtunnel/shared", time.monotonic() + 600)
    KEYVALUE.prepare(kudu, made)
    made.runs["load"] = KEYVALUE.run_phase("load", kudu, made)

    over, killed = threading.Event(), threading.Event()

    def kill() -> None:
        while (kudu.faulty.progress(0) or 0) < 0.2:
            if over.wait(0.1):
                return
        undo: Any = kudu.faulty.kill_daemon("kudu-tserver", "worker-2")
        killed.set()
        undo()  # started again at once: with two copies a majority needs both

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        made.runs["run"] = KEYVALUE.run_phase("run", kudu, made)
    finally:
        over.set()
        killer.join(60)
    assert killed.is_set() and not killer.is_alive(), "it was killed while the workload ran"
    kudu.faulty.restore(copies=False)
    kudu.check_alive()
    return made


def test_a_killed_tablet_server_loses_nothing_that_was_acknowledged(
    kudu: LocalDeployment, killed: Execution
) -> None:
    verdict = KEYVALUE.verify(kudu, killed)
    assert verdict.valid, verdict.reason
    load, run = (killed.runs[phase].phase.metrics for phase in ("load", "run"))
    assert load["data_to_cache"].value > 1
    # the values as they are, and not much beside them
    assert 1 < load["stored"].value / KEYVALUE.data_bytes() < 1.1
    for name in ("read_p50", "update_p50", "update_max", "throughput"):
        assert run[name].value > 0, name


def test_whatever_is_broken_on_purpose_is_caught(kudu: LocalDeployment, killed: Execution) -> None:
    engine = kudu.engine(Kudu)
    words = ["spoil", "trials_kudu", "0", "lost", "1", "altered", "2", "outdated"]
    engine.run("spoil", words, deadline_s=killed.deadline_s)
    found = KEYVALUE.verify(kudu, killed)
    failed = {check.name: check.got for check in found.checks if not check.passed}
    assert failed.pop("rows") == "1099"
    assert set(failed) == {
        "acknowledged rows that are lost",
        "rows with a wrong value",
        "rows without their last acknowledged write",
    }
    assert all(got.startswith("1, such as user") for got in failed.values())
    KEYVALUE.clean(kudu, killed)


def test_scans_that_miss_a_row_are_caught(kudu: LocalDeployment) -> None:
    """Every scan begins with one of 40 rows, so one that is gone is missed soon."""
    asked = {"store": "kudu", "workload": "E", "records": 40, "operations": 600, "warm": True}
    scans = KeyValue(
        KeyValueParameters.model_validate({**asked, "regions": 2, "warm_up": "0 s", "threads": 4})
    )
    made = Execution("/windtunnel/trials/scans", "/windtunnel/shared", time.monotonic() + 600)
    scans.prepare(kudu, made)
    scans.run_phase("load", kudu, made)
    whole = scans.run_phase("run", kudu, made)
    assert all(check.passed for check in reads_checked(whole.counters))
    assert whole.counters["rows_scanned"] > 600
    words = ["spoil", "trials_scans", "7", "lost"]
    kudu.engine(Kudu).run("spoil", words, deadline_s=made.deadline_s)
    spoilt = scans.run_phase("run", kudu, made)
    failed = [check.name for check in reads_checked(spoilt.counters) if not check.passed]
    assert failed == ["scans or scanned rows that were wrong"]
    scans.clean(kudu, made)
