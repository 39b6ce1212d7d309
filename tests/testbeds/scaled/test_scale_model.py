"""From the full size to the model: rates, disks, memory, racks, guests, settings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.models import known
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.cluster.hosts import SMT_GAIN
from windtunnel.engines.hadoop.pool_sizes import JVM_BYTES
from windtunnel.errors import NotRealisableError
from windtunnel.hosts.fabric.plan import HostPlan
from windtunnel.testbeds.scaled.scale import FULL_SIZE, Scale
from windtunnel.testbeds.scaled.scale_model import (
    WORKER_BYTES,
    scaled,
    unknown_values,
    unshaped,
    waiting_bytes,
)
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.tasks import TASK_MIB, tasks_of

SMALL = Scale(rate=1 / 40, data=1 / 1000)
DISKS = "{count: 4, size: 2 TB,"


def host(cluster: Cluster, name: str, scale: Scale = SMALL) -> HostPlan:
    return next(h for h in fabric_plan(cluster, scale).hosts if h.name == name)


def test_rates_are_the_described_ones_times_the_rate() -> None:
    worker = host(known(), "worker-1")

    assert worker.cpu_cores == pytest.approx(4 * SMT_GAIN / 40)  # 4 cores with two threads
    assert worker.nic_bytes_s == pytest.approx(1.25e9 / 40)
    assert [disk.name for disk in worker.disks] == ["disk-1", "disk-2", "disk-3", "disk-4"]
    assert worker.disks[0].read_bytes_s == pytest.approx(160e6 / 40)
    assert worker.disks[0].write_bytes_s == pytest.approx(120e6 / 40)
    assert worker.disks[0].read_iops == 5
    assert worker.rack == "rack-1"


def test_the_description_of_the_model_agrees_with_its_fabric() -> None:
    model, worker = scaled(known(), SMALL), host(known(), "worker-2")
    described = model.hosts["worker"]

    assert described.disks is not None and described.nics is not None
    assert described.disks[0].read_rate == worker.disks[0].read_bytes_s
    assert described.nics[0].rate == worker.nic_bytes_s
    assert described.memory == worker.memory_bytes
    assert Cluster.model_validate(model.plain()) == Cluster.model_validate(model.plain())
    assert [node.name for node in model.nodes()] == [node.name for node in known().nodes()]


def test_masters_alone_on_their_host_are_not_slowed_down() -> None:
    master = host(known(), "master")

    assert (master.cpu_cores, master.memory_bytes) == (None, None)
    assert any("hosts.master" in caveat for caveat in unshaped(known()))


def test_an_array_is_one_disk() -> None:
    cluster = known((DISKS, DISKS + " layout: raid6,"))
    (array,) = host(cluster, "worker-1", FULL_SIZE).disks

    assert array.read_bytes_s == pytest.approx(2 * 160e6)
    assert array.write_bytes_s == pytest.approx(2 * 120e6)


def test_a_limping_part_is_one_part_of_one_host() -> None:
    limping = (
        "degraded: [{host: 1, part: disk, index: 2, to: 10 %}, {host: 1, part: nic, to: 50 %}]"
    )
    cluster = known(("    memory: 64 GiB", f"    {limping}\n    memory: 64 GiB"))
    well, ill = host(cluster, "worker-1", FULL_SIZE), host(cluster, "worker-2", FULL_SIZE)

    assert [disk.read_bytes_s for disk in ill.disks] == pytest.approx([160e6, 160e6, 16e6, 160e6])
    assert ill.nic_bytes_s == pytest.approx(0.5 * (well.nic_bytes_s or 0))
    assert {disk.read_bytes_s for disk in well.disks} == {160e6}


def test_an_oversubscribed_uplink_is_the_nics_over_the_factor() -> None:
    cluster = apply_overrides(known(), {"network.spread_over": 2, "network.oversubscription": 4.0})
    racks = {rack.name: rack.uplink_bytes_s for rack in fabric_plan(cluster, FULL_SIZE).racks}

    assert racks == {
        "rack-1": pytest.approx(3 * 1.25e9 / 4),
        "rack-2": pytest.approx(2 * 1.25e9 / 4),
    }


def test_guests_share_their_host_and_keep_the_names_of_nodes() -> None:
    vms = "vms: [{count: 2, vcpus: 4, memory: 30 GiB, disks: [{count: 2}]}]\n    memory: 64 GiB"
    cluster = known(("memory: 64 GiB", vms))
    worker = host(cluster, "worker-1")

    assert [g.name for g in worker.guests] == ["worker-1-vm-1", "worker-1-vm-2"]
    assert [g.disks for g in worker.guests] == [("disk-1", "disk-2"), ("disk-3", "disk-4")]
    assert worker.guests[0].cpu_cores == pytest.approx(4 / 40)
    assert worker.memory_bytes == sum(g.memory_bytes or 0 for g in worker.guests)


@pytest.mark.parametrize(
    ("gone", "path"),
    [
        (" read_rate: 160 MB/s,", "hosts.worker.disks.0.read_rate"),
        ("    memory: 64 GiB\n", "hosts.worker.memory"),
        (", threads_per_core: 2", "hosts.worker.cpu.threads_per_core"),
    ],
)
def test_what_is_unknown_is_refused_with_its_path(gone: str, path: str) -> None:
    cluster = known((gone, ""))

    assert unknown_values(cluster) == [path]
    with pytest.raises(NotRealisableError, match=path) as caught:
        fabric_plan(cluster, SMALL)
    assert path in caught.value.remedy


def test_racks_need_an_uplink() -> None:
    assert unknown_values(apply_overrides(known(), {"network.spread_over": 2})) == [
        "network.uplink"
    ]


def test_blocks_and_buffers_shrink_and_slots_stay() -> None:
    full, model = tasks_of(known()), tasks_of(scaled(known(), SMALL))

    assert full.slots == model.slots == 8
    assert model.map_mib == TASK_MIB
    assert model.block_bytes == 134144  # 128 MiB / 1000 in chunks of 512 bytes
    assert model.sort_mib == 1  # no smaller one is possible
    assert model.reduce_buffer == pytest.approx(1 << 20, rel=0.5)


def test_the_settings_of_a_model_are_consistent() -> None:
    settings = scaled(known(), SMALL).settings

    assert settings["dfs.namenode.fs-limits.min-block-size"] == 134144
    assert settings["yarn.nodemanager.resource.memory-mb"] == 8 * TASK_MIB
    assert settings["yarn.scheduler.maximum-allocation-mb"] == 8 * TASK_MIB


@given(
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(0, 900),
    st.integers(1, 16),
    st.sampled_from((1.0, 0.5, 0.1, 1 / 1000)),
)
def test_an_application_master_takes_as_many_slots_as_at_full_size(
    slots: int, map_gib: int, rest_mib: int, master_gib: int, data: float
) -> None:
    sizes = {
        "settings.mapreduce.map.memory.mb": map_gib * 1024,
        "settings.mapreduce.reduce.memory.mb": map_gib * 1024,
        "settings.yarn.nodemanager.resource.memory-mb": slots * map_gib * 1024 + rest_mib,
        "settings.yarn.app.mapreduce.am.resource.mb": master_gib * 1024,
    }
    cluster = apply_overrides(known(), sizes)
    full, model = tasks_of(cluster), tasks_of(scaled(cluster, Scale(rate=1 / 10, data=data)))

    assert model.slots == full.slots == slots
    assert model.master_slots == full.master_slots
    assert TASK_MIB - 16 <= model.master_mib <= model.nodemanager_mib


def test_the_fair_scheduler_of_a_model_does_not_round_its_small_containers() -> None:
    fair = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
    settings = {
        "yarn.resourcemanager.scheduler.class": fair,
        "yarn.scheduler.increment-allocation-mb": 512,
        "yarn.nodemanager.resource.memory-mb": 12288,
        "mapreduce.map.memory.mb": 1536,
    }
    given = {f"settings.{name}": value for name, value in settings.items()}
    full = apply_overrides(known(), given)
    model = scaled(full, SMALL)

    assert tasks_of(full).slots == tasks_of(model).slots == 8
    assert model.settings["yarn.resource-types.memory-mb.increment-allocation"] == 16
    assert "yarn.scheduler.increment-allocation-mb" not in model.settings


def test_an_application_master_fits_next_to_a_small_task() -> None:
    sizes = {
        "settings.yarn.scheduler.minimum-allocation-mb": 512,
        "settings.yarn.nodemanager.resource.memory-mb": 1536,
        "settings.yarn.app.mapreduce.am.resource.mb": 512,
    }
    cluster, scale = apply_overrides(known(), sizes), Scale(rate=1 / 2, data=1 / 2)
    model = scaled(cluster, scale).settings

    assert model["mapreduce.map.memory.mb"] == 512
    assert model["yarn.app.mapreduce.am.resource.mb"] == 496
    assert model["yarn.nodemanager.resource.memory-mb"] == 512 + 496
    whole = host(cluster, "worker-1", FULL_SIZE).memory_bytes or 0
    cache = whole - WORKER_BYTES - (1536 << 20)
    held = WORKER_BYTES + (1008 << 20)
    assert host(cluster, "worker-1", scale).memory_bytes == held + cache // 2


@pytest.mark.parametrize(("nodemanager_mib", "waiting"), [(1536, 3), (1024, 4)])
def test_only_jvms_without_a_container_need_more_memory(nodemanager_mib: int, waiting: int) -> None:
    """Five JVMs: one slot; the application master has memory of its own, or takes the slot."""
    sizes = {
        "software.task_start": "warm",
        "software.warm_jvms": 4,
        "settings.yarn.scheduler.minimum-allocation-mb": 512,
        "settings.yarn.nodemanager.resource.memory-mb": nodemanager_mib,
        "settings.yarn.app.mapreduce.am.resource.mb": 512,
    }
    cluster = apply_overrides(known(), sizes)

    assert waiting_bytes(cluster, Scale(rate=1 / 2, data=1 / 2)) == waiting * JVM_BYTES


def test_heaps_follow_their_containers() -> None:
    cluster = apply_overrides(
        known(), {"settings.mapreduce.map.java.opts": "-Xmx820m -XX:+UseSerialGC"}
    )
    options = scaled(cluster, SMALL).settings["mapreduce.map.java.opts"]

    assert options == "-Xmx256m -XX:+UseSerialGC"


def test_a_block_size_among_the_settings_moves_to_the_storage() -> None:
    cluster = known(
        (", block_size: 128 MiB", ""), ("settings:", "settings:\n  dfs.blocksize: 268435456")
    )
    model = scaled(cluster, Scale(rate=0.1, data=0.5))

    assert model.storage.block_size == 134217728
    assert "dfs.blocksize" not in model.settings


def test_the_reserved_space_of_disks_scales_with_the_data() -> None:
    name = "settings.dfs.datanode.du.reserved"
    given = {name: "10g", f"{name}.ssd": 20 << 30, f"{name}.pct": 5}
    model = scaled(apply_overrides(known(), given), Scale(rate=1 / 10, data=1 / 1024)).settings

    assert model["dfs.datanode.du.reserved"] == 10 << 20
    assert model["dfs.datanode.du.reserved.ssd"] == 20 << 20
    assert model["dfs.datanode.du.reserved.pct"] == 5


@given(st.integers(1, 2000), st.integers(1, 100_000))
def test_any_scale_makes_a_model_that_is_no_larger(rate: int, data: int) -> None:
    scale = Scale(rate=1 / rate, data=1 / data)
    full, model = host(known(), "worker-1", FULL_SIZE), host(known(), "worker-1", scale)
    tasks = tasks_of(scaled(known(), scale))

    assert 0 < (model.memory_bytes or 0) <= (full.memory_bytes or 0)
    assert 0 < (model.cpu_cores or 0) <= (full.cpu_cores or 0)
    assert tasks.block_bytes % 512 == 0 and tasks.slots == 8


def test_full_size_is_the_description_itself() -> None:
    worker = host(known(), "worker-1", FULL_SIZE)

    assert worker.memory_bytes == 64 << 30
    full, model = tasks_of(known()), tasks_of(scaled(known(), FULL_SIZE))
    assert replace(model, reduce_buffer=full.reduce_buffer) == full
    assert model.reduce_buffer == pytest.approx(full.reduce_buffer)


def test_whole_numbers_can_be_hexadecimal() -> None:
    given = {"settings.yarn.nodemanager.resource.memory-mb": "0x4000"}
    cluster = apply_overrides(known(), given)
    assert tasks_of(cluster).nodemanager_mib == 1 << 14
    assert scaled(cluster, FULL_SIZE).settings["yarn.nodemanager.resource.memory-mb"] == 1 << 14


@pytest.mark.parametrize("ratio", ["0", "0.8"])
def test_a_heap_of_nothing_is_the_default(ratio: str) -> None:
    given = {
        "settings.mapreduce.job.heap.memory-mb.ratio": ratio,
        "settings.mapreduce.map.memory.mb": "-1",
        "settings.mapreduce.map.java.opts": "-Xmx800m",
    }
    assert tasks_of(apply_overrides(known(), given)).map_mib == 1024


@pytest.mark.parametrize("size", ["256m", "268435456", "0.25g", 1 << 28])
def test_sizes_have_the_prefixes_of_hadoop(size: object) -> None:
    cluster = apply_overrides(known(), {"settings.dfs.blocksize": size, "storage.block_size": None})
    assert tasks_of(cluster).block_bytes == 1 << 28
