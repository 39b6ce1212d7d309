"""The similarity report: groups that match by construction, and what breaks them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.models import known
from windtunnel.analysis.subjects import validation
from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.cluster.hosts import SMT_GAIN
from windtunnel.results.record import SimilarityGroup
from windtunnel.testbeds.base import Load, PhaseLoad
from windtunnel.testbeds.scaled.scale import FULL_SIZE, Combine, Scale
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.similarity import PLACEMENT, replica_imbalance, similarity
from windtunnel.testbeds.scaled.sizes import full_size

TB = 1e12


def groups(
    scale: Scale, cluster: Cluster | None = None, data: float = TB
) -> dict[str, SimilarityGroup]:
    load = Load("terasort", data, data * scale.data)
    found = similarity(cluster or known(), scale, [load])
    return {group.name: group for group in found}


def test_the_full_size_is_similar_to_itself() -> None:
    found = groups(FULL_SIZE)

    assert {group.state for group in found.values()} == {"match"}
    assert not any(group.says for group in found.values())


@given(st.integers(1, 500), st.sampled_from([0.5, 1.75, 4.0]))
def test_the_balance_is_kept_with_cores_of_another_speed(rate: int, speed: float) -> None:
    found = groups(Scale(rate=1 / rate, data=0.01, core_speed=speed))
    for name in ("disk : CPU", "network : CPU", "slots per core"):
        assert found[name].state == "match", name


def test_faster_cores_get_a_smaller_quota() -> None:
    slow, fast = (
        fabric_plan(known(), Scale(rate=0.1, data=0.1, core_speed=speed)) for speed in (1.0, 2.0)
    )
    quotas = [[host.cpu_cores for host in plan.hosts] for plan in (slow, fast)]
    assert [cores and cores / 2 for cores in quotas[0]] == quotas[1]
    assert [h.nic_bytes_s for h in slow.hosts] == [h.nic_bytes_s for h in fast.hosts]


@given(st.integers(1, 500), st.integers(1, 100))
def test_the_balance_of_the_hardware_is_kept_at_any_scale(rate: int, data: int) -> None:
    found = groups(Scale(rate=1 / rate, data=1 / data))

    for name in ("disk : network", "disk : CPU", "network : CPU", "slots per core", "(N-1)/N"):
        assert found[name].state == "match", name
    assert found["streams per disk"].full == found["streams per disk"].model == 2


def test_values_at_full_size_are_those_of_the_description() -> None:
    found = groups(Scale(rate=1 / 10, data=1 / 10))

    assert found["disk : network"].full == pytest.approx(4 * 120e6 / 1.25e9)
    assert found["slots per core"].full == pytest.approx(8 / (4 * SMT_GAIN))
    assert found["(N-1)/N"].full == pytest.approx(0.75)
    assert found["waves of maps"].full == pytest.approx(7451 / 32)
    assert found["spills per map"].full == 1
    assert found["reducer data : buffer"].full == pytest.approx(
        TB / 8 / (1024 * 2**20 * 0.8 * 0.7), rel=1e-6
    )


def test_small_tasks_are_mostly_start_up() -> None:
    found = groups(Scale(rate=1 / 40, data=1 / 1000))["start-up, fraction of task time"]

    assert found.state == "broken"
    assert found.full is not None and found.full < 0.7
    assert found.model is not None and found.model > 0.9
    assert f"{found.model * 100:.0f} % of a task" in found.says


def test_a_cache_that_holds_everything_is_told() -> None:
    # what idle tasks leave of the containers' memory is large beside a thousandth of the data
    found = groups(Scale(rate=1 / 40, data=1 / 1000))["data that the cache can hold, between jobs"]

    assert found.model == 1.0
    assert found.state == "broken"
    assert "disk reads are too fast" in found.says


def test_a_sort_buffer_that_cannot_shrink_spills_too_little() -> None:
    tight = apply_overrides(known(), {"settings.mapreduce.task.io.sort.mb": 20})
    found = groups(Scale(rate=1 / 40, data=1 / 1000), tight)["spills per map"]

    assert (found.full, found.model, found.state) == (8, 1, "broken")
    assert "too little disk traffic" in found.says


def test_a_lone_task_has_its_whole_host() -> None:
    found = groups(Scale(rate=1 / 40, data=1 / 10))["CPU of a single task, fraction of its host"]

    assert (found.full, found.model) == (pytest.approx(1 / (4 * SMT_GAIN)), 1.0)
    assert found.state == "broken"


def test_combined_parts_are_compared_with_the_full_size() -> None:
    fewer = Combine(slots=2, disks=4, waves=5)
    found = groups(Scale(rate=1 / 10, data=1 / 10, combine=fewer))

    slots = found["slots per core"]
    assert slots.model == pytest.approx((slots.full or 0) / 2)
    assert found["streams per disk"].model == 2 * (found["streams per disk"].full or 0)
    waves = found["waves of maps"]
    assert waves.model == pytest.approx((waves.full or 0) / 5, rel=0.01)
    for name in ("disk : network", "spills per map"):
        assert found[name].state == "match", name


def test_waiting_jvms_are_no_page_cache() -> None:
    name = "data that the cache can hold, tasks running"
    warm = apply_overrides(known(), {"software.task_start": "warm", "software.warm_jvms": 20})
    scale = Scale(rate=1 / 10, data=1 / 10)

    assert groups(scale, warm)[name].model == pytest.approx(groups(scale)[name].model)


def test_racks_and_guests() -> None:
    racks = {"network.spread_over": 2, "network.oversubscription": 4.0}
    found = groups(Scale(rate=1 / 10, data=1 / 10), apply_overrides(known(), racks))

    assert (found["racks"].full, found["racks"].state) == (2, "match")
    assert found["oversubscription"].full == pytest.approx(4)
    assert found["VMs per host"].full == 1


def test_a_workload_without_data_has_an_unknown_task_time() -> None:
    found = similarity(known(), Scale(rate=0.1, data=0.1), [Load("pi", 0, 0)])

    assert [g.state for g in found if g.workload == "pi"] == ["unknown"]


def test_a_client_that_copies_files_has_caches_and_no_tasks() -> None:
    load = Load("transfer", 1e9, 1e8, tasks=False)
    found = similarity(known(), Scale(rate=0.1, data=0.1), [load])
    names = [group.name for group in found if group.workload == "transfer"]

    assert len(names) == 2
    assert all(name.startswith("data that the cache can hold") for name in names)


SLOTS = "slots in use, mean over all waves of maps"
REDUCES = "reduce tasks of the busiest worker : mean"


def test_a_last_wave_that_is_not_full_leaves_slots_idle() -> None:
    # 233 waves at full size are 1.09 in the model: the second has a tenth of the slots
    found = groups(Scale(rate=1 / 10, data=1 / 10, combine=Combine(waves=213)))[SLOTS]

    assert found.full == pytest.approx(1, rel=0.01)
    assert found.model == pytest.approx(1.09 / 2, rel=0.01)
    assert found.state == "broken"
    assert "fills all waves" in found.says


def test_an_application_master_takes_slots() -> None:
    # a host of 8 slots of 1 GiB: the container of 1.5 GiB is rounded up to 2 GiB
    found = groups(Scale(rate=1 / 10, data=1 / 10))["slots left by an application master"]
    slots = 8 * len(known().nodes_with("nodemanager"))

    assert found.full == found.model == pytest.approx(1 - 2 / slots)
    assert found.state == "match"


@given(st.integers(1, 200), st.floats(0.01, 1.0))
def test_the_busiest_worker_has_at_least_the_mean(reduces: int, fraction: float) -> None:
    scale = Scale(rate=1 / 10, data=1 / 10)
    load = Load("terasort", TB, TB / 10, reduces=reduces, task_fraction=fraction)
    (found,) = (g for g in similarity(known(), scale, [load]) if g.name == REDUCES)

    assert found.full is not None and 1 <= found.full <= max(4, 4 / reduces)
    assert found.model is not None and found.model >= 1


def test_reduce_tasks_that_are_no_multiple_of_the_workers_are_named() -> None:
    load = Load("terasort", TB, TB / 10, reduces=96, task_fraction=5 / 96)
    scale = Scale(rate=1 / 10, data=1 / 10)
    (found,) = (g for g in similarity(known(), scale, [load]) if g.name == REDUCES)

    assert (found.full, found.model, found.state) == (1, 1.6, "broken")
    assert "multiple of the number of workers" in found.says


def test_an_erasure_code_stores_less_than_replicas() -> None:
    coded = apply_overrides(known(), {"storage.erasure_code": "XOR-2-1"})
    found = groups(Scale(rate=1 / 40, data=1 / 100), coded)["replication"]
    assert (found.full, found.model) == (1.5, 1.5)


def test_storage_hosts_have_no_slots() -> None:
    roles = {"hosts.worker.roles": ["nodemanager"], "hosts.store.roles": ["datanode"]}
    apart = {"storage.external": ["store"], **roles}
    both = load_cluster("model-external")
    found = [
        groups(Scale(rate=1 / 5, data=1.0), one) for one in (both, apply_overrides(both, apart))
    ]
    for name in ("slots per core", "CPU of a single task, fraction of its host"):
        assert found[0][name].full == found[1][name].full


def test_a_model_with_less_data_has_a_larger_share_of_fixed_cpu_time() -> None:
    name = "fixed CPU time of tasks, fraction of their CPU time"
    less = groups(Scale(rate=1 / 10, data=1 / 1000))[name]
    assert less.model is not None and less.full is not None
    assert less.state == "broken" and less.model > less.full
    assert "does not depend on the data" in less.says
    # the same blocks at a lower rate: the tasks have the same work
    slower = groups(Scale(rate=1 / 10, data=1))[name]
    assert slower.state == "match" and not slower.says


def test_daemons_use_a_larger_share_of_small_hosts() -> None:
    name = "CPU of daemons, fraction of their hosts"
    found = groups(Scale(rate=1 / 200, data=1))[name]
    assert found.model is not None and found.full is not None
    assert found.model == pytest.approx(200 * found.full)
    assert found.state != "match" and "most at the fewest cores" in found.says
    assert groups(Scale(rate=1 / 2, data=1))[name].state == "match"


def written(data: float, copies: int) -> Load:
    """A load whose first phase writes the data in some replicas."""
    return Load("teragen", data, data, (PhaseLoad("teragen", 0, data * copies, data),), writers=4)


def test_few_blocks_are_placed_unequally() -> None:
    """The expected value is that of random placements."""
    cluster = apply_overrides(known(), {"storage.block_size": "64 MiB"})
    full = full_size(cluster)
    hosts, blocks = cluster.holders, 12
    (found, _) = replica_imbalance(written(blocks * 64 * 2.0**20, 2), full, full)
    chance = random.Random(7)
    largest = [
        max(Counter(chance.randrange(hosts) for _ in range(blocks)).values()) for _ in range(2000)
    ]
    assert found == pytest.approx(fmean(largest) * hosts / blocks, rel=0.12)
    (many, _) = replica_imbalance(written(TB, 2), full, full)
    assert many is not None and 1 < many < 1.1
    assert replica_imbalance(written(TB, 1), full, full) == [None, None]


def test_a_model_with_fewer_blocks_has_a_group_for_them() -> None:
    load = replace(written(TB, 3), model_bytes=TB / 2000)
    found = {g.name: g for g in similarity(known(), Scale(rate=0.01, data=1 / 2000), [load])}
    group = found[PLACEMENT]
    assert group.state == "match", "the blocks of a model are as many as at full size"
    few = Scale(rate=0.01, data=1 / 2000, combine=Combine(waves=64))
    found = {g.name: g for g in similarity(known(), few, [load])}
    assert found[group.name].state in ("near", "broken")
    assert "by chance" in found[group.name].says


def test_validations_use_the_group_of_placements_by_its_name() -> None:
    assert validation._PLACEMENT == PLACEMENT
