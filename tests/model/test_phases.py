"""The equations: simple cases by hand, and directions that hold for all clusters."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.model import constants, phases
from windtunnel.model.hardware import Hardware, hardware
from windtunnel.model.jobs import PHASE_KINDS, Job, job, kind_of
from windtunnel.model.many import many
from windtunnel.workloads import WORKLOADS
from windtunnel.workloads.terasort.teragen import TeraGen, TeraGenParameters

CISCO = load_cluster("cisco-2014")
KINDS = sorted(set(PHASE_KINDS.values()))
PRIORS = constants.priors()


def of(kind: str, cluster: Cluster, **parameters: object) -> tuple[Hardware, Job]:
    capacity = hardware(cluster)
    return capacity, job(kind, {"size": "1 TB", "samples": 1e12, **parameters}, cluster, capacity)


def elapsed(*rows: tuple[Hardware, Job]) -> list[float]:
    found = phases.times(phases.columns(rows[0][1].kind, rows), PRIORS)
    return [float(value) for value in found.elapsed_s]


def test_a_write_at_1_gb_per_s_is_bound_by_the_busiest_sender() -> None:
    slow = apply_overrides(
        CISCO,
        {f"hosts.{name}.nics.0.rate": "1 Gb/s" for name in ("worker", "store", "name")},
    )
    row = of("generate", slow, input_replication=3, maps=119)
    found = phases.times(phases.columns("generate", [row]), PRIORS)
    # a worker sends a fifth of the data, and forwards a sixth of it as the third replica
    by_hand = (1e12 / 5 + 1e12 / 6) / (1.25e8 * (9000 - 52) / (9000 + 38))
    network = found.resources_s[phases.RESOURCES.index("network"), 0]
    assert network == pytest.approx(by_hand, rel=1e-9)
    assert by_hand < found.elapsed_s[0] < 1.3 * by_hand


def test_the_first_replica_stays_and_storage_hosts_receive_all() -> None:
    capacity, work = of("generate", CISCO, input_replication=1)
    assert elapsed((capacity, work)) == elapsed((replace(capacity, nic_bytes_s=1e6), work))
    outside = replace(capacity, external=1.0)
    assert elapsed((outside, work)) < elapsed((replace(outside, nic_bytes_s=1e8), work))


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_is_a_part_of_the_start_up_only(kind: str) -> None:
    capacity, work = of(kind, CISCO)
    warm = replace(capacity, warm=1.0)
    assert hardware(apply_overrides(CISCO, {"software.task_start": "warm"})) == warm
    (stock,), (waiting,) = elapsed((capacity, work)), elapsed((warm, work))
    start, task = (PRIORS[constants.INDEX[name]] for name in ("start", "task_start"))
    least = (1.0 - phases.WARM_START) * np.exp(start)
    assert stock - waiting >= least * 0.999
    if kind in ("put", "get"):  # copies have no tasks
        return
    tasks = phases.waves_of(np.array([work.tasks]), np.array([1.0]))[0]
    assert stock - waiting <= least + (1.0 - phases.WARM_START) * np.exp(task) * 2 * tasks


def test_the_bytes_of_the_write_pipeline_are_those_of_the_workload() -> None:
    workload = TeraGen(TeraGenParameters.model_validate({"size": "100 GB", "replication": 3}))
    demand = workload.demands("teragen", 5)
    capacity, work = of("generate", CISCO, size="100 GB", replication=3)
    assert work.data_bytes * work.replicas == demand.disk_write_bytes
    column = phases.columns("generate", [(capacity, work)])
    crossing = phases.pipeline(column, column.data_bytes, column.replicas)[2]
    assert float(crossing[0]) == demand.network_bytes


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    name=st.sampled_from(("nic_bytes_s", "store_nic_bytes_s", "spindles", "clock_ghz", "slots")),
    factor=st.floats(1.0, 20.0),
)
def test_a_faster_part_is_never_slower(kind: str, name: str, factor: float) -> None:
    capacity, work = of(kind, CISCO)
    if name == "slots":
        # at most the cores: beyond, tasks share them and memory contention grows
        capacity = replace(capacity, slots=2.0, threads_per_core=1.0)
        factor = min(factor, capacity.cores / 2.0)
        work = replace(work, at_once=2.0 * factor) if factor > 1 else replace(work, at_once=2.0)
    faster = replace(capacity, **{name: getattr(capacity, name) * factor})
    if name == "slots":
        slow = replace(work, at_once=2.0)
        zero = PRIORS.copy()
        zero[constants.INDEX["memory_stall"]] = np.log(1e-9)
        before, after = (
            phases.times(phases.columns(kind, [row]), zero).elapsed_s[0]
            for row in ((capacity, slow), (faster, work))
        )
        assert after <= before * 1.0001
        return
    before, after = elapsed((capacity, work), (faster, work))
    assert after <= before * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(KINDS), factor=st.floats(1.0, 1000.0))
def test_more_data_never_takes_less_time(kind: str, factor: float) -> None:
    capacity, work = of(kind, CISCO)
    larger = replace(work, data_bytes=work.data_bytes * factor, samples=work.samples * factor)
    before, after = elapsed((capacity, work), (capacity, larger))
    assert np.isfinite(after)
    assert after >= before * (1 - 1e-9)


CORES = "hosts.worker.cpu.cores_per_socket"


@pytest.mark.parametrize("kind", ["pi", "sort", "generate", "validate", "count"])
@pytest.mark.parametrize("stall", [0.198, 1.0])
def test_more_cores_never_take_more_time(kind: str, stall: float) -> None:
    log = PRIORS.copy()
    log[constants.INDEX["memory_stall"]] = np.log(stall)
    found = []
    for cores in (4, 8, 10, 12, 14, 16, 22, 32, 48, 64, 96):
        changes = {
            "hosts.store": None,
            CORES: cores,
            "settings.yarn.nodemanager.resource.cpu-vcores": 4 * cores,
            "settings.yarn.nodemanager.resource.memory-mb": 1_000_000,
        }
        row = of(kind, apply_overrides(CISCO, changes))
        found.append(float(phases.times(phases.columns(kind, [row]), log).elapsed_s[0]))
    assert all(after <= before * 1.001 for before, after in pairwise(found))


def test_the_factor_of_shared_memory_is_that_of_the_fitted_cores_beyond_them() -> None:
    def work(cores: int) -> float:
        capacity, one = of("pi", apply_overrides(CISCO, {CORES: cores}), maps=5 * 2 * cores)
        alone = replace(capacity, threads_per_core=1.0)
        row = alone, replace(one, at_once=2.0 * cores)
        found = phases.times(phases.columns("pi", [row]), PRIORS)
        return float(found.cpu_s[0] - phases.START_COUNTED * one.tasks * start)

    start = np.exp(PRIORS[constants.INDEX["task_start"]])
    assert work(12) == pytest.approx(work(40))
    assert work(8) < work(10) < work(12)


def test_the_start_of_tasks_is_a_part_of_the_time_of_the_cpus() -> None:
    capacity, work = of("sort", CISCO)
    found = phases.times(phases.columns("sort", [(capacity, work)]), PRIORS)
    fast = phases.times(phases.columns("sort", [(replace(capacity, clock_ghz=1e6), work)]), PRIORS)
    cpu = phases.RESOURCES.index("cpu")
    assert 0 < found.task_start_s[0] < found.resources_s[cpu, 0]
    assert fast.task_start_s[0] == pytest.approx(fast.resources_s[cpu, 0], rel=1e-3)
    assert fast.task_start_s[0] == pytest.approx(found.task_start_s[0])


def test_waves_are_whole_when_few_and_fluid_when_many() -> None:
    slots = np.array([100.0] * 4)
    found = phases.waves_of(np.array([50.0, 100.0, 101.0, 100_001.0]), slots)
    assert list(found[:2]) == [1.0, 1.0]
    assert 1.9 < found[2] < 2.0
    assert found[3] == pytest.approx(1000.01, rel=1e-5)


def test_variants_of_constants_give_what_single_ones_give() -> None:
    row = of("sort", CISCO)
    columns = phases.columns("sort", [row, row])
    variants = np.stack([PRIORS, PRIORS + 0.1])
    together = phases.times(columns, variants)
    assert together.elapsed_s.shape == (2, 2)
    assert together.resources_s.shape == (3, 2, 2)
    for place, log in enumerate(variants):
        alone = phases.times(columns, log)
        assert np.allclose(together.elapsed_s[place], alone.elapsed_s, rtol=1e-12)
        assert np.allclose(together.resources_s[:, place], alone.resources_s, rtol=1e-12)


def test_many_in_chunks_are_the_same() -> None:
    columns = phases.columns("sort", [of("sort", CISCO, size=f"{n} GB") for n in range(1, 30)])
    chunked, whole = many(columns, PRIORS, 7), phases.times(columns, PRIORS)
    for one in fields(whole):
        assert np.array_equal(getattr(chunked, one.name), getattr(whole, one.name))


def test_old_slots_limit_tasks_and_external_storage_moves_spills() -> None:
    vmware = load_cluster("vmware-2011")
    assert of("sort", vmware, map_slots=280)[1].at_once == 40
    ceph = hardware(load_cluster("mellanox-2014-cephfs"))
    assert ceph.external == 1.0
    assert ceph.scratch_fixed_bytes_s > 0
    assert ceph.spindles == 4


def test_unknown_parts_get_a_stated_default() -> None:
    plain = Cluster.model_validate(
        {
            "name": "unknown",
            "hosts": {
                "all": {
                    "count": 3,
                    "roles": ["namenode", "datanode", "resourcemanager", "nodemanager"],
                }
            },
        }
    )
    found = hardware(plain)
    words = " ".join(found.assumed)
    for part in ("cores", "clock", "memory", "NICs", "data disks", "containers"):
        assert part in words
    assert all(value > 0 for value in elapsed(of("sort", plain)))


@pytest.mark.parametrize(
    ("workload", "phase", "kind"),
    [
        ("terasort", "teragen", "generate"),
        ("terasort-1tb", "total", "sort"),
        ("wordcount", "", "count"),
        ("mine", "total", None),
        ("terasort", "other", None),
    ],
)
def test_the_kind_follows_from_phase_or_name(workload: str, phase: str, kind: str | None) -> None:
    assert kind_of(workload, phase) == kind


def test_every_phase_of_the_model_belongs_to_a_workload() -> None:
    from windtunnel.model.jobs import WORKLOAD_PHASES

    assert set(WORKLOAD_PHASES) <= set(WORKLOADS)
    for names in WORKLOAD_PHASES.values():
        assert all(name in PHASE_KINDS for name in names)
