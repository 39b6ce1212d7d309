"""How many trials it takes: against published tables, and at the edges."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.mock import plan_from
from windtunnel.analysis.statistics.summary import Contrast
from windtunnel.errors import StudyStoppedError
from windtunnel.results.record import Phase, Treatment, Trial, Verdict
from windtunnel.study.plan import Plan
from windtunnel.study.sample_size import (
    ALPHA,
    comparisons_of,
    decide,
    detectable,
    noise_of,
    trials_needed,
)


def trial(
    seconds: float, treatment: str = "a", number: int = 1, *, valid: bool = True, load: str = "t"
) -> Trial:
    phase = Phase(name="p", started_at=0, finished_at=seconds, elapsed_s=seconds, wall_s=seconds)
    return Trial(
        id=f"{number}-{treatment}-{seconds}",
        study_id="s",
        testbed="mock",
        workload=load,
        treatment=Treatment(id=treatment),
        round=number,
        position=1,
        started_at=0,
        finished_at=seconds,
        verdict=Verdict(valid=valid),
        phases=[phase],
    )


def plan(detect: str = "10 %", pilot: int = 3, most: int = 20) -> Plan:
    return plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 9, input_replication: 1, output_replication: 1}}\n"
        "factors: {settings.a: [1, 2]}\ndesign: ab\n"
        f"protocol: {{detect: {detect}, pilot_rounds: {pilot}, max_rounds: {most}}}\n"
    )


# -- noise -------------------------------------------------------------------------------


def test_noise_is_the_spread_within_treatments_and_not_between_them() -> None:
    steps = [math.exp(0.03), 1.0, math.exp(-0.03)]
    alike = [trial(10 * s, "a") for s in steps] + [trial(10 * s, "b") for s in steps]
    apart = [trial(10 * s, "a") for s in steps] + [trial(99 * s, "b") for s in steps]

    (noise,) = noise_of(apart)
    assert noise.sd_log == pytest.approx(0.03)
    assert (noise.degrees_of_freedom, noise.trials) == (4, 6)
    assert noise_of(alike)[0].sd_log == pytest.approx(noise.sd_log)


def test_invalid_and_warm_up_trials_tell_nothing_of_the_noise() -> None:
    kept = [trial(10.0), trial(11.0)]
    other = [trial(99.0, valid=False), trial(55.0, number=0)]

    assert noise_of(kept + other) == noise_of(kept)


def test_single_trials_have_no_noise_that_is_known() -> None:
    assert noise_of([]) == []
    assert noise_of([trial(10.0, "a"), trial(11.0, "b")]) == []


# -- sample size -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "power", "needed"),
    # Cohen, Statistical Power Analysis (1988), table 2.4.1, two-sided 0.05
    [(0.2, 0.80, 394), (0.5, 0.80, 64), (0.8, 0.80, 26), (0.5, 0.90, 86), (0.8, 0.90, 34)],
)
def test_the_sample_size_is_that_of_the_tables(effect: float, power: float, needed: int) -> None:
    assert trials_needed(0.1, math.expm1(effect * 0.1), power) == pytest.approx(needed, abs=1)


def test_no_spread_needs_two_trials_and_endless_spread_more_than_a_million() -> None:
    assert trials_needed(0.0, 0.05, 0.8) == 2
    assert trials_needed(1e-9, 0.05, 0.8) == 2
    assert trials_needed(50.0, 0.001, 0.8) is None


@settings(deadline=None, max_examples=30)
@given(st.floats(0.005, 0.3), st.floats(0.02, 0.5))
def test_the_detectable_difference_at_the_needed_number_is_what_was_asked(
    sd: float, detect: float
) -> None:
    needed = trials_needed(sd, detect, 0.8)
    assert needed is not None
    least = detectable(sd, needed, 0.8)
    assert least is not None and least <= detect * 1.0001
    if needed > 2:
        fewer = detectable(sd, needed - 1, 0.8)
        assert fewer is None or fewer > detect * 0.9999


@settings(deadline=None, max_examples=20)
@given(st.floats(0.01, 0.2), st.floats(1.05, 3))
def test_more_noise_never_needs_fewer_trials(sd: float, more: float) -> None:
    assert (trials_needed(sd, 0.05, 0.8) or 0) <= (trials_needed(sd * more, 0.05, 0.8) or 10**9)


def test_the_correction_for_several_comparisons_is_planned() -> None:
    """Eleven levels: the report corrects for ten comparisons."""
    assert comparisons_of({"a": [str(level) for level in range(11)], "b": ["only"]}) == 10
    assert comparisons_of({}) == 1
    one, ten = (trials_needed(0.03, 0.05, 0.8, count) for count in (1, 10))
    assert one is not None and ten is not None and ten > one
    least = detectable(0.03, ten, 0.8, 10)
    assert least is not None and least <= 0.05 * 1.0001
    assert (detectable(0.03, one, 0.8, 10) or 0) > 0.06
    # the same number as in the report
    seen = Contrast(0.0, 0.03 * math.sqrt(2 / ten), 2 * ten - 2).detectable(1 - ALPHA / 10)
    assert seen is not None and least == pytest.approx(math.expm1(seen), rel=1e-3)


def test_the_decision_states_the_correction() -> None:
    several = replace(plan(), factors={"a": ["1", "2", "3"], "b": ["1", "2"]})
    found = decide(several, "s", pilot(0.05))

    assert found.alpha == pytest.approx(0.05 / 3)
    assert found.needed == trials_needed(0.05, 0.1, 0.8, 3)
    assert "with a power of 80 % after correction for 3 comparisons at this noise" in found.text
    assert "correction" not in decide(plan(), "s", pilot(0.05)).text


# -- the decision ------------------------------------------------------------------------


def pilot(sd: float, effect: float = 1.0) -> list[Trial]:
    """Three rounds of two treatments with exactly this spread."""
    steps = [math.exp(sd), 1.0, math.exp(-sd)]
    return [
        trial(base * step, treatment, number + 1)
        for treatment, base in (("a", 10.0), ("b", 10.0 * effect))
        for number, step in enumerate(steps)
    ]


def test_the_decision_says_what_it_rests_on() -> None:
    found = decide(plan(), "s", pilot(0.05))

    assert found.sd_log == pytest.approx(0.05)
    assert found.needed == found.rounds == trials_needed(0.05, 0.1, 0.8)
    assert "at this noise (sd 5 %, 6 trials of t)" in found.text
    # a round is two trials of ten seconds
    assert f"you need {found.needed} trials per treatment, about" in found.text
    assert found.detectable is not None and found.detectable <= 0.1


@given(st.floats(0.1, 10))
@settings(deadline=None, max_examples=20)
def test_the_decision_never_looks_at_the_difference(effect: float) -> None:
    found = decide(plan(), "s", pilot(0.05, effect))

    assert found.needed == decide(plan(), "s", pilot(0.05)).needed


def test_too_much_noise_is_said_with_what_can_be_seen_all_the_same() -> None:
    found = decide(plan(detect="2 %", most=10), "s", pilot(0.05))

    assert found.capped
    assert found.rounds == 10
    assert found.needed is not None and found.needed > 10
    assert found.detectable is not None and found.detectable > 0.02
    assert "the protocol allows 10, which detect differences of" in found.text


def test_a_quiet_pilot_is_enough_by_itself() -> None:
    found = decide(plan(), "s", pilot(0.001))

    assert (found.rounds, found.capped) == (3, False)
    assert "the 3 of the pilot are enough" in found.text


def test_a_pilot_without_any_spread_says_so() -> None:
    found = decide(plan(), "s", pilot(0.0))

    assert (found.needed, found.rounds, found.detectable) == (2, 3, None)
    assert "no spread" in found.text


def test_later_rounds_do_not_count_for_the_decision() -> None:
    later = [trial(99.0, "a", 4), trial(1.0, "b", 5)]

    assert decide(plan(), "s", pilot(0.05) + later).sd_log == pytest.approx(0.05)


def test_the_noisiest_workload_decides() -> None:
    quiet = [t.model_copy(update={"workload": "quiet"}) for t in pilot(0.01)]

    assert decide(plan(), "s", quiet + pilot(0.05)).workload == "t"


def test_a_pilot_without_two_valid_trials_of_a_cell_decides_nothing() -> None:
    with pytest.raises(
        StudyStoppedError, match="the noise and the number of rounds are unknown"
    ) as caught:
        decide(plan(), "s", [trial(10.0, "a"), trial(11.0, "b"), trial(12.0, "a", valid=False)])

    assert "--retry-invalid" in caught.value.remedy
