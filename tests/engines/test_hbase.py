"""HBase beside Hadoop: who runs where, ports and settings, its status."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from tests.support.hosts import host
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.hbase.engine import HBase
from windtunnel.engines.hbase.site import plan_site, xml_of
from windtunnel.engines.hbase.sizes import cache_bytes
from windtunnel.engines.hbase.status import Status
from windtunnel.engines.ycsb.sizes import MIB

CLUSTER = load_cluster("local-3")


MASTER, ONE, TWO = host("master", "127.1.1.1"), host("w1", "127.1.1.2"), host("w2", "127.1.1.3")
HOSTS = {"zookeeper": [MASTER], "hbase-master": [MASTER], "regionserver": [ONE, TWO]}


def test_without_roles_of_its_own_it_runs_on_the_first_host_and_beside_datanodes() -> None:
    assert HBase.placed(CLUSTER) == {
        "zookeeper": ["master"],
        "hbase-master": ["master"],
        "regionserver": ["worker-1", "worker-2", "worker-3"],
    }


def test_roles_of_the_description_say_where_it_runs() -> None:
    changes = {
        "hosts.worker.extra_roles": {0: ["zookeeper", "hbase-master"], 2: ["regionserver"]},
    }
    assert HBase.placed(apply_overrides(CLUSTER, changes)) == {
        "zookeeper": ["worker-1"],
        "hbase-master": ["worker-1"],
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
    assert HBase.cache_bytes(two) == 64 * MIB


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


def test_bytes_of_a_table_are_summed_over_the_servers_that_hold_it() -> None:
    metric = "Namespace_default_table_{}_metric_storeFileSize"
    beans = {metric.format("t"): 1500, metric.format("t2"): 7}
    pages = {"sub=Tables": beans}
    servers = len(HOSTS["regionserver"])
    assert status_of(pages).stored("t") == 1500 * servers
    assert status_of(pages).stored("other") is None
    assert status_of({}).stored("t") is None


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
