"""The number of rounds that a difference of the measured size needs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.analysis.effects.effects import Effect, effect
from windtunnel.analysis.effects.rounds import MOST_ROUNDS, rounds_needed

ABOUT = ("storage", "cephfs", "hdfs", "terasort", "total", "elapsed", "s")


def made(level: list[float], baseline: list[float]) -> Effect:
    return effect(ABOUT, [(level, baseline)])


@given(
    st.lists(st.floats(80, 120), min_size=2, max_size=6, unique=True),
    st.lists(st.floats(80, 120), min_size=2, max_size=6, unique=True),
)
def test_it_is_more_than_the_present_number_if_nothing_was_detected(
    level: list[float], baseline: list[float]
) -> None:
    e = made(level, baseline)
    rounds = rounds_needed(e)
    if rounds is not None and not e.distinguishable:
        assert rounds > min(e.n, e.n_baseline)


def test_so_many_rounds_detect_the_difference_in_four_of_five_studies() -> None:
    """5 % of noise and an effect of 5 %: simulated studies of the computed size."""
    noise, size = 0.05, math.log(1.05)
    e = made(
        [105.0 * math.exp(noise * z) for z in (-1, 1, 0)],
        [100 * math.exp(noise * z) for z in (-1, 1, 0)],
    )
    assert e.relative == pytest.approx(0.05)
    rounds = rounds_needed(e)
    assert rounds is not None
    random = np.random.default_rng(3)
    detected = [
        made(
            list(np.exp(size + noise * random.standard_normal(int(rounds)))),
            list(np.exp(noise * random.standard_normal(int(rounds)))),
        ).distinguishable
        for _ in range(400)
    ]
    assert 0.72 < sum(map(bool, detected)) / 400 < 0.88


def test_it_is_unknown_with_one_trial_and_without_bound_without_a_difference() -> None:
    assert rounds_needed(made([90.0], [100.0])) is None
    same = made([90.0, 110.0], [110.0, 90.0])
    assert rounds_needed(same) == math.inf > MOST_ROUNDS
