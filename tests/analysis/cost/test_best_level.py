"""Who wins: the known best level is named, and ties are said to be ties."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import tukey_hsd

from windtunnel.analysis.cost.best_level import _spans, _winner, alone
from windtunnel.analysis.effects.cells import Sample
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
    assert alone(study, "cpu") == {"a": "t1", "b": "t2", "c": "t3"}
    assert alone(study, "net") == {"1": "t3", "10": "t4"}
