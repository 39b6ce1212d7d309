"""The daemons of the testbed ``local``: what runs, where it listens, what it leaves."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.real.conftest import remains, wait_for
from windtunnel.cluster import load_cluster
from windtunnel.errors import DeploymentError
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

EXPECTED = {
    "namenode@master",
    "resourcemanager@master",
    "historyserver@master",
    "datanode@worker-1",
    "datanode@worker-2",
    "nodemanager@worker-1",
    "nodemanager@worker-2",
}


def test_every_daemon_is_a_process_of_its_own(deployment: LocalDeployment) -> None:
    running = deployment.processes()
    assert set(running) == EXPECTED
    assert len(set(running.values())) == len(EXPECTED)
    deployment.check_alive()


def test_daemons_listen_on_loopback_but_for_the_shuffle(deployment: LocalDeployment) -> None:
    shuffle = {
        int(settings["mapreduce.shuffle.port"])
        for settings in deployment.layout.per_host.values()
        if "mapreduce.shuffle.port" in settings
    }
    elsewhere = set()
    for pid in deployment.processes().values():
        for connection in psutil.Process(pid).net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                address = connection.laddr.ip.removeprefix("::ffff:")
                if not address.startswith("127."):
                    elsewhere.add(connection.laddr.port)
    assert elsewhere == shuffle


def test_files_over_webhdfs(deployment: LocalDeployment) -> None:
    assert deployment.files.list_files("/no/such/folder") == []
    deployment.files.delete("/no/such/folder")
    with pytest.raises(DeploymentError, match="not on the cluster"):
        deployment.files.read("/no/such/file")


def test_two_testbeds_side_by_side_do_not_meet(
    deployment: LocalDeployment, testbed: LocalTestbed, state: Path
) -> None:
    with testbed.deploy(load_cluster("local-1")) as other:
        assert other.layout.settings["fs.defaultFS"] != deployment.layout.settings["fs.defaultFS"]
        victim = other.processes()["datanode@worker"]
        os.kill(victim, signal.SIGKILL)
        killed_at = time.monotonic()
        with pytest.raises(DeploymentError, match=r"datanode on worker has died .*signal 9"):
            while time.monotonic() < killed_at + 2:
                other.check_alive()
                time.sleep(0.02)
        deployment.check_alive()
        scratch = other.registration.scratch
    assert not scratch.exists()
    wait_for(lambda: not any(str(scratch) in line for line in remains(state)), "the end", 10)
    deployment.check_alive()
