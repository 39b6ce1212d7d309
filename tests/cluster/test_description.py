"""Cluster descriptions: the catalogue, nodes, racks, prices, the schema."""

from __future__ import annotations

from collections import Counter

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.cluster import (
    Cluster,
    Money,
    apply_overrides,
    catalogue_clusters,
    cluster_schema,
    load_cluster,
    load_text,
    read_cluster,
    validate,
)
from windtunnel.cluster.settings import unknown_settings
from windtunnel.errors import DescriptionError

NAMES = catalogue_clusters()
SCHEMA = jsonschema.Draft202012Validator(cluster_schema())  # reading the schema takes a second
PUBLISHED = {
    "cern-2016-physical": {"datanode": 14},
    "cisco-2014": {"datanode": 6, "nodemanager": 5},
    "cisco-2014-alternate": {"datanode": 6, "nodemanager": 5},
    "intel-2012": {"datanode": 9},
    "mellanox-2014-cephfs": {"osd": 3, "mon": 3, "nodemanager": 3},
    "mellanox-2014-hdfs": {"datanode": 3},
    "vmware-2011": {"datanode": 7, "namenode": 1},
    "vmware-2011-4vm": {"datanode": 28, "namenode": 1},
}


@pytest.mark.parametrize("name", NAMES)
def test_every_cluster_of_the_catalogue_is_valid_and_reads_back_equal(name):
    cluster = load_cluster(name)
    assert cluster.name == name
    again = Cluster.model_validate(cluster.plain())
    assert again == cluster
    assert again.fingerprint() == cluster.fingerprint()
    assert unknown_settings(cluster.settings) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_cluster_of_the_catalogue_satisfies_the_json_schema(name):
    SCHEMA.validate(read_cluster(name).data)
    SCHEMA.validate(load_cluster(name).plain())


@pytest.mark.parametrize(("name", "counts"), PUBLISHED.items())
def test_published_clusters_have_their_published_numbers_of_nodes(name, counts):
    found = load_cluster(name).role_counts()
    assert {role: found[role] for role in counts} == counts


def test_the_schema_refuses_a_size_without_unit():
    data = load_cluster("local-3").plain()
    data["hosts"]["worker"]["memory"] = "64 G"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, cluster_schema())


def test_an_unknown_name_is_answered_with_the_nearest_and_all_others():
    with pytest.raises(DescriptionError) as caught:
        load_cluster("local3")
    assert "did you mean 'local-3'" in caught.value.remedy
    assert all(name in caught.value.remedy for name in NAMES)


def test_hosts_are_numbered_only_where_there_are_several():
    nodes = list(load_cluster("local-3").nodes())
    assert [node.name for node in nodes] == ["master", "worker-1", "worker-2", "worker-3"]


def test_virtual_machines_stand_for_their_host_and_the_first_has_its_extra_roles():
    nodes = [n for n in load_cluster("vmware-2011-4vm").nodes() if n.host == "worker-1"]
    assert [n.name for n in nodes] == [
        "worker-1-small-1",
        "worker-1-small-2",
        "worker-1-large-1",
        "worker-1-large-2",
    ]
    assert ["namenode" in n.roles for n in nodes] == [True, False, False, False]


@pytest.mark.parametrize("name", NAMES)
def test_roles_are_counted_as_the_nodes_play_them(name):
    cluster = load_cluster(name)
    played = Counter(role for node in cluster.nodes() for role in node.roles)
    assert cluster.role_counts() == played


def test_vms_per_host_is_a_treatment_of_the_native_cluster():
    vms = load_cluster("vmware-2011-4vm").plain()["hosts"]["worker"]["vms"]
    changes = {
        "name": "vmware-2011-4vm",
        "hosts.worker.vms": vms,
        "storage.topology": "host",
        "software.hypervisor": "vSphere 5.0",
    }
    assert apply_overrides(load_cluster("vmware-2011"), changes) == load_cluster("vmware-2011-4vm")


def test_a_limping_disk_is_a_treatment():
    limp = [{"host": 1, "part": "disk", "index": 3, "to": "10 %"}]
    cluster = apply_overrides(load_cluster("vmware-2011"), {"hosts.worker.degraded": limp})
    assert cluster.hosts["worker"].degraded[0].to == 0.1
    for wrong, key in (({"host": 7}, "host"), ({"index": 12}, "index")):
        with pytest.raises(DescriptionError) as caught:
            apply_overrides(cluster, {"hosts.worker.degraded": [{**limp[0], **wrong}]})
        assert caught.value.key == f"hosts.worker.degraded.0.{key}"


def test_racks_by_name_and_by_rule():
    local = load_cluster("local-3")
    dealt = apply_overrides(local, {"network": {"spread_over": 2}})
    assert [dealt.rack_of("worker", i) for i in range(3)] == ["rack-2", "rack-1", "rack-2"]
    racks = {"a": {"hosts": ["master", "worker-1"]}, "b": {"hosts": ["worker-2", "worker-3"]}}
    named = apply_overrides(local, {"network": {"racks": racks}})
    assert [named.rack_of("worker", i) for i in range(3)] == ["a", "b", "b"]
    assert local.rack_of("worker", 0) is None


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 5))
def test_dealt_racks_differ_in_size_by_at_most_one(masters, workers, racks):
    changes = {"hosts.master.count": masters, "hosts.worker.count": workers}
    changes |= {"network.spread_over": racks, "storage.replication": 1}
    cluster = apply_overrides(load_cluster("local-3"), changes)
    places = [cluster.rack_of(node.class_name, node.index) for node in cluster.nodes()]
    sizes = [places.count(f"rack-{i + 1}") for i in range(racks)]
    assert sum(sizes) == masters + workers
    assert max(sizes) - min(sizes) <= 1


def test_unknown_replication_is_hdfs_default_or_what_the_nodes_can_hold():
    local = load_cluster("local-3")
    assert apply_overrides(local, {"storage.replication": None}).replication == 3
    few = {"storage.replication": None, "hosts.worker.count": 2}
    assert apply_overrides(local, few).replication == 2


def test_the_price_of_a_host_is_given_or_the_sum_of_its_parts():
    local = load_cluster("local-3")
    parts = {"hosts.worker.price_parts": {"disk": "100.5 USD", "cpu": "200 USD"}}
    worker = apply_overrides(local, parts).hosts["worker"]
    assert worker.host_price == Money(300.5, "USD")
    with pytest.raises(DescriptionError, match="exclude each other"):
        apply_overrides(local, {**parts, "hosts.worker.price": "300 USD"})
    with pytest.raises(DescriptionError, match="EUR and USD cannot be added"):
        apply_overrides(local, {**parts, "hosts.worker.price_parts.nic": "1 EUR"})


def test_cores_and_threads_are_known_only_if_all_factors_are():
    cpu = load_cluster("cisco-2014").hosts["worker"].cpu
    assert cpu is not None
    assert (cpu.cores, cpu.threads) == (20, 40)
    unknown = load_cluster("intel-2012").hosts["worker"].cpu
    assert unknown is not None
    assert (unknown.cores, unknown.threads) == (None, None)


STORES = """\
name: coded
hosts:
  master: {count: 1, roles: [namenode, resourcemanager]}
  worker: {count: 2, roles: [nodemanager]}
  store: {count: 5, roles: [datanode]}
storage: {external: [store], erasure_code: RS-3-2}
"""


def stores(old: str, new: str) -> Cluster:
    assert old in STORES
    return validate(Cluster, load_text(STORES.replace(old, new), "stores.yaml"))


def test_an_erasure_code_has_cells_a_policy_and_a_size():
    code = stores("coded", "coded").storage.code
    assert code is not None
    assert (code.name, code.hosts, code.hdfs_policy) == ("RS-3-2", 5, "RS-3-2-1024k")
    assert code.stored_per_byte == pytest.approx(5 / 3)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "RS-3-2",
            "RS-3",
            "'RS-3' is not an erasure code: write CODEC-DATA-PARITY, such as RS-3-2",
        ),
        ("RS-3-2", "XOR-2-2", "XOR has one parity cell"),
        ("RS-3-2", "RS-4-2", "HDFS has no erasure code RS-4-2"),
        ("count: 5", "count: 4", "RS-3-2 requires 5 nodes with the role 'datanode'; there are 4"),
        ("[nodemanager]", "[nodemanager, datanode]", "'worker' is not in 'storage.external', but"),
        ("[datanode]", "[datanode, nodemanager]", "'store' is a storage host, but has the role"),
        ("[store]", "[disks]", "unknown host class 'disks'"),
    ],
)
def test_storage_that_cannot_be_is_refused(old, new, said):
    with pytest.raises(DescriptionError) as refused:
        stores(old, new)
    assert said in str(refused.value)
