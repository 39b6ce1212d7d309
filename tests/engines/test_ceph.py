"""CephFS below Hadoop: its daemons, keys, configuration and set-up, without a running Ceph."""

from __future__ import annotations

import base64
import json
import shlex
import socket
import struct
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.ceph import CLEAN, Started, placements
from tests.support.hosts import host
from tools import build_engine_jar
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.ceph import programs
from windtunnel.engines.ceph.admin import Admin
from windtunnel.engines.ceph.cephfs import CephFs
from windtunnel.engines.ceph.cluster import OWN_JAR
from windtunnel.engines.ceph.site import (
    MDS,
    MGR,
    MON,
    OSD,
    configuration,
    keyring,
    new_key,
    only,
    plan_daemons,
)
from windtunnel.errors import DeploymentError, SetupError

CLUSTER = load_cluster("local-3-cephfs")
ROLES = (MON, MGR, OSD, MDS)


def test_a_daemon_of_each_role_and_an_osd_for_each_disk(tmp_path: Path) -> None:
    found = plan_daemons(CLUSTER, placements(CLUSTER, tmp_path, disks=2), ROLES)
    names = [(daemon.entity, daemon.name) for daemon in found]

    assert names[:3] == [("mon.a", "mon@master"), ("mgr.a", "mgr@master"), ("mds.a", "mds@master")]
    assert names[3:5] == [("osd.0", "osd@worker-1"), ("osd.1", "osd.2@worker-1")]
    assert len({daemon.folder for daemon in found}) == len(found) == 9


def test_a_key_is_type_time_length_and_sixteen_bytes() -> None:
    data = base64.b64decode(new_key())
    kind, _, nanoseconds, length = struct.unpack("<HIIH", data[:12])
    assert (kind, length, len(data)) == (1, 16, 28)
    assert nanoseconds < 1_000_000_000
    assert new_key() != new_key()


def test_clients_get_a_keyring_with_their_own_key_only() -> None:
    text = keyring(["mon.", "osd.0", "client.admin", "client.hadoop"])
    own = only("client.hadoop", text)

    assert own.startswith("[client.hadoop]\n\tkey = ")
    assert own.count("key = ") == 1
    assert text.count("key = ") == 4
    assert "client.hadoop" not in only("client.admin", text)


def test_settings_of_the_description_are_in_the_configuration(tmp_path: Path) -> None:
    daemons = plan_daemons(CLUSTER, placements(CLUSTER, tmp_path), ROLES)
    given = {"bluestore_cache_size": "1", "osd_op_num_shards": "2"}
    text = configuration(daemons, tmp_path / "keys", given, separate_hosts=True)
    lines = dict(line.split(" = ", 1) for line in text.splitlines()[1:])

    assert text.startswith("[global]\n")
    assert lines["mon_host"] == "[v2:127.1.1.1:3300/0,v1:127.1.1.1:6789/0]"
    assert lines["bluestore_cache_size"] == "1"
    assert lines["osd_op_num_shards"] == "2"
    assert lines["osd_crush_chooseleaf_type"] == "1"


def test_the_set_up_takes_one_step_after_the_other(tmp_path: Path) -> None:
    started = Started(CLUSTER, tmp_path)
    storage, monitors = started.storage, started.monitors
    assert started.spawned[:3] == ["mon@master", "mgr@master", "ceph-admin@master"]
    assert started.spawned[3:] == [f"osd@worker-{i}-mkfs" for i in (1, 2, 3)]

    assert storage.state().missing == ["the monitors of Ceph"]
    assert not monitors.commands, "nothing is created before the monitors answer"

    down = {**CLEAN, "osdmap": {"num_up_osds": 1}, "pgmap": {"num_pgs": 0, "pgs_by_state": []}}
    monitors.status = {**down, "fsmap": {"by_rank": []}}
    state = storage.state()
    assert state.missing == ["2 osds", "placement groups", "the metadata server"]
    assert not state.serving
    assert len(monitors.named("osd new")) == 3
    assert started.spawned[-4:] == [*(f"osd@worker-{i}" for i in (1, 2, 3)), "mds@master"]

    monitors.status = CLEAN
    state = storage.state()
    assert state.serving
    assert state.missing == ["the file server"], "it was started and does not listen yet"
    assert started.spawned[-1] == "fileserver@master"
    storage.state()
    assert monitors.opened == 1
    assert len(monitors.named("fs new")) == 1


def test_pools_have_the_replication_of_the_description(tmp_path: Path) -> None:
    started = Started(CLUSTER, tmp_path, {"storage.replication": 2})
    started.monitors.status = CLEAN
    started.storage.state()

    sizes = {(s["pool"], s["var"]): s["val"] for s in started.monitors.named("osd pool set")}
    assert sizes == {("metadata", "size"): "2", ("data", "size"): "2"}
    assert started.storage.expected_copies(1) == "replication 2", "a client cannot choose it"
    (groups,) = [p["pg_num"] for p in started.monitors.named("osd pool create")][1:]
    assert groups == 32, "a power of two"


def test_an_erasure_code_is_a_profile_with_overwrites(tmp_path: Path) -> None:
    started = Started(
        CLUSTER, tmp_path, {"storage.erasure_code": "RS-2-1", "storage.replication": 2}
    )
    started.monitors.status = CLEAN
    started.storage.state()

    (profile,) = started.monitors.named("osd erasure-code-profile set")
    assert profile["profile"] == ["k=2", "m=1", "crush-failure-domain=host"]
    (made,) = started.monitors.named("fs new")
    assert made["force"], "Ceph advises against an erasure code in the first data pool"
    assert started.storage.expected_copies(1) == "replication 3", "of an object: all its cells"


def test_pools_of_ceph_s_own_daemons_have_the_replication_of_the_description(
    tmp_path: Path,
) -> None:
    started = Started(CLUSTER, tmp_path, {"storage.replication": 2})
    assert "osd_pool_default_size = 2\n" in started.storage.conf.read_text()


def test_a_failed_creation_of_an_osd_names_it(tmp_path: Path) -> None:
    started = Started(CLUSTER, tmp_path, code=1)
    started.monitors.status = CLEAN
    with pytest.raises(DeploymentError, match="osd@worker-1 could not be created"):
        started.storage.state()


def test_degraded_objects_are_wanting_copies(tmp_path: Path) -> None:
    started = Started(CLUSTER, tmp_path)
    groups = [{"state_name": "active+clean", "count": 6}, {"state_name": "peering", "count": 3}]
    started.monitors.status = {
        **CLEAN,
        "osdmap": {"num_up_osds": 2},
        "pgmap": {"num_pgs": 9, "pgs_by_state": groups, "degraded_objects": 5},
    }
    started.monitors.osds[0]["up"] = 0
    found = started.storage.copies({})
    assert found is not None
    assert (found.holders, found.wanting, found.serving) == (2, 8, False)
    started.monitors.status = CLEAN
    whole = started.storage.copies({})
    assert whole is not None
    assert (whole.wanting, whole.serving) == (0, True)
    started.monitors.status = None
    assert started.storage.copies({}) is None


def test_an_osd_that_is_marked_out_counts_no_more(tmp_path: Path) -> None:
    started = Started(CLUSTER, tmp_path)
    storage, monitors = started.storage, started.monitors
    storage.decommission("worker-2")
    assert monitors.named("osd out") == [{"ids": ["1"]}]
    moving = [{"state_name": "active+remapped+backfilling", "count": 9}]
    monitors.status = {
        **CLEAN,
        "pgmap": {"num_pgs": 9, "pgs_by_state": moving},
    }
    monitors.osds = [{"up": 1, "in": 1}, {"up": 1, "in": 0}, {"up": 0, "in": 1}]
    found = storage.copies({})
    assert found is not None
    assert (found.holders, found.wanting, found.serving) == (1, 0, False), "its data moves"
    storage.recommission("worker-2")
    assert monitors.named("osd in") == [{"ids": ["1"]}]


def test_raw_bytes_are_those_that_ceph_reports(tmp_path: Path) -> None:
    files: Any = None
    found = Started(CLUSTER, tmp_path).storage.metrics("/windtunnel/trials/1", files)
    assert found["stored_per_byte"].value == 2.05


def test_a_restarted_daemon_keeps_its_data(tmp_path: Path) -> None:
    started = Started(CLUSTER, tmp_path)
    assert started.storage.plays("osd@worker-2")
    assert not started.storage.plays("nodemanager@worker-2")
    started.storage.restart("osd@worker-2")
    assert started.spawned[-1] == "osd@worker-2"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"hosts.worker.roles": ["osd", "mgr", "nodemanager"]}, "exactly one host"),
        ({"software.task_start": "warm"}, "warm starts need storage of kind hdfs"),
    ],
)
def test_what_it_cannot_do_is_refused(changes: dict[str, Any], says: str) -> None:
    assert any(says in line for line in CephFs.problems(apply_overrides(CLUSTER, changes)))


def test_a_machine_without_ceph_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(SetupError, match="lacks ceph-mon") as caught:
        CephFs.check_machine()
    assert "apt-get install" in caught.value.remedy


def test_commands_run_one_after_the_other_in_an_existing_folder(tmp_path: Path) -> None:
    daemon = plan_daemons(CLUSTER, placements(CLUSTER, tmp_path / "a b"), ROLES)[0]
    options = {"public-addr": "127.1.1.1"}
    conf = tmp_path / "ceph.conf"
    create, run = programs.create(daemon, conf, options), programs.run(daemon, conf, options)
    shell, _, script = programs.in_folder(daemon, create, run)

    assert shell == "/bin/sh"
    first, second, third = script.split(" && ")
    assert shlex.split(first) == ["mkdir", "-p", str(daemon.folder)]
    assert shlex.split(second) == create
    assert shlex.split(third) == ["exec", *run]
    assert "--mkfs" in create
    assert "--mkfs" not in run


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A program that answers with prepared lines, by the prefix of the command."""
    folder = tmp_path / "master"
    folder.mkdir()
    lines: dict[str, str] = {}
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "ceph-admin.sock"))
    server.listen()

    def serve() -> None:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as orders:
            for order in orders:
                prefix = json.loads(order)["command"]["prefix"]
                connection.sendall(lines[prefix].encode() + b"\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield lines
    server.close()


def test_the_admin_program_answers_over_its_socket(tmp_path: Path, answers: dict[str, str]) -> None:
    admin = Admin(host("master", root=tmp_path), tmp_path / "ceph.conf")
    answers["status"] = json.dumps({"code": 0, "output": '{"a": 1}', "error": ""})
    answers["fs new"] = json.dumps({"code": -22, "output": "", "error": "no such pool"})

    assert admin.run("status") == {"a": 1}
    with pytest.raises(DeploymentError, match="Ceph refused 'fs new': no such pool"):
        admin.run("fs new")
    assert admin.queried("fs new") is None
    assert admin.run("status") == {"a": 1}, "the connection is still open"
    admin.close()


def test_each_of_several_threads_gets_its_own_answer(
    tmp_path: Path, answers: dict[str, str]
) -> None:
    admin = Admin(host("master", root=tmp_path), tmp_path / "ceph.conf")
    for prefix in ("status", "osd dump"):
        answer = json.dumps({"is": prefix, "filler": "x" * 60_000})
        answers[prefix] = json.dumps({"code": 0, "output": answer, "error": ""})

    def ask(prefix: str) -> set[str]:
        return {admin.run(prefix)["is"] for _ in range(30)}

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, ["status", "osd dump"] * 2))
    assert found == [{"status"}, {"osd dump"}] * 2
    admin.close()


def test_without_the_admin_program_the_monitors_do_not_answer(tmp_path: Path) -> None:
    admin = Admin(host("master", root=tmp_path), tmp_path / "ceph.conf")
    assert admin.queried("status") is None
    with pytest.raises(DeploymentError, match="the monitors of Ceph do not answer"):
        admin.run("status")


def test_the_jar_is_built_from_the_sources() -> None:
    with zipfile.ZipFile(OWN_JAR) as jar:
        assert jar.read(build_engine_jar.HASH).decode() == build_engine_jar.source_hash("ceph"), (
            "run: python tools/build_engine_jar.py ceph"
        )
    assert OWN_JAR.name == "windtunnel-ceph.jar"
