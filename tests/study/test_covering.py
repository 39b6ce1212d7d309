"""What is looked at of a plan that is too long to build whole."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.results.record import Treatment
from windtunnel.study.covering import FEW, covering


def factorial(counts: list[int]) -> list[Treatment]:
    runs = itertools.product(*(range(count) for count in counts))
    return [
        Treatment(id="-".join(map(str, run)), levels={f"f{i}": str(v) for i, v in enumerate(run)})
        for run in runs
    ]


def pairs(treatments: list[Treatment]) -> set[object]:
    return {pair for t in treatments for pair in itertools.combinations(t.levels.items(), 2)}


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(2, 9), min_size=2, max_size=4))
def test_every_pair_of_levels_is_looked_at(counts: list[int]) -> None:
    treatments = factorial(counts)
    chosen = covering(treatments)

    assert pairs(chosen) == pairs(treatments)
    assert chosen == covering(treatments), "always the same"
    assert all(one in treatments for one in chosen)
    if len(treatments) <= FEW:
        assert chosen == treatments


def test_few_of_ten_thousand_are_enough() -> None:
    chosen = covering(factorial([10, 10, 10, 10]))

    assert 100 <= len(chosen) <= 200


def test_of_a_single_factor_all_levels_are_looked_at() -> None:
    assert len(covering(factorial([500]))) == 500
