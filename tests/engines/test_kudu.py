"""Kudu beside Hadoop: who runs where, flags, its metrics, its programs and this machine."""

from __future__ import annotations

import platform
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hosts import host
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.artifacts import ArtifactSet, Jar
from windtunnel.engines.engine import load_engine
from windtunnel.engines.kudu import engine as kudu_engine
from windtunnel.engines.kudu import programs
from windtunnel.engines.kudu.engine import Kudu
from windtunnel.engines.kudu.site import Site, cache_mb, plan_site, replicas
from windtunnel.engines.kudu.status import Status, TableState
from windtunnel.errors import DescriptionError, SetupError, TrialInvalidError

CLUSTER = load_cluster("local-3")


MASTER, ONE, TWO = host("master", "127.1.1.1"), host("w1", "127.1.1.2"), host("w2", "127.1.1.3")
HOSTS = {"kudu-master": [MASTER], "kudu-tserver": [ONE, TWO]}
FOLDERS = {
    "master": [Path("/r/master/k")],
    "w1": [Path("/d1/k"), Path("/d2/k")],
    "w2": [Path("/d3/k")],
}


def site(*, own_networks: bool = True) -> Site:
    return plan_site(HOSTS, FOLDERS, 384, own_networks=own_networks)


def flags(role: str, on: Any, own: dict[str, str] | None = None) -> dict[str, str]:
    given = site().flags(role, on, own or {})
    assert all(flag.startswith("--") for flag in given)
    return dict(flag[2:].split("=", 1) for flag in given)


def test_without_roles_of_its_own_it_runs_on_the_first_host_and_beside_datanodes() -> None:
    assert Kudu.placed(CLUSTER) == {
        "kudu-master": ["master"],
        "kudu-tserver": ["worker-1", "worker-2", "worker-3"],
    }


def test_roles_of_the_description_say_where_it_runs() -> None:
    changes = {"hosts.worker.extra_roles": {0: ["kudu-master"], 2: ["kudu-tserver"]}}
    assert Kudu.placed(apply_overrides(CLUSTER, changes)) == {
        "kudu-master": ["worker-1"],
        "kudu-tserver": ["worker-3"],
    }


def test_a_tablet_server_without_a_master_is_refused() -> None:
    with pytest.raises(DescriptionError, match=r"no host has the role 'kudu-master'"):
        apply_overrides(CLUSTER, {"hosts.worker.extra_roles": {2: ["kudu-tserver"]}})


def test_hosts_that_share_a_network_get_ports_of_their_own() -> None:
    ports = site(own_networks=False).ports
    assert len(set(ports.values())) == len(ports) == 2 * 3
    assert site().master == "127.1.1.1:7051"


def test_every_daemon_listens_and_calls_from_its_host_and_nowhere_else() -> None:
    own = flags("kudu-tserver", ONE)
    assert own["rpc_bind_addresses"] == "127.1.1.2:7050"
    assert own["webserver_interface"] == own["local_ip_for_outbound_sockets"] == "127.1.1.2"
    assert own["tserver_master_addrs"] == "127.1.1.1:7051"
    assert "tserver_master_addrs" not in flags("kudu-master", MASTER)


def test_data_lies_on_all_disks_of_the_host_and_the_log_on_the_first() -> None:
    own = flags("kudu-tserver", ONE)
    assert own["fs_wal_dir"] == "/d1/k/tserver-log"
    assert own["fs_data_dirs"] == "/d1/k/tserver-data,/d2/k/tserver-data"
    assert own["log_dir"] == "/d1/k"


def test_nothing_keeps_it_from_writing_its_log_to_the_disk() -> None:
    for role, on in (("kudu-master", MASTER), ("kudu-tserver", ONE)):
        assert "never_fsync" not in flags(role, on)


def test_the_description_s_flags_win_but_not_over_where_it_lies() -> None:
    given = {
        "kudu.block_cache_capacity_mb": "64",
        "kudu.rpc_encryption": "optional",
        "kudu.fs_wal_dir": "/elsewhere",
        "kudu.maintenance_manager_num_threads": "2",
    }
    own = flags("kudu-tserver", TWO, given)
    assert own["block_cache_capacity_mb"] == "64"
    assert own["rpc_encryption"] == "optional"
    assert own["maintenance_manager_num_threads"] == "2"
    assert own["fs_wal_dir"] == "/d3/k/tserver-log"
    cache = {"kudu.block_cache_capacity_mb": "500"}
    assert flags("kudu-tserver", TWO, cache)["block_cache_capacity_mb"] == "500"
    assert flags("kudu-master", MASTER, cache)["block_cache_capacity_mb"] == "32"
    assert flags("kudu-tserver", TWO)["memory_limit_hard_bytes"] == str(384 << 20)
    assert flags("kudu-master", MASTER)["memory_limit_hard_bytes"] == str(256 << 20)


@given(replication=st.integers(1, 512), servers=st.integers(1, 500))
def test_it_keeps_as_many_copies_as_hdfs_where_it_can(replication: int, servers: int) -> None:
    found = replicas(replication, servers)
    assert 1 <= found <= min(servers, 7)
    assert found == replication or replication > min(servers, 7)


@pytest.mark.parametrize(("text", "wanted"), [("16", 16), (" 8 ", 8), ("much", 32)])
def test_the_block_cache_is_what_the_description_says(text: str, wanted: int) -> None:
    assert cache_mb({"kudu.block_cache_capacity_mb": text}) == wanted
    assert cache_mb({}) == 32
    two = apply_overrides(CLUSTER, {"hosts.worker.count": 2})
    assert Kudu.cache_bytes(two) == 64 << 20


# -- metrics --


def server(**values: float) -> dict[str, Any]:
    metrics = [{"name": name, "value": value} for name, value in values.items()]
    return {"type": "server", "id": "kudu.tabletserver", "metrics": metrics}


def tablet(number: str, table: str = "t", memory: float = 265, **values: float) -> dict[str, Any]:
    names = ("flush_mrs", "flush_dms", "compact_rs", "delta_minor_compact_rs")
    known = {f"{name}_running": 0.0 for name in (*names, "delta_major_compact_rs")}
    known |= {"memrowset_size": memory, "on_disk_data_size": 100} | values
    metrics = [{"name": name, "value": value} for name, value in known.items()]
    metrics.append({"name": "flush_mrs_duration", "total_count": 0})
    return {"type": "tablet", "id": number, "attributes": {"table_name": table}, "metrics": metrics}


class Pages:
    """Answers of the web servers, by a part of the address."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def get(self, url: str) -> httpx.Response:
        for part, found in self.answers.items():
            if part in url:
                return httpx.Response(200, json=found)
        raise httpx.ConnectError("refused")


def status_of(one: Any, two: Any = None) -> Status:
    status = Status(site())
    answers = {"127.1.1.2:8050": one} | ({"127.1.1.3:8050": two} if two is not None else {})
    status.__dict__["_http"] = Pages(answers)
    return status


def started(starting: float = 0) -> list[dict[str, Any]]:
    names = ("not_initialized", "initialized", "bootstrapping")
    return [server(**{f"tablets_num_{name}": starting for name in names})]


def test_it_is_ready_when_all_tablets_are_open() -> None:
    assert status_of(started(), started()).missing() == []
    assert status_of(started(), started(2)).missing() == ["6 tablets on w2"]
    assert status_of(started()).missing() == ["the tablet server on w2"]
    assert status_of(started(), {"odd": 1}).missing() == ["the tablet server on w2"]


def test_block_caches_add_up_and_a_silent_server_leaves_them_unknown() -> None:
    one = [server(block_cache_hits_caching=3, block_cache_misses_caching=4)]
    found = status_of(one, one).cache(32.0)
    assert found is not None
    assert (found.capacity, found.hits, found.misses) == (64, 6, 8)
    assert status_of(one).cache(32.0) is None
    assert status_of(one, [server(block_cache_hits_caching=3)]).cache(32.0) is None


def test_a_table_s_bytes_are_those_of_one_copy() -> None:
    one = [tablet("a", on_disk_data_size=100), tablet("b", on_disk_data_size=50), server()]
    two = [tablet("a", on_disk_data_size=120), tablet("other", table="u")]
    quiet = TableState(in_memory=0, at_work=0, stored=110 + 50)
    assert status_of(one, two).table_state("t") == quiet


def test_what_is_in_memory_or_at_work_is_told() -> None:
    found = status_of([tablet("a", memory=1_000_000)], [tablet("a", compact_rs_running=1)])
    assert found.table_state("t") == TableState(in_memory=1_000_000, at_work=1, stored=100)


def test_a_table_that_no_server_knows_does_not_rest() -> None:
    assert status_of([server()], [server()]).table_state("t") is None
    assert status_of([tablet("a")]).table_state("t") is None
    odd = tablet("a")
    odd["metrics"].pop(0)
    assert status_of([odd], [tablet("a")]).table_state("t") is None, "a metric has another name"


class Server:
    """A deployment around an engine that never starts."""

    def check_alive(self) -> None:
        """All live."""


def settling(
    rests: list[TableState | None], monkeypatch: pytest.MonkeyPatch
) -> tuple[Kudu, list[str]]:
    made = Kudu(Server(), ArtifactSet("kudu", Path("/x"), []))  # type: ignore[arg-type]
    told: list[str] = []
    monkeypatch.setattr(kudu_engine, "_STEP_S", 0)
    monkeypatch.setattr(made, "_set_flush_age", lambda seconds, deadline: told.append(seconds))
    monkeypatch.setattr(Kudu, "settings", {})
    status: Any = SimpleNamespace(
        table_state=lambda table: rests.pop(0) if len(rests) > 1 else rests[0]
    )
    made.status = status
    return made, told


def test_settling_flushes_soon_and_then_as_usual_again(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = [TableState(0, 0, 7.0)] * 5
    rests = [None, TableState(5, 0, 1.0), *quiet, TableState(0, 1, 8.0), TableState(0, 0, 9.0)]
    made, told = settling(rests, monkeypatch)
    assert made.settle("t", time.monotonic() + 60) == 9.0, "it was compacted after a short rest"
    assert told == ["1", "120"]


def test_a_store_that_does_not_come_to_rest_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    made, told = settling([TableState(5, 0, 1.0)], monkeypatch)
    with pytest.raises(TrialInvalidError, match="still flushing"):
        made.settle("t", time.monotonic() - 1)
    assert told == ["1", "120"]


# -- programs --


@pytest.fixture
def jars(tmp_path: Path) -> ArtifactSet:
    """A jar with a program that says a version."""
    folder = tmp_path / "kudu-1.18" / "abc" / "client-lib"
    folder.mkdir(parents=True)
    path = folder / "kudu-binary.jar"
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("k-1/bin/kudu", '#!/bin/sh\necho "$LD_LIBRARY_PATH"; echo "$@"\n')
        jar.writestr("k-1/bin/kudu-master", "not needed")
        jar.writestr("k-1/lib/sasl2/libplain.so", "x" * 99)
        jar.writestr("k-1/LICENSE.txt", "Apache")
        jar.writestr("k-1/www/index.html", "not needed")
    return ArtifactSet("kudu-1.18", folder.parent, [Jar(programs.JAR, "1", "0", path)])


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_programs_are_unpacked_once_with_their_licence(jars: ArtifactSet) -> None:
    found = programs.unpack(jars)
    assert files(found.root) == {"bin/kudu", "lib/sasl2/libplain.so", "LICENSE.txt"}
    stamp = (found.root / "bin" / "kudu").stat().st_ino
    assert programs.unpack(jars) == found
    assert (found.root / "bin" / "kudu").stat().st_ino == stamp
    programs.try_out(found)


def test_an_altered_or_missing_program_is_unpacked_anew(jars: ArtifactSet) -> None:
    root = programs.unpack(jars).root
    (root / "lib" / "sasl2" / "libplain.so").write_text("y" * 99)
    (root / "LICENSE.txt").unlink()
    assert programs.unpack(jars).root == root
    assert (root / "lib" / "sasl2" / "libplain.so").read_text() == "x" * 99
    assert files(root) == {"bin/kudu", "lib/sasl2/libplain.so", "LICENSE.txt"}
    assert [path.name for path in root.parent.iterdir() if "part" in path.name] == []


def test_a_program_that_does_not_start_is_told_in_its_own_words(jars: ArtifactSet) -> None:
    root = programs.unpack(jars).root
    (root / "bin" / "kudu").write_text("#!/bin/sh\necho 'libx.so.1: cannot open' >&2; exit 127\n")
    with pytest.raises(SetupError, match=r"do not start on this machine: libx\.so\.1: cannot open"):
        programs.try_out(programs.Programs(root))
    with pytest.raises(SetupError, match="do not start on this machine"):
        programs.try_out(programs.Programs(root / "absent"))


@pytest.mark.parametrize("here", [("Darwin", "arm64"), ("Linux", "aarch64")])
def test_other_machines_are_refused_before_anything_is_fetched(
    here: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: here[0])
    monkeypatch.setattr(platform, "machine", lambda: here[1])
    wanted = f"Kudu runs on Linux x86_64 only, but this machine is {' '.join(here)}"
    with pytest.raises(SetupError, match=wanted) as caught:
        load_engine(Kudu, CLUSTER, "17.0.1")
    assert "store: hbase" in (caught.value.remedy or "")


def test_a_glibc_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    for version, good in (("2.26", False), ("2.27", True), ("2.36", True), ("", True)):
        monkeypatch.setattr(platform, "libc_ver", lambda version=version: ("glibc", version))
        if good:
            programs.check_machine()
        else:
            with pytest.raises(SetupError, match=r"needs glibc 2\.27 or newer.*2\.26"):
                programs.check_machine()
