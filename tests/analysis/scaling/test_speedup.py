"""Scaling: the laws against known truth, which factors count, speed-up and efficiency."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.formatting import digits
from windtunnel.analysis.scaling.laws import fit, nonnegative
from windtunnel.analysis.scaling.speedup import (
    DOUBLING_PAYS,
    Scaling,
    level_counts,
    parse_count,
    scalings,
)
from windtunnel.report.sections import scaling as scaling_section
from windtunnel.report.sections.known import INTERVALS_UNKNOWN
from windtunnel.results.folder import read_results
from windtunnel.results.record import Treatment, Trial

SERIAL, COHERENCY = 0.05, 0.002
PEAK = math.sqrt((1 - SERIAL) / COHERENCY)
LEVELS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


def times(
    levels: Sequence[float],
    each: int = 3,
    noise: float = 0.0,
    seed: int = 1,
    beta: float = COHERENCY,
) -> tuple[list[float], list[float]]:
    """Counts and elapsed times by Gunther's law with one unit at 100 s."""
    rng = np.random.default_rng(seed)
    n = np.repeat(np.array(levels), each)
    t = 100 * (1 + SERIAL * (n - 1) + beta * n * (n - 1)) / n
    return n.tolist(), (t * np.exp(rng.normal(0, noise, len(n)))).tolist()


# -- laws ------------------------------------------------------------------------------


def test_without_noise_the_law_is_found_exactly() -> None:
    found = fit("USL", *times(LEVELS))
    assert found is not None
    assert found.t1.value == pytest.approx(100)
    assert found.serial.value == pytest.approx(SERIAL)
    assert found.coherency.value == pytest.approx(COHERENCY)
    assert found.peak is not None
    assert found.peak.value == pytest.approx(PEAK)
    assert found.speed_up(1, 1) == 1
    assert found.error == pytest.approx(0, abs=1e-9)


def test_amdahl_is_gunther_without_coherency() -> None:
    counts, seconds = times(LEVELS, beta=0.0)
    amdahl, usl = fit("Amdahl", counts, seconds), fit("USL", counts, seconds)
    assert amdahl is not None
    assert usl is not None
    assert amdahl.serial.value == pytest.approx(SERIAL)
    assert usl.coherency.value == pytest.approx(0, abs=1e-9)
    assert usl.peak is not None
    assert usl.peak.value == math.inf
    assert usl.speed_up(1e9, 1) == pytest.approx(1 / SERIAL, rel=1e-3)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """95 % nominal; with 100 draws 88 or fewer would happen to a right interval once in 250."""
    hits = np.zeros(2)
    for seed in range(100):
        found = fit("USL", *times(LEVELS, noise=0.05, seed=seed))
        assert found is not None
        hits += (found.serial.low <= SERIAL <= found.serial.high,
                 found.coherency.low <= COHERENCY <= found.coherency.high)  # fmt: skip
    assert (hits > 88).all()


@pytest.mark.parametrize(("law", "needed"), [("Amdahl", 3), ("USL", 4)])
def test_a_law_needs_a_level_more_than_parameters(law: str, needed: int) -> None:
    assert fit(law, *times(LEVELS[: needed - 1])) is None  # type: ignore[arg-type]
    assert fit(law, *times(LEVELS[:needed], noise=0.01)) is not None  # type: ignore[arg-type]


def test_where_doubling_stops_paying() -> None:
    """Amdahl at 5 %: S(2N) / S(N) = (s + (1-s)/N) / (s + (1-s)/2N) falls to 1.1 at N = 77."""
    found = fit("Amdahl", *times(LEVELS, beta=0.0))
    assert found is not None
    exact = (1 - SERIAL) * (1 - 1.1 / 2) / (SERIAL * 0.1)
    assert found.stops_paying(0.10).value == pytest.approx(exact, rel=0.04)
    assert found.stops_paying(0.0).value == math.inf


def test_times_that_no_law_describes_are_not_fitted() -> None:
    """The nearest curve has no time at all for one unit or for one of the levels."""
    assert fit("USL", [4.0, 5.0, 1.0, 3.0], [2.0, 3.0, 24.0, 1.0]) is None


@settings(max_examples=50, deadline=None)
@given(
    levels=st.lists(st.integers(1, 64), min_size=4, max_size=6, unique=True),
    columns=st.sampled_from([2, 3]),
    rows=st.data(),
)
def test_many_fits_at_once_are_those_of_nnls(
    levels: list[int], columns: int, rows: st.DataObject
) -> None:
    n = np.array(levels, dtype=float)
    basis = np.column_stack([1 / n, np.ones_like(n), n - 1])[:, :columns]
    sides = rows.draw(arrays(float, (5, len(n)), elements=st.floats(-2, 2, width=16)))
    for side, found in zip(sides, nonnegative(basis, sides), strict=True):
        wanted, left = nnls(basis, side)
        assert (found >= 0).all()
        assert basis @ found == pytest.approx(basis @ wanted, abs=1e-6)
        assert np.linalg.norm(basis @ found - side) == pytest.approx(left, abs=1e-6)


COUNTS = st.lists(st.integers(1, 500), min_size=4, max_size=8, unique=True)


@settings(max_examples=30, deadline=None)
@given(counts=COUNTS, seconds=st.data())
def test_whatever_the_times_parameters_are_possible(
    counts: list[int], seconds: st.DataObject
) -> None:
    t = seconds.draw(st.lists(st.floats(0.1, 1e5), min_size=len(counts), max_size=len(counts)))
    found = fit("USL", [float(c) for c in counts], t)
    if found is None:  # no such law comes near these times
        return
    for estimate in (found.serial, found.coherency, found.t1):
        assert estimate.value >= 0
        assert estimate.low <= estimate.high
    assert found.serial.high <= 1 + 1e-9
    assert all(found.time(float(c)) > 0 for c in counts)


# -- which factors count ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        (4, 4),
        ("2.5", 2.5),
        ("6 nodes", 6),
        ("12 data disks", 12),
        ("16 GiB", None),
        ("10 Gb/s", None),
        ("stock", None),
        ("0", None),
        ("-3", None),
        ("4x", None),
        (True, None),
        (None, None),
        ("", None),
    ],
)
def test_numbers_out_of_labels(text: object, value: float | None) -> None:
    assert parse_count(text) == value


@given(text=st.text())
def test_no_label_breaks_the_parser(text: str) -> None:
    found = parse_count(text)
    assert found is None or found > 0


def treatments(factor: str, path: str, values: dict[str, object]) -> list[Treatment]:
    return [
        Treatment(id=level, levels={factor: level}, overrides={path: value} if path else {})
        for level, value in values.items()
    ]


SLOW_START = "settings.mapreduce.job.reduce.slowstart.completedmaps"
VIRTUAL = "settings.yarn.nodemanager.vmem-pmem-ratio"
VCORES = "settings.yarn.nodemanager.resource.cpu-vcores"
LOADING = "workloads.keyvalue.load_threads"


@pytest.mark.parametrize(
    ("factor", "path", "values", "expected"),
    [
        ("workers", "hosts.worker.count", {"few": 2, "many": 6}, ({"few": 2, "many": 6}, False)),
        ("disks", "hosts.worker.disks.0.count", {"6": 6, "12": 12}, ({"6": 6, "12": 12}, False)),
        ("r", "workloads.terasort.reduces", {"a": 1, "b": 4}, ({"a": 1, "b": 4}, False)),
        ("nodes", "", {"4": 0, "6": 0}, ({"4": 4, "6": 6}, False)),
        ("memory", "hosts.worker.memory", {"x": "16 GiB", "y": "64 GiB"}, ({"x": 1, "y": 4}, True)),
        ("network", "", {"1 Gb/s": 0, "10 Gb/s": 0}, ({"1 Gb/s": 1, "10 Gb/s": 10}, True)),
        ("size", "workloads.terasort.size", {"1 GB": "1 GB", "4 GB": "4 GB"}, None),
        ("sort", "settings.mapreduce.task.io.sort.mb", {"100": 100, "256": 256}, None),
        (SLOW_START, SLOW_START, {"0.05": 0.05, "1.0": 1.0}, None),
        (VIRTUAL, "", {"2.1": 2.1, "4": 4}, None),
        (VCORES, VCORES, {"2": 2, "4": 4}, ({"2": 2, "4": 4}, False)),
        (LOADING, LOADING, {"8": 8, "16": 16}, ({"8": 8, "16": 16}, False)),
        ("hosts.worker.nics.0.mtu", "hosts.worker.nics.0.mtu", {"1500": 1500, "9000": 9000}, None),
        ("year", "", {"2014": 0, "2016": 0}, None),
        ("nodes", "", {"4": 0, "all": 0}, None),
        ("settings", "", {"stock": 0, "tuned": 0}, None),
        ("nodes", "", {"4": 0}, None),
        ("nodes", "", {"4": 0, "4.0": 0}, None),
    ],
)
def test_which_factors_count(
    factor: str, path: str, values: dict[str, object], expected: object
) -> None:
    assert level_counts(factor, treatments(factor, path, values)) == expected


# -- speed-up --------------------------------------------------------------------------


def scaled(trial: Trial) -> Trial:
    """Every phase as long as Gunther's law has it for the number of workers."""
    n = float(trial.treatment.levels["workers"])
    factor = (1 + SERIAL * (n - 1) + COHERENCY * n * (n - 1)) / n
    phases = [p.model_copy(update={"elapsed_s": p.elapsed_s * factor}) for p in trial.phases]
    return trial.model_copy(update={"phases": phases})


def analysed(path: Path, **plan: object) -> Analysis:
    given = {"factor": "workers", "effect": 0.0, "write_samples": False, "edit": scaled, **plan}
    return analyse(read_results(study_folder(path, Plan(**given))))  # type: ignore[arg-type]


def total(analysis: Analysis) -> Scaling:
    (found,) = (s for s in analysis.once(scalings) if s.phase == "total")
    return found


def test_speed_up_and_efficiency_against_the_smallest_level(tmp_path: Path) -> None:
    found = total(analysed(tmp_path, trials=15, levels=("8", "2", "4")))
    base, _, last = found.points

    assert [point.count for point in found.points] == [2, 4, 8]
    assert (base.speed_up, base.efficiency, base.low) == (1.0, 1.0, None)
    truth = (1 + SERIAL + COHERENCY * 2) / 2 / ((1 + SERIAL * 7 + COHERENCY * 56) / 8)
    assert last.low is not None
    assert last.high is not None
    assert last.low < truth < last.high
    assert last.efficiency == pytest.approx(last.speed_up / 4)
    assert found.amdahl is not None
    assert found.usl is None, "three levels are too few"


def test_one_trial_a_level_has_no_interval(tmp_path: Path) -> None:
    found = total(analysed(tmp_path, trials=3, levels=("1", "2", "4")))
    assert found.points[1].low is None
    section = scaling_section.section(analysed(tmp_path / "b", trials=2, levels=("1", "2")))
    assert section is not None
    assert section.lead.endswith(f"{INTERVALS_UNKNOWN.capitalize()}.")
    assert "interval unknown" not in str((section.said, section.tables))
    assert "2 levels are too few for a fit" in section.said[0]


def test_other_factors_are_held_at_their_levels(tmp_path: Path) -> None:
    found = analysed(
        tmp_path, trials=12, levels=("1", "2"), extra_factors={"net": ("slow", "fast")}
    )
    assert [s.others for s in found.once(scalings) if s.phase == "total"] == [
        {"net": "slow"},
        {"net": "fast"},
    ]


def test_the_section_says_where_it_stops_paying(tmp_path: Path) -> None:
    levels = ("1", "2", "4", "8", "16", "32")
    section = scaling_section.section(analysed(tmp_path, trials=30, levels=levels))
    assert section is not None
    (said,) = section.said

    assert "workers, terasort: 1 -> 32 (32.0 times as many) is" in said
    assert "a doubling increases the speed by less than 10 % (USL)" in said
    assert "beyond the measured levels" not in said, "both ends of the doubling are measured"
    assert "by the USL the time is shortest at 2" in said
    json.dumps(section.data, allow_nan=False)


def ideal(trial: Trial) -> Trial:
    """Every phase takes its time divided by the number of workers."""
    n = float(trial.treatment.levels["workers"])
    phases = [p.model_copy(update={"elapsed_s": p.elapsed_s / n}) for p in trial.phases]
    return trial.model_copy(update={"phases": phases})


def test_a_limit_that_was_not_found_has_its_lower_bound(tmp_path: Path) -> None:
    levels = ("4", "8", "16")
    analysis = analysed(tmp_path, trials=9, levels=levels, edit=ideal, noise=0.06)
    law = total(analysis).amdahl
    assert law is not None
    stop = law.stops_paying(DOUBLING_PAYS)
    assert stop.value > 64 * 16 > stop.low > 16, "unknown, but a bound is known"

    section = scaling_section.section(analysis)
    assert section is not None
    assert "every doubling up to" not in section.said[0]
    assert (
        "up to 1,024 no limit was found from which a doubling increases the speed by less than "
        f"10 %; it may be as low as {digits(stop.low)} (95 %, Amdahl, beyond the measured levels)"
    ) in section.said[0]


def test_a_limit_beyond_the_extrapolation_is_stated_with_confidence(tmp_path: Path) -> None:
    levels = ("4", "8", "16")
    analysis = analysed(tmp_path, trials=9, levels=levels, edit=ideal, noise=1e-6)
    section = scaling_section.section(analysis)
    assert section is not None
    assert "every doubling up to 1,024 increases the speed by 10 % or more" in section.said[0]


def test_a_study_without_a_counting_factor_has_no_section(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, trials=4, factor="settings", edit=None)
    assert scaling_section.section(analysis) is None
