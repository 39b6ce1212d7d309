"""Combined slots, disks and waves: totals stay, parts become fewer and larger."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.models import known
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.errors import NotRealisableError
from windtunnel.testbeds.scaled.combine import combined
from windtunnel.testbeds.scaled.scale import Combine
from windtunnel.testbeds.scaled.tasks import tasks_of

VCORES = {
    "settings.yarn.scheduler.capacity.resource-calculator": (
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
    ),
    "settings.yarn.nodemanager.resource.cpu-vcores": 14,
    "settings.mapreduce.map.cpu.vcores": 3,
}


def disk_rate(cluster: Cluster) -> float:
    disks = [disk for disk in cluster.hosts["worker"].disks or () if disk.use == "data"]
    return sum(disk.count * (disk.read_rate or 0) for disk in disks)


def test_nothing_changes_without_factors() -> None:
    cluster = known()

    assert combined(cluster, Combine()) is cluster


@given(st.integers(1, 20), st.integers(1, 8), st.integers(1, 50))
def test_totals_stay_and_parts_are_fewer(slots: int, disks: int, waves: int) -> None:
    full, fewer = known(), combined(known(), Combine(slots=slots, disks=disks, waves=waves))
    before, after = tasks_of(full), tasks_of(fewer)

    assert after.slots == max(1, before.slots // slots)
    assert after.block_bytes == before.block_bytes * slots * waves
    assert after.sort_mib / after.block_bytes == before.sort_mib / before.block_bytes
    assert after.reduce_buffer == pytest.approx(before.reduce_buffer * slots)
    assert disk_rate(fewer) == pytest.approx(disk_rate(full))
    assert fewer.role_counts() == full.role_counts()


def test_vcores_of_a_host_become_fewer_with_its_slots() -> None:
    counted = apply_overrides(known(), VCORES)
    before, after = tasks_of(counted), tasks_of(combined(counted, Combine(slots=2)))

    assert before.slots == 4, "14 vcores, 3 for each, although memory is enough for 8"
    assert after.slots == 2
    assert after.nodemanager_vcores == 7
    assert after.nodemanager_mib == before.nodemanager_mib // 2


def test_memory_of_omitted_containers_is_no_page_cache() -> None:
    fewer = combined(known(), Combine(slots=4))
    memory = [cluster.hosts["worker"].memory or 0 for cluster in (known(), fewer)]

    assert memory[0] - memory[1] == 6 << 30  # 2 of 8 containers of 1 GiB are left


def test_memory_of_omitted_containers_is_no_page_cache_of_virtual_machines() -> None:
    vms = [
        {"name": "worker", "count": 2, "memory": "16 GiB"},
        {"name": "store", "memory": "16 GiB", "roles": ["datanode"]},
    ]
    full = apply_overrides(known(), {"hosts.worker.vms": vms})
    fewer = combined(full, Combine(slots=4)).hosts["worker"]

    assert [guest.memory for guest in fewer.vms] == [10 << 30, 16 << 30]
    assert fewer.memory == full.hosts["worker"].memory, "only those of the machines are limits"


def test_reduce_tasks_of_the_settings_become_fewer() -> None:
    assert combined(known(), Combine(slots=4)).settings["mapreduce.job.reduces"] == 2


def test_a_block_size_of_the_settings_becomes_that_of_the_storage() -> None:
    cluster = apply_overrides(known(("storage: {replication: 3, block_size: 128 MiB}", "")), {})
    cluster = apply_overrides(cluster, {"settings.dfs.blocksize": 1 << 20})
    fewer = combined(cluster, Combine(waves=3))

    assert fewer.storage.block_size == 3 << 20
    assert "dfs.blocksize" not in fewer.settings


def test_a_degraded_disk_cannot_be_combined() -> None:
    slow = [{"host": 0, "part": "disk", "index": 1, "to": 0.5}]
    cluster = apply_overrides(known(), {"hosts.worker.degraded": slow})

    assert combined(cluster, Combine(slots=2))
    with pytest.raises(NotRealisableError, match=r"hosts\.worker\.degraded") as caught:
        combined(cluster, Combine(disks=2))
    assert "remove 'disks'" in caught.value.remedy
