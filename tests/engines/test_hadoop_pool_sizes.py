"""The numbers of waiting JVMs: waves, vcores, memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windtunnel.engines.hadoop.pool_sizes import JVM_BYTES, fitted, pool_note, pool_sizes


def test_vcores_limit_the_wave_if_the_scheduler_counts_them() -> None:
    settings = {
        "yarn.nodemanager.resource.memory-mb": "8192",
        "yarn.nodemanager.resource.cpu-vcores": "4",
        "mapreduce.map.cpu.vcores": "2",
        "mapreduce.job.reduces": "6",
    }
    assert pool_sizes(settings, 1, "3.5") == {"map": 8, "reduce": 7, "master": 1}
    counted = {
        "yarn.scheduler.capacity.resource-calculator": "org.apache.hadoop.yarn.util.resource."
        "DominantResourceCalculator"
    }
    assert pool_sizes(settings | counted, 1, "3.5") == {"map": 2, "reduce": 4, "master": 1}


def test_a_wave_of_tasks_and_a_master_wait_on_each_host() -> None:
    settings = {
        "yarn.nodemanager.resource.memory-mb": "1280",
        "mapreduce.map.memory.mb": "320",
        "mapreduce.reduce.memory.mb": "320",
        "mapreduce.job.reduces": "6",
        "yarn.scheduler.minimum-allocation-mb": "16",
    }
    rounded = {**settings, "yarn.scheduler.minimum-allocation-mb": "640"}
    assert pool_sizes(rounded, 6, "3.5")["map"] == 2, "YARN rounds containers up"
    assert pool_sizes(settings, 6, "3.5") == {"map": 4, "reduce": 2, "master": 1}
    assert pool_sizes(settings, 2, "3.5") == {"map": 4, "reduce": 4, "master": 1}
    # a given number of JVMs serves several waves
    assert pool_sizes(settings, 6, "3.5", 10) == {"map": 8, "reduce": 2, "master": 1}
    assert pool_sizes(settings, 1, "3.5", 10) == {"map": 5, "reduce": 5, "master": 1}
    none = {**settings, "mapreduce.job.reduces": "0"}
    assert pool_sizes(none, 6, "3.5") == {"map": 4, "reduce": 0, "master": 1}
    assert pool_sizes(settings, 6, "3.5", 1) == {"map": 1, "reduce": 0, "master": 1}
    same = {name: hex(int(value)) for name, value in settings.items()}
    assert pool_sizes(same, 6, "3.5") == {"map": 4, "reduce": 2, "master": 1}


@given(
    st.integers(1, 50),
    st.integers(0, 50),
    st.integers(1, 20),
    st.integers(0, 64 << 30),
)
def test_waiting_jvms_fit_in_three_quarters_of_the_memory(
    maps: int, reduces: int, workers: int, memory_bytes: int
) -> None:
    sizes = {"map": maps, "reduce": reduces, "master": 1}
    found = fitted(sizes, workers, memory_bytes)
    assert found.keys() == sizes.keys()
    assert all(0 <= found[kind] <= sizes[kind] for kind in sizes)
    assert sum(found.values()) * workers * JVM_BYTES <= memory_bytes * 3 / 4
    if found["map"]:
        assert {**found, "map": maps} == sizes


def test_the_plan_names_what_memory_does_not_allow() -> None:
    settings = {"yarn.nodemanager.resource.memory-mb": "4096"}
    assert "memory is too small" not in pool_note(settings, 3, "3.5", 64 << 30)
    note = pool_note(settings, 3, "3.5", 9 << 29)
    assert note.startswith("warm JVMs: 4 per worker (1 for maps, 2 for reduces, ")
    assert note.endswith("the memory is too small for the 4 maps of one wave")
    assert pool_note(settings, 3, "3.5", 100 << 20).startswith(
        "warm JVMs: 0 per worker (0 for maps, 0 for reduces, 0 for an application master), 0 in all"
    )
    note = pool_note(settings, 3, "3.5", 9 << 29, 20)
    assert note.endswith("too small for the 18 maps that software.warm_jvms requests")
