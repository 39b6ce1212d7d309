"""HBase beside Hadoop: who runs where, ports and settings, its status, YCSB's words."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ycsb as texts
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines import hbase
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.hbase.engine import HBase, Told
from windtunnel.engines.hbase.site import placed, plan_site, xml_of
from windtunnel.engines.hbase.sizes import MIB, cache_bytes, regionserver_heap_mb
from windtunnel.engines.hbase.status import Status
from windtunnel.engines.hbase.ycsb import done_in, options, results_in
from windtunnel.errors import TrialInvalidError

FOLDER = Path(hbase.__file__).parent
CLUSTER = load_cluster("local-3")


def host(name: str, address: str) -> Any:
    return SimpleNamespace(name=name, address=address, root=Path("/r") / name)


MASTER, ONE, TWO = host("master", "127.1.1.1"), host("w1", "127.1.1.2"), host("w2", "127.1.1.3")
HOSTS = {"zookeeper": [MASTER], "hmaster": [MASTER], "regionserver": [ONE, TWO]}


def test_the_jar_is_made_of_the_sources_that_lie_beside_it() -> None:
    sources = sorted((FOLDER / "java").rglob("*.java"))
    wanted = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    with zipfile.ZipFile(FOLDER / "windtunnel-hbase.jar") as jar:
        assert jar.read("io/windtunnel/sources.sha256").decode() == wanted


def test_without_roles_of_its_own_it_runs_on_the_first_host_and_beside_datanodes() -> None:
    assert placed(CLUSTER) == {
        "zookeeper": ["master"],
        "hmaster": ["master"],
        "regionserver": ["worker-1", "worker-2", "worker-3"],
    }


def test_roles_of_the_description_say_where_it_runs() -> None:
    changes = {
        "hosts.worker.extra_roles": {0: ["zookeeper", "hbase-master"], 2: ["regionserver"]},
    }
    assert placed(apply_overrides(CLUSTER, changes)) == {
        "zookeeper": ["worker-1"],
        "hmaster": ["worker-1"],
        "regionserver": ["worker-3"],
    }


def test_hosts_that_share_a_network_get_ports_of_their_own() -> None:
    site = plan_site(HOSTS, "hdfs://m:1/x", own_networks=False)
    assert len(set(site.ports.values())) == len(site.ports) == 3 + 2 + 2 * 2


def test_hosts_with_networks_get_the_usual_ports() -> None:
    site = plan_site(HOSTS, "hdfs://m:1/x", own_networks=True)
    assert site.web("regionserver", TWO) == "127.1.1.3:16030"
    assert site.common({})["hbase.zookeeper.quorum"] == "master:2181"


def test_every_daemon_listens_on_its_host_and_nowhere_else() -> None:
    site = plan_site(HOSTS, "hdfs://m:1/x", own_networks=True)
    own = site.of_host(ONE)
    assert own["hbase.regionserver.ipc.address"] == "127.1.1.2"
    assert own["hbase.regionserver.info.bindAddress"] == "127.1.1.2"
    assert own["hbase.unsafe.regionserver.hostname"] == "w1"
    assert "hbase.master.port" not in own
    assert "clientPortAddress=127.1.1.1\n" in site.zookeeper(MASTER, "/z")
    assert "server." not in site.zookeeper(MASTER, "/z")


def test_several_zookeepers_know_each_other() -> None:
    site = plan_site(HOSTS | {"zookeeper": [MASTER, ONE, TWO]}, "hdfs://m:1/x", own_networks=True)
    assert "server.2=w1:2888:3888\n" in site.zookeeper(TWO, "/z")
    assert site.number_of(TWO) == 3
    assert site.common({})["hbase.zookeeper.quorum"] == "master:2181,w1:2181,w2:2181"


def test_the_description_s_settings_win() -> None:
    site = plan_site(HOSTS, "hdfs://m:1/x", own_networks=True)
    given = {"hfile.block.cache.size": "0.4", "zookeeper.session.timeout": "30000"}
    common = site.common(given)
    assert given.items() <= common.items()
    assert "hfile.block.cache.memory.size" not in common, "it would win over the share"
    assert site.common({})["hfile.block.cache.memory.size"] == "32m"
    read = ElementTree.fromstring(xml_of(common))
    assert {p.findtext("name"): p.findtext("value") for p in read} == common


@given(memory=st.integers(1 << 30, 1 << 44), servers=st.integers(1, 500))
def test_heaps_are_sized_to_the_machine(memory: int, servers: int) -> None:
    heap = regionserver_heap_mb(memory, servers)
    assert 384 <= heap <= 2048
    assert heap >= regionserver_heap_mb(memory, servers + 1)
    # what HBase demands of heap that is neither block cache nor memstore (0.4)
    assert cache_bytes({}, heap) <= 0.4 * heap * MIB


def test_a_host_with_memory_of_its_own_gives_a_quarter() -> None:
    machine = 24 << 30
    assert regionserver_heap_mb(machine, 2) == 768
    assert regionserver_heap_mb(machine, 2, 8 << 30) == 768
    assert regionserver_heap_mb(machine, 2, 2 << 30) == 512
    assert regionserver_heap_mb(machine, 2, 100 << 20) == 192


def test_progress_is_the_share_of_operations_done(tmp_path: Path) -> None:
    engine = HBase(SimpleNamespace(), ArtifactSet("hbase", tmp_path, []))  # type: ignore[arg-type]
    assert engine.progress() is None
    log = tmp_path / "run.log"
    engine._working[log] = 1000
    assert engine.progress() is None, "it has not begun"
    log.write_text(texts.status(0, 0, 0) + texts.status(1, 250, 250))
    assert engine.progress() == 0.25


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, 32 * MIB),
        ({"hfile.block.cache.size": "0.25"}, 100 * MIB),
        ({"hfile.block.cache.memory.size": "16m"}, 16 * MIB),
        ({"hfile.block.cache.memory.size": "1g"}, 1024 * MIB),
        ({"hfile.block.cache.memory.size": "1048576"}, MIB),
        ({"hfile.block.cache.memory.size": "16m", "hfile.block.cache.size": "0.4"}, 16 * MIB),
        ({"hfile.block.cache.size": "much"}, 400 * MIB),
        ({"hfile.block.cache.memory.size": "much"}, 400 * MIB),
    ],
)
def test_the_block_cache_is_what_the_description_says(
    settings: dict[str, str], wanted: int
) -> None:
    assert cache_bytes(settings, 400) == wanted


def test_block_caches_of_all_servers_add_up() -> None:
    two = apply_overrides(CLUSTER, {"hosts.worker.count": 2})
    assert HBase.cache_bytes(two, {}) == 64 * MIB


class Beans:
    """Answers of the web servers, by a part of the address."""

    def __init__(self, answers: dict[str, dict[str, Any]]) -> None:
        self.answers = answers

    def get(self, url: str) -> httpx.Response:
        for part, bean in self.answers.items():
            if part in url:
                return httpx.Response(200, json={"beans": [bean]})
        raise httpx.ConnectError("refused")


def status_of(answers: dict[str, dict[str, Any]]) -> Status:
    status = Status(plan_site(HOSTS, "hdfs://m:1/x", own_networks=True))
    status.__dict__["_http"] = Beans(answers)
    return status


READY = {
    "tag.isActiveMaster": "true",
    "masterFinishedInitializationTime": 17,
    "numRegionServers": 2,
}


@pytest.mark.parametrize(
    ("master", "moving", "missing"),
    [
        ({}, 0, ["an active master"]),
        ({"tag.isActiveMaster": "false"}, 0, ["an active master"]),
        ({**READY, "masterFinishedInitializationTime": 0}, 0, ["the master's initialisation"]),
        ({**READY, "numRegionServers": 1}, 0, ["1 regionservers"]),
        (READY, 2, ["2 regions in transition"]),
        (READY, 0, []),
    ],
)
def test_it_is_ready_when_its_master_says_so(
    master: dict[str, Any], moving: int, missing: list[str]
) -> None:
    answers = {"name=Master,sub=Server": master, "sub=AssignmentManager": {"ritCount": moving}}
    assert status_of(answers).missing() == missing


def test_block_caches_add_up_and_a_silent_server_leaves_them_unknown() -> None:
    bean = {"blockCacheSize": 10, "blockCacheFreeSize": 22, "blockCacheHitCount": 3}
    bean["blockCacheMissCount"] = 4
    found = status_of({"sub=Server": bean}).cache()
    assert found is not None
    assert (found.capacity, found.hits, found.misses) == (64, 6, 8)
    assert status_of({"127.1.1.2:16030": bean}).cache() is None


def test_ycsb_measures_from_the_intended_start_and_checks_what_it_reads() -> None:
    words = options({"recordcount": 5}, load=False, threads=4, target=250)
    assert words[:7] == ["-t", "-s", "-db", "io.windtunnel.hbase.Store", "-threads", "4", "-target"]
    for wanted in ("measurement.interval=both", "dataintegrity=true", "recordcount=5"):
        assert words[words.index(wanted) - 1] == "-p"
    assert "-target" not in options({}, load=True, threads=4, target=None)


def test_results_tell_intended_and_actual_latencies() -> None:
    text = texts.run(
        texts.result("READ", 1900, 4000, intended=80_000),
        texts.result("READ-FAILED", 3, 9000, answers="ERROR"),
        "[READ], Return=ERROR, 3\n[VERIFY], Return=OK, 897\n[VERIFY], Return=ERROR, 3\n",
    )
    found = results_in(text)
    read = found.operations["READ"]
    assert found.elapsed_s == 10
    assert read.latency == pytest.approx(
        {"mean": 20, "max": 240, "p50": 10, "p95": 40, "p99": 80, "p99.9": 160}
    )
    assert read.service["p99"] == 4
    assert read.answers == {"OK": 1900, "ERROR": 3}
    assert found.operations["VERIFY"].answers == {"OK": 897, "ERROR": 3}


def test_a_percentile_of_too_few_operations_is_left_out() -> None:
    text = texts.run(*(texts.result(n, c, 4000) for n, c in (("SCAN", 999), ("READ", 1000))))
    found = results_in(text).operations
    assert "p99.9" not in found["SCAN"].latency and "p99" in found["SCAN"].latency
    assert "p99.9" in found["READ"].latency


def test_status_lines_tell_the_throughput_of_each_second() -> None:
    lines = [texts.status(0, 0, 0.0), texts.status(1, 800, 800.0), texts.status(2, 2000, 1200.0, 7)]
    lines.append(texts.status(2, 2000, 0.0))  # the last line comes when all have ended
    text = "Starting test.\n" + "some log line\n".join(lines)
    seconds = results_in(text).status
    assert [(s.at, s.operations) for s in seconds] == [
        (texts.START + 1, 800),
        (texts.START + 2, 1200),
    ]
    assert seconds[1].p99 == {"READ": 0.007}
    assert done_in(text) == 2000
    assert done_in("Starting test.\n") is None


@given(st.text())
def test_whatever_a_client_writes_is_read(text: str) -> None:
    assert results_in(text).elapsed_s is None or "[OVERALL]" in text


def test_a_client_that_does_not_tell_is_no_result() -> None:
    told = Told("", {"rows": "12", "lost": "few"}, Path("/log"))
    assert told.number("rows") == 12
    for name in ("lost", "absent"):
        with pytest.raises(TrialInvalidError, match=name):
            told.number(name)
