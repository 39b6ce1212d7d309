"""What a key-value store served: rates, percentiles, its course in time, its way back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.served import BACK_S, FAULT_S, PERCENTILES, folder
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.subjects.keyvalue import HELD, courses, curves, recovery, served
from windtunnel.results.folder import read_results


def analysed(path: Path, *levels: str, trials: int = 4, factor: str = "rate") -> Analysis:
    return analyse(read_results(folder(path, Plan(trials, levels, factor))))


def test_rates_and_percentiles_are_means_over_the_trials(tmp_path: Path) -> None:
    reached, wanting = analysed(tmp_path, "sustainable", "unreachable").once(served)
    assert (reached.throughput.mean, reached.target, reached.saturated) == (100, 100, 0)
    assert (wanting.throughput.mean, wanting.target, wanting.saturated) == (100, 1000, 2)
    read, update = reached.latencies
    assert (read.operation, update.operation) == ("read", "update")
    assert read.by_percentile == {k: v for k, v in PERCENTILES.items() if k != "mean"}
    assert update.by_percentile["p99"] == 18 and update.service_p99 == 3
    assert reached.data_to_cache == 2.5


def test_another_study_served_nothing(tmp_path: Path) -> None:
    analysis = analyse(read_results(study_folder(tmp_path, Plan(trials=2))))
    assert analysis.once(served) == []
    assert analysis.once(courses) == []
    assert analysis.once(curves) == []


def test_a_course_is_one_trial_from_the_start_of_its_run(tmp_path: Path) -> None:
    none, killed = analysed(tmp_path, "none", "killed").once(courses)
    assert none.faults == () and none.recovery_s is None
    assert [at for at, _ in none.points] == pytest.approx(list(range(1, 41)))
    assert killed.faults == pytest.approx([FAULT_S])
    assert killed.recovery_s == pytest.approx(BACK_S + 1 - FAULT_S)


def test_lost_samples_leave_the_other_numbers(tmp_path: Path) -> None:
    path = folder(tmp_path, Plan(2, ("sustainable",), "rate"))
    for file in (path / "samples").iterdir():
        file.write_bytes(b"half a file")
    analysis = analyse(read_results(path))
    assert len(analysis.once(served)) == 1
    assert analysis.once(courses) == []


def test_throughput_against_threads(tmp_path: Path) -> None:
    factor = "workloads.keyvalue.threads"
    (curve,) = analysed(tmp_path, "1", "4", "16", trials=6, factor=factor).once(curves)
    assert (curve.axis, curve.others) == ("threads", "")
    assert [(at, mean) for at, mean, _, _ in curve.points] == [(1, 100), (4, 400), (16, 1000)]


def test_rates_named_by_words_are_drawn_against_their_value(tmp_path: Path) -> None:
    (curve,) = analysed(tmp_path, "sustainable", "unreachable", "more", trials=6).once(curves)
    assert [point[0] for point in curve.points] == [100, 500, 1000]


def test_two_points_are_no_curve(tmp_path: Path) -> None:
    assert analysed(tmp_path, "sustainable", "unreachable").once(curves) == []


def test_recovery_counts_from_the_fault_to_eighty_percent_of_before() -> None:
    before = [(float(at), 100.0) for at in range(1, 11)]
    held = [(14.0 + i, 81.0) for i in range(HELD)]
    dip = [*before, (11.0, 30.0), (12.0, 0.0), (13.0, 79.0), *held]
    assert recovery(dip, 10.0) == 4.0
    assert recovery([*before, (11.0, 95.0)], 10.0) == 0.0
    assert recovery([*before, (11.0, 5.0)], 10.0) is None
    assert recovery(dip[10:], 10.0) is None, "nothing is known of before"


def course(*parts: tuple[int, float]) -> list[tuple[float, float]]:
    """A sample each second from 1 s on: (last second, rate) of each part."""
    points: list[tuple[float, float]] = []
    for last, rate in parts:
        points += [(float(at), rate) for at in range(len(points) + 1, last + 1)]
    return points


def test_a_single_sample_is_no_recovery() -> None:
    assert recovery(course((30, 1000), (31, 0), (32, 850), (90, 0)), 30.0) is None
    assert recovery(course((30, 1000), (31, 0), (32, 850), (40, 0), (90, 900)), 30.0) == 11.0
    assert recovery(course((30, 1000), (40, 0), (60, 900), (90, 0)), 30.0) is None


def test_a_short_dip_long_after_the_fault_has_no_relation_to_it() -> None:
    assert recovery(course((89, 1000), (90, 700), (120, 1000)), 30.0) == 0.0
    after = course((30, 1000), (35, 0), (89, 1000), (90, 700), (120, 1000))
    assert recovery(after, 30.0) == 6.0
    late = course((60, 1000), (70, 0), (120, 1000))
    assert recovery(late, 30.0) == 41.0, "a long fall is reported whenever it begins"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.floats(0, 60, allow_nan=False))
def test_recovery_never_lies_before_the_fault(rates: list[float], fault: float) -> None:
    found = recovery([(float(i), rate) for i, rate in enumerate(rates)], fault)
    assert found is None or found >= 0
