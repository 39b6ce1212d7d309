"""The daemons of the testbed ``local``: what runs, where it listens, what it leaves."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from importlib import resources
from ipaddress import ip_address
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from tests.real.conftest import Intruder, by_hand, remains, wait_for, write_file
from tests.support import sockets
from windtunnel.audit.audit import Subject
from windtunnel.audit.audit import run as run_audit
from windtunnel.audit.configuration import combined, read_configuration
from windtunnel.audit.exceptions import applied, read_exceptions
from windtunnel.audit.facts import this_machine
from windtunnel.audit.hardware import of_facts
from windtunnel.cluster import Cluster, Located, load_text, validate
from windtunnel.engines.deployment import SHARED, TRIALS
from windtunnel.engines.hadoop.client import COMMANDS
from windtunnel.engines.hadoop.formatted import kept_file, restore
from windtunnel.engines.hadoop.layout import MAIN_CLASS, NAME_FOLDER
from windtunnel.errors import DeploymentError
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed
from windtunnel.workloads.base import Execution
from windtunnel.workloads.transfer import Transfer, TransferParameters

EXPECTED = {
    "namenode@master",
    "resourcemanager@master",
    "historyserver@master",
    "datanode@worker-1",
    "datanode@worker-2",
    "nodemanager@worker-1",
    "nodemanager@worker-2",
}
APPLICATION_MASTER = "org.apache.hadoop.mapreduce.v2.app.MRAppMaster"


def test_every_daemon_is_a_process_of_its_own(deployment: LocalDeployment) -> None:
    running = deployment.processes()
    assert set(running) == EXPECTED
    assert len(set(running.values())) == len(EXPECTED)
    deployment.check_alive()


def listening(deployment: LocalDeployment) -> dict[str, set[tuple[str, int]]]:
    """Where the deployment's processes listen, containers too, by their main class."""
    found: dict[str, set[tuple[str, int]]] = {}
    for process in psutil.Process(deployment.supervisor.pid).children(recursive=True):
        try:
            words = process.cmdline()
            main = next((word for word in words if word.startswith("org.apache.")), "other")
            found.setdefault(main, set()).update(sockets.listening(process.pid))
        except (psutil.Error, OSError):  # it has just ended
            continue
    return found


def test_daemons_listen_on_loopback_and_others_reach_nothing(
    deployment: LocalDeployment, other: Intruder
) -> None:
    """At every look while a job runs: the shuffle and the application master as well."""
    seen: dict[str, set[tuple[str, int]]] = {}
    job = ["org.apache.hadoop.examples.terasort.TeraGen", "1000", "/loopback"]
    user = {"yarn.app.mapreduce.am.command-opts": "-Xmx768m"}  # must not undo ours
    deadline_s = time.monotonic() + 600
    with ThreadPoolExecutor(1) as pool, other.during(deployment, APPLICATION_MASTER):
        running = pool.submit(deployment.run_job, "teragen", job, user, deadline_s=deadline_s)
        while not running.done():
            for main, places in listening(deployment).items():
                seen.setdefault(main, set()).update(places)
            time.sleep(0.1)
        running.result()
    deployment.files.delete("/loopback")

    elsewhere = {
        (main, address, port)
        for main, places in seen.items()
        for address, port in places
        if not ip_address(address).is_loopback
    }
    assert not elsewhere
    played = {role for placement in deployment.layout.placements for role in placement.roles}
    assert played >= {"namenode", "datanode", "resourcemanager", "nodemanager", "historyserver"}
    assert set(seen) >= {*(MAIN_CLASS[role] for role in played), APPLICATION_MASTER}
    # A second attempt of the master opens its own, so three are the least.
    assert len(seen[APPLICATION_MASTER]) >= 3, "clients, tasks and the web page"
    shuffle = {
        (host.address, int(deployment.layout.properties(host)["mapreduce.shuffle.port"]))
        for host in deployment.hosts
        if host.name.startswith("worker")
    }
    assert seen[MAIN_CLASS["nodemanager"]] >= shuffle


def test_files_over_webhdfs(deployment: LocalDeployment) -> None:
    assert deployment.files.list_files("/no/such/folder") == []
    deployment.files.delete("/no/such/folder")
    with pytest.raises(DeploymentError, match="not on the cluster"):
        deployment.files.read("/no/such/file")


def test_a_host_out_of_service_gives_its_blocks_to_the_others(
    deployment: LocalDeployment,
) -> None:
    write_file(deployment, "/tmp/moves", bytes(5_000_000))
    ((holder,),) = deployment.files.replicas("/tmp/moves")
    (other,) = {"worker-1", "worker-2"} - {holder}

    put_back = deployment.faulty.decommission(holder)
    out = wait_for(deployment.faulty.copies, "an answer of the NameNode", 60)
    assert (out.holders, out.wanting > 0) == (1, True)
    wait_for(lambda: other in deployment.files.replicas("/tmp/moves")[0], "the copy", 60)
    assert f"datanode@{holder}" in deployment.processes()
    put_back()
    back = wait_for(deployment.faulty.copies, "an answer of the NameNode", 60)
    assert back.holders == 2
    deployment.files.delete("/tmp/moves")


def test_restored_files_of_the_namenode_are_those_of_a_format(
    deployment: LocalDeployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kept files with new ids, against a format by the release itself."""
    layout = deployment.layout
    master = next(host for host in deployment.hosts if host.name == "master")
    kept = kept_file(master, layout.properties(master), layout.software.version)
    elsewhere = Mock(root=tmp_path, address=master.address, write_bytes=Path.write_bytes)
    (tmp_path / NAME_FOLDER / "current").mkdir(parents=True)
    assert restore(elsewhere, kept)
    monkeypatch.setitem(COMMANDS, ("hdfs", "namenode"), (MAIN_CLASS["namenode"], ()))
    fresh = deployment.registration.scratch / "formatted"
    folder = f"-Ddfs.namenode.name.dir=file://{fresh}"
    by_hand(deployment, "hdfs", "namenode", folder, "-format", "-nonInteractive")

    (restored, ours), (formatted, theirs) = files_of(tmp_path / NAME_FOLDER), files_of(fresh)
    assert ours == theirs
    assert restored.keys() == formatted.keys()
    differing = {key for key in restored if restored[key] != formatted[key]}
    assert differing == {"clusterID", "namespaceID", "blockpoolID", "cTime"}


def files_of(name: Path) -> tuple[dict[str, str], set[str]]:
    """The lines of VERSION, and the names of the files of a NameNode."""
    lines = (name / "current/VERSION").read_text().splitlines()
    named = {path.name for path in (name / "current").iterdir()}
    return dict(line.split("=", 1) for line in lines if "=" in line), named


CODED = """\
name: coded
hosts:
  master: {count: 1, roles: [namenode, resourcemanager, historyserver]}
  worker: {count: 1, roles: [nodemanager]}
  store: {count: 3, roles: [datanode]}
storage: {external: [store], erasure_code: XOR-2-1}
"""


def reads_without_a_datanode(coded: LocalDeployment) -> None:
    """Files with an erasure code are stored 1.5 times, and survive the loss of a DataNode."""
    parameters = {"size": "8 MiB", "files": 1, "replication": 1}  # whole stripes
    workload = Transfer(validate(TransferParameters, Located(parameters)))
    here = Execution(f"{TRIALS}/coded", SHARED, time.monotonic() + 300)
    workload.prepare(coded, here)
    here.runs["put"] = workload.run_phase("put", coded, here)
    assert coded.storage_metrics(here.folder)["stored_per_byte"].value == 1.5
    assert coded.faulty is not None
    ((first, *others),) = coded.files.replicas(f"{here.folder}/data/part-00000")
    assert {first, *others} == {"store-1", "store-2", "store-3"}
    restart = coded.faulty.kill_daemon("datanode", first)  # of the first data cell of each stripe
    here.runs["get"] = workload.run_phase("get", coded, here)
    verdict = workload.verify(coded, here)
    assert verdict.valid, verdict.reason
    restart()
    coded.faulty.restore(copies=True)
    kept = next(check for check in verdict.checks if check.name == "stored files")
    assert kept.got == "8388608 bytes with erasure code XOR-2-1-1024k"
    workload.clean(coded, here)


def ended(pid: int) -> bool:
    """Whether the kernel has ended a killed process, which takes time for a JVM."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_two_testbeds_side_by_side_do_not_meet(
    deployment: LocalDeployment, testbed: LocalTestbed, state: Path
) -> None:
    """The other one has storage hosts of its own and an erasure code."""
    cluster = validate(Cluster, load_text(CODED, "coded.yaml"))
    with testbed.deploy(cluster) as other:
        assert other.layout.settings["fs.defaultFS"] != deployment.layout.settings["fs.defaultFS"]
        reads_without_a_datanode(other)
        victim = other.processes()["datanode@store-3"]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: ended(victim), "the end of the killed daemon", 30)
        killed_at = time.monotonic()
        with pytest.raises(DeploymentError, match=r"datanode on store-3 has died .*signal 9"):
            while time.monotonic() < killed_at + 2:
                other.check_alive()
                time.sleep(0.02)
        deployment.check_alive()
        scratch = other.registration.scratch
    assert not scratch.exists()
    wait_for(lambda: not any(str(scratch) in line for line in remains(state)), "the end", 60)
    deployment.check_alive()


def test_the_audit_finds_nothing_undeclared_in_the_running_cluster(
    deployment: LocalDeployment,
) -> None:
    """The files that its daemons read, and the facts of the machine while they run."""
    folders = [placement.host.root / "conf" for placement in deployment.layout.placements]
    conf = combined([read_configuration(folder) for folder in folders], "local", "3.5.0")
    hardware = replace(of_facts([this_machine()]), shared_by=2, workers=2, datanodes=2, mixed=False)
    made = run_audit(Subject([this_machine()], [conf], hardware))
    file = resources.files("windtunnel.catalogue").joinpath("audit/exceptions/local.yaml")
    found, _ = applied(made.results, read_exceptions(Path(str(file))), date(2027, 1, 1))
    assert [(r.check, r.observed) for r in found if r.counts and r.area == "hadoop"] == []
    assert [(r.check, r.observed) for r in found if r.counts and r.area == "security"] == []
    main = "org.apache.hadoop.hdfs.server.namenode.NameNode"
    if os.geteuid() == 0:  # others do not see the sockets of each namespace
        assert main in {row["process"] for row in made.surface}
