"""Who wins: the known best level is named, and ties are said to be ties."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import tukey_hsd

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.cost.best_level import _spans, _winner, _winners, alone
from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.report.sections.winners import section
from windtunnel.results.record import ProtocolRecord, StudyRecord, Treatment

ABOUT = ("cpu", "terasort", "elapsed", "time")


def _samples(**levels: list[float]) -> dict[str, Sample]:
    return {level: Sample("s", values) for level, values in levels.items()}


def test_the_best_of_three_is_clear() -> None:
    found = _winner(ABOUT, _samples(slow=[130, 131, 129], fast=[100, 101, 99], mid=[115, 114, 116]))
    assert found.level == "fast"
    assert [rival.level for rival in found.rivals] == ["mid", "slow"]
    assert found.tied == []
    assert found.rivals[1].ratio == pytest.approx(1.30, abs=0.001)


def test_a_tie_is_a_tie() -> None:
    found = _winner(ABOUT, _samples(a=[100, 110, 105], b=[102, 112, 106], c=[150, 152, 149]))
    assert found.tied == ["b"]
    assert found.rivals[1].distinguishable


def test_one_trial_each_tells_no_winner_apart() -> None:
    found = _winner(ABOUT, _samples(a=[100], b=[120], c=[150]))
    assert found.level == "a"
    assert found.tied == ["b", "c"]
    assert all(rival.low is None for rival in found.rivals)


def test_a_single_trial_of_a_rival_is_of_unknown_spread() -> None:
    found = _winner(ABOUT, _samples(a=[100, 101, 99], b=[120], c=[150, 152, 149]))
    assert {r.level: r.low is None for r in found.rivals} == {"b": True, "c": False}


def test_a_metric_with_a_value_of_0_has_no_best_level() -> None:
    study = StudyRecord(
        id="s",
        name="s",
        testbed="t",
        created_at=0,
        fingerprint="f",
        factors={"cpu": ["a", "b", "c"]},
        baseline={"cpu": "a"},
        treatments=[Treatment(id=level, levels={"cpu": level}) for level in "abc"],
        protocol=ProtocolRecord(rounds=1, seed=1, trial_time_limit_s=1),
    )
    values = {"elapsed": [3.0, 2.0, 1.0], "cpu_time": [0.0, 2.0, 1.0]}
    table: dict[Key, Sample] = {
        (level, "pi", "total", metric): Sample("s", [each])
        for metric, several in values.items()
        for level, each in zip("abc", several, strict=True)
    }
    assert [each.metric for each in _winners(study, table, ["pi"])] == ["elapsed"]


VALUES = st.lists(st.floats(50, 150), min_size=2, max_size=9)


@settings(max_examples=25, deadline=None)
@given(groups=st.lists(VALUES, min_size=3, max_size=5))
def test_intervals_are_those_of_tukey(groups: list[list[float]]) -> None:
    """With as many trials each and with different numbers of them."""
    assume(any(max(g) > min(g) + 1 for g in groups))
    groups.sort(key=lambda g: sum(map(math.log, g)) / len(g))
    spans = _spans(groups)
    wanted = tukey_hsd(*[[math.log(v) for v in g] for g in groups]).confidence_interval(0.95)
    for place in range(1, len(groups)):
        low, high = (math.exp(side[place, 0]) for side in (wanted.low, wanted.high))
        assert spans[place] == pytest.approx((low, high), rel=1e-6)


def test_levels_are_compared_with_all_else_equal() -> None:
    def treatment(id_: str, cpu: str, net: str) -> Treatment:
        return Treatment(id=id_, levels={"cpu": cpu, "net": net})

    study = StudyRecord(
        id="s",
        name="s",
        testbed="t",
        created_at=0,
        fingerprint="f",
        factors={"cpu": ["a", "b", "c"], "net": ["1", "10"]},
        baseline={"cpu": "c", "net": "10"},
        treatments=[
            treatment("t1", "a", "1"),
            treatment("t2", "b", "1"),
            treatment("t3", "c", "1"),
            treatment("t4", "c", "10"),
        ],
        protocol=ProtocolRecord(rounds=1, seed=1, trial_time_limit_s=1),
    )
    assert alone(study, "cpu") == ((("net", "1"),), {"a": "t1", "b": "t2", "c": "t3"})
    assert alone(study, "net") == ((("cpu", "c"),), {"1": "t3", "10": "t4"})


def test_the_group_at_the_baseline_is_compared_and_levels_without_a_value_are_named() -> None:
    grid = [(net, disks) for net in ("1", "10") for disks in ("6", "12", "24", "48")]
    study = StudyRecord(
        id="s",
        name="s",
        testbed="t",
        created_at=0,
        fingerprint="f",
        factors={"net": ["1", "10"], "disks": ["6", "12", "24", "48"]},
        baseline={"net": "10", "disks": "6"},
        treatments=[Treatment(id=f"{n}-{d}", levels={"net": n, "disks": d}) for n, d in grid],
        protocol=ProtocolRecord(rounds=2, seed=1, trial_time_limit_s=1),
    )
    at_1 = {"6": 300.0, "12": 315.0, "24": 330.0, "48": 345.0}
    at_10 = {"6": 200.0, "12": 120.0, "24": 70.0}  # 48 has no valid trial
    times = {**{f"1-{d}": s for d, s in at_1.items()}, **{f"10-{d}": s for d, s in at_10.items()}}
    table: dict[Key, Sample] = {
        (id_, "sort", "total", "elapsed"): Sample("s", [s, s * 1.01], [1, 2])
        for id_, s in times.items()
    }
    (found,) = _winners(study, table, ["sort"])

    assert (found.factor, found.level) == ("disks", "24")
    assert found.others == (("net", "10"),)
    assert found.missing == ("48",)
    analysis = cast(Analysis, SimpleNamespace(once=lambda _: [found]))
    shown = section(analysis)
    assert shown is not None
    assert shown.said == [
        "disks at net 10, sort, time: 24 is best (70.3 s, n = 2); all other levels are higher, "
        "the next is 12 with +71 % [+66, +77]; not compared, because a value is missing: 48"
    ]
    assert shown.tables[0].rows[0][0] == "sort: time at net 10"
    assert shown.tables[0].rows[-1] == ["", "48", "unknown", "not compared"]
