"""From a cluster description to Hadoop's settings: addresses, folders, memory, site files."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hosts import host
from windtunnel.cluster import ROLES, Cluster, apply_overrides, load_cluster
from windtunnel.cluster.roles import HADOOP
from windtunnel.engines.hadoop.daemons import HEAP_MB
from windtunnel.engines.hadoop.layout import (
    ADDRESSES,
    WEB_ADDRESSES,
    Layout,
    Placement,
    Surroundings,
    container_memory_mb,
    plan_layout,
    site_files,
)
from windtunnel.engines.hadoop.software import Software

GIB = 1 << 30
SOFTWARE = Software(Path("/java/bin/java"), "17.0.1", Path("/lib"), Path("/clib"), "3.5.0")


def layout_of(folder: Path, **overrides: Any) -> Layout:
    changes = {name.replace("__", "."): value for name, value in overrides.items()}
    return layout_for(apply_overrides(load_cluster("local-3"), changes), folder)


def layout_for(cluster: Cluster, folder: Path, loopback_jar: Path | None = None) -> Layout:
    placements = [
        Placement(
            host(node.name, f"127.1.2.{i + 1}", folder),
            list(node.roles),
            folder / "containers" / node.name,
            disks=2,
        )
        for i, node in enumerate(cluster.nodes())
    ]
    return plan_layout(
        cluster,
        SOFTWARE,
        placements,
        Surroundings(2, 8 * GIB, folder / "hosts", loopback_jar),
    )


def addresses(layout: Layout) -> list[tuple[str, int]]:
    """Every address of the deployment, host by host."""
    found = set()
    for placement in layout.placements:
        properties = layout.properties(placement.host)
        for name, role in ADDRESSES.items():
            if role in placement.roles:
                found.add((name, placement.host.name, layout.address(name, placement.host)))
                assert properties[name].startswith(f"{placement.host.name}:"), name
    return [address for _, _, address in sorted(found)]


def test_every_daemon_has_an_address_of_its_own_on_its_own_host(tmp_path: Path) -> None:
    found = addresses(layout_of(tmp_path))

    # 2 + 5 + 3 properties of the masters, 3 + 3 of each worker
    assert len(found) == 10 + 3 * 6
    assert len({port for _, port in found}) == len(found)
    assert {ip for ip, _ in found} == {f"127.1.2.{i}" for i in (1, 2, 3, 4)}


def test_shuffle_ports_differ_from_all_others(tmp_path: Path) -> None:
    layout = layout_of(tmp_path)
    shuffle = {
        layout.properties(placement.host)["mapreduce.shuffle.port"]
        for placement in layout.placements
        if "nodemanager" in placement.roles
    }

    assert len(shuffle) == 3
    assert not shuffle & {str(port) for _, port in addresses(layout)}


def test_clients_find_the_masters(tmp_path: Path) -> None:
    layout = layout_of(tmp_path)
    properties = layout.properties()

    assert properties["fs.defaultFS"] == f"hdfs://{properties['dfs.namenode.rpc-address']}"
    assert layout.address("yarn.resourcemanager.address")[0] == "127.1.2.1"
    assert "dfs.datanode.address" not in properties


def test_every_worker_has_folders_of_its_own_for_each_disk(tmp_path: Path) -> None:
    layout = layout_of(tmp_path)
    worker = layout.properties(layout.placements[2].host)

    assert worker["dfs.datanode.data.dir"].split(",") == [
        f"file://{tmp_path}/worker-2/disk-1",
        f"file://{tmp_path}/worker-2/disk-2",
    ]
    assert worker["dfs.datanode.hostname"] == "worker-2"
    assert "dfs.namenode.name.dir" not in worker


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("yarn.nodemanager.resource.memory-mb", 9999, "9999"),
        ("mapreduce.map.speculative", False, "false"),
        ("dfs.namenode.safemode.extension", 5, "5"),
        ("hadoop.tmp.dir", "/somewhere", "/somewhere"),
    ],
)
def test_settings_of_the_user_win(tmp_path: Path, name: str, value: Any, text: str) -> None:
    layout = layout_for(
        apply_overrides(load_cluster("local-3"), {f"settings.{name}": value}), tmp_path
    )

    assert layout.properties()[name] == text
    assert all(layout.properties(p.host)[name] == text for p in layout.placements)


def test_storage_of_the_description_becomes_properties(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, storage__replication=2, storage__block_size="64 MiB")

    assert layout.properties()["dfs.replication"] == "2"
    assert layout.properties()["dfs.blocksize"] == str(64 << 20)


CONTAINER_OPTIONS = (
    "mapreduce.admin.map.child.java.opts",
    "mapreduce.admin.reduce.child.java.opts",
    "yarn.app.mapreduce.am.admin-command-opts",
)


def test_containers_listen_on_the_address_of_their_host(tmp_path: Path) -> None:
    layout = layout_for(load_cluster("local-3"), tmp_path, tmp_path / "loopback.jar")

    for name in CONTAINER_OPTIONS:
        options = layout.properties()[name]
        assert " -Dwindtunnel.bind=$NM_HOST " in options
        assert f" -cp $CLASSPATH:{tmp_path}/loopback.jar" in options
        assert f"{tmp_path}" not in layout.lasting()[name]
        assert "<loopback jar>" in layout.lasting()[name]


def test_without_the_jar_containers_listen_as_hadoop_has_it(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, **{"settings__x.y": "None"})

    for name in CONTAINER_OPTIONS:
        assert "-Dwindtunnel.bind" not in layout.properties()[name]
        assert "-cp" not in layout.properties()[name]
    assert layout.binding("127.1.2.1") is None
    assert layout.lasting()["x.y"] == "None"


def test_addresses_of_the_storage_are_no_lasting_settings(tmp_path: Path) -> None:
    layout = layout_of(tmp_path)
    layout.settings |= {"fs.s3a.endpoint": "http://127.1.2.3:7480", "fs.s3a.block.size": "1"}
    assert "fs.s3a.endpoint" in layout.properties()
    assert not {"fs.s3a.endpoint", "fs.defaultFS"} & layout.lasting().keys()
    assert layout.lasting()["fs.s3a.block.size"] == "1"


# -- memory ----------------------------------------------------------------------------


@given(cores=st.integers(1, 256), memory=st.integers(2, 2048), workers=st.integers(1, 64))
def test_containers_fit_the_machine_and_hold_an_application_master(
    cores: int, memory: int, workers: int
) -> None:
    each = container_memory_mb(cores, memory * GIB, workers)

    assert each >= 2048, "an application master and a task"
    assert each * workers <= max(memory * 512 + 512 * workers, 2048 * workers)
    assert each <= container_memory_mb(cores + 1, memory * GIB, workers)


def test_container_memory_of_a_machine_with_two_cores() -> None:
    # 1536 MiB for the master + 2 x 2 containers of 1024 MiB, over three workers, up to 512s
    assert container_memory_mb(2, 16 * GIB, 3) == 2048
    assert container_memory_mb(2, 16 * GIB, 1) == 5632


# -- site files ------------------------------------------------------------------------


def read(text: str) -> dict[str, str]:
    return {
        entry.findtext("name", ""): entry.findtext("value", "")
        for entry in ElementTree.fromstring(text)
    }


def test_every_property_stands_in_its_own_file(tmp_path: Path) -> None:
    files = site_files(layout_of(tmp_path).properties(), "3.5.0")

    assert "fs.defaultFS" in read(files["core-site.xml"])
    assert "dfs.replication" in read(files["hdfs-site.xml"])
    assert "yarn.resourcemanager.address" in read(files["yarn-site.xml"])
    assert "mapreduce.framework.name" in read(files["mapred-site.xml"])
    queues = read(files["capacity-scheduler.xml"])
    assert queues["yarn.scheduler.capacity.root.queues"] == "default"


def test_nothing_to_set_still_gives_the_four_files() -> None:
    assert {name: read(text) for name, text in site_files({}, "3.5.0").items()} == {
        f"{name}-site.xml": {} for name in ("core", "hdfs", "yarn", "mapred")
    }


NAMES = st.from_regex(r"(dfs|yarn|mapreduce|fs|x)\.[a-z.-]{1,20}", fullmatch=True)
VALUES = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc", "Cn")))


@given(properties=st.dictionaries(NAMES, VALUES))
def test_whatever_is_set_comes_back_from_the_xml(properties: dict[str, str]) -> None:
    found: dict[str, str] = {}
    for text in site_files(properties, "3.5.0").values():
        found |= read(text)

    assert found == properties


def test_every_daemon_of_hadoop_has_a_heap_and_addresses() -> None:
    started = {role.name for role in ROLES.started(HADOOP)}
    assert started == HEAP_MB.keys() == WEB_ADDRESSES.keys() == set(ADDRESSES.values())
    assert all(ADDRESSES[prop] == role for role, prop in WEB_ADDRESSES.items())
