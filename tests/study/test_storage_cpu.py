"""CPU time of the storage's daemons in the phases of a trial."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.results.record import Phase
from windtunnel.results.sample import Sample
from windtunnel.study.storage_cpu import storage_cpu_s


def phase(start: float, end: float, *, beside: bool = False) -> Phase:
    return Phase(
        name="terasort",
        beside=beside,
        started_at=start,
        finished_at=end,
        elapsed_s=end - start,
        wall_s=end - start,
    )


def samples(daemon: str, first: int, cores: list[float]) -> list[Sample]:
    return [
        Sample(float(first + i), "this machine", f"daemon_cpu:{daemon}", "cores", value)
        for i, value in enumerate(cores)
    ]


def test_only_daemons_of_the_storage_count() -> None:
    storage = ("namenode@master", "datanode@worker-1", "journalnode@a", "mgr@m", "osd.2@worker-1")
    rows = [row for name in storage for row in samples(name, 101, [0.5] * 10)]
    others = ("resourcemanager@master", "nodemanager@worker-1", "fileserver@master", "unknown@x")
    rows += [row for name in others for row in samples(name, 101, [1.0] * 10)]
    rows.append(Sample(105.0, "this machine", "daemon_rss:osd@worker-1", "bytes", 1e9))

    assert storage_cpu_s(rows, [phase(100, 110)]) == pytest.approx(5 * 0.5 * 10)


def test_only_the_phases_count() -> None:
    rows = samples("osd@worker-1", 101, [1.0] * 20)
    phases = [phase(102.5, 105), phase(110, 112), phase(113, 118, beside=True)]
    assert storage_cpu_s(rows, phases) == pytest.approx(2.5 + 2)


def test_the_time_in_which_a_killed_daemon_is_down_does_not_count() -> None:
    others = samples("nodemanager@worker-1", 101, [0.1] * 20)
    rows = samples("osd@worker-1", 101, [1.0] * 3) + samples("osd@worker-1", 115, [1.0] * 2)
    assert storage_cpu_s([*rows, *others], [phase(100, 120)]) == pytest.approx(5)


def test_a_late_sample_covers_the_time_since_the_one_before() -> None:
    rows = [*samples("osd@worker-1", 101, [1.0]), *samples("osd@worker-1", 104, [2.0])]
    assert storage_cpu_s(rows, [phase(100, 110)]) == pytest.approx(1 + 3 * 2)


def test_without_samples_of_its_daemons_there_is_no_value() -> None:
    assert storage_cpu_s(samples("nodemanager@a", 1, [1.0]), [phase(0, 5)]) is None
    assert storage_cpu_s([], [phase(0, 5)]) is None


@given(
    st.lists(st.floats(0, 4), min_size=1, max_size=30),
    st.floats(100, 130),
    st.randoms(use_true_random=False),
)
def test_the_parts_of_a_phase_add_up(cores: list[float], cut: float, random: object) -> None:
    rows = samples("datanode@worker-1", 101, cores)
    shuffled = sorted(rows, key=lambda row: hash((row.time_s, str(random))))
    whole = storage_cpu_s(shuffled, [phase(100, 131)])
    parts = storage_cpu_s(rows, [phase(100, cut), phase(cut, 131)])
    assert whole == pytest.approx(sum(cores))
    assert parts == pytest.approx(whole)
