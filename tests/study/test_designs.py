"""Designs: balanced, orthogonal, with the baseline in them, honest about what they mix up."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.mock import plan_from
from windtunnel.errors import DescriptionError
from windtunnel.study.designs import DESIGNS, Combination
from windtunnel.study.designs.aliases import alias_lines
from windtunnel.study.designs.base import to_signs

HEAD = """\
study: toy
cluster: local-3
workloads:
  terasort: {rows: 1000, input_replication: 1, output_replication: 1}
"""


def two_level(count: int) -> dict[str, list[str]]:
    return {f"f{i}": ["low", "high"] for i in range(count)}


def runs_of(kind: str, labels: dict[str, list[str]], **options: object) -> list[Combination]:
    design = DESIGNS[kind].model_validate({"kind": kind, **options})
    return design.combinations(labels, {name: given[0] for name, given in labels.items()})


def confounded(kind: str, count: int, **options: object) -> list[str]:
    labels = two_level(count)
    design = DESIGNS[kind].model_validate({"kind": kind, **options})
    return design.confounded(labels, runs_of(kind, labels, **options))


def assert_orthogonal(labels: dict[str, list[str]], runs: list[Combination]) -> None:
    """Every level equally often, and every pair of levels of two factors, too."""
    for name, given_ in labels.items():
        assert set(Counter(run[name] for run in runs).values()) == {len(runs) // len(given_)}
    for a, b in itertools.combinations(labels, 2):
        pairs = Counter((run[a], run[b]) for run in runs)
        assert len(pairs) == len(labels[a]) * len(labels[b])
        assert len(set(pairs.values())) == 1


sizes = st.lists(st.integers(2, 4), min_size=1, max_size=4)


@given(sizes)
def test_a_full_factorial_has_every_combination_once(counts: list[int]) -> None:
    labels = {f"f{i}": [str(n) for n in range(count)] for i, count in enumerate(counts)}
    runs = runs_of("full-factorial", labels)

    assert len({tuple(run.values()) for run in runs}) == len(runs) == int(np.prod(counts))
    assert_orthogonal(labels, runs)


@given(sizes, st.data())
def test_one_factor_at_a_time_changes_one_factor_at_a_time(
    counts: list[int], data: st.DataObject
) -> None:
    labels = {f"f{i}": [str(n) for n in range(count)] for i, count in enumerate(counts)}
    baseline = {name: data.draw(st.sampled_from(given_)) for name, given_ in labels.items()}
    design = DESIGNS["one-factor-at-a-time"].model_validate({"kind": "one-factor-at-a-time"})
    runs = design.combinations(labels, baseline)

    changed = [sum(run[name] != baseline[name] for name in run) for run in runs]
    assert changed == [0] + [1] * (sum(counts) - len(counts))
    assert len({tuple(run.values()) for run in runs}) == len(runs)


@pytest.mark.parametrize("count", [*range(2, 24), 28, 31])
def test_a_plackett_burman_design_is_orthogonal_and_small(count: int) -> None:
    labels = two_level(count)
    runs = runs_of("plackett-burman", labels)

    assert_orthogonal(labels, runs)
    assert count < len(runs) <= count + 4
    assert dict.fromkeys(labels, "low") in runs
    assert len({tuple(run.values()) for run in runs}) == len(runs)


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 10), st.integers(3, 6))
def test_a_fraction_has_the_resolution_that_was_asked_for(count: int, resolution: int) -> None:
    labels = two_level(count)
    if resolution > count:
        with pytest.raises(DescriptionError, match="no fraction of"):
            runs_of("fractional-factorial", labels, resolution=resolution)
        return
    runs = runs_of("fractional-factorial", labels, resolution=resolution)
    signs = to_signs(labels, runs)

    assert len(runs) < 2**count
    assert dict.fromkeys(labels, "low") in runs
    assert_orthogonal(labels, runs)
    # no product of fewer columns than the resolution is constant
    for size in range(1, resolution):
        for columns in itertools.combinations(range(count), size):
            assert abs(signs[:, columns].prod(axis=1).sum()) < len(runs)


def test_resolution_five_of_eight_factors_takes_sixty_four_treatments() -> None:
    """32 runs, which generators of four letters each would give, have resolution 4 only."""
    assert len(runs_of("fractional-factorial", two_level(8), resolution=5)) == 64
    assert len(runs_of("fractional-factorial", two_level(5), resolution=5)) == 16


def test_generators_are_taken_as_they_are_written() -> None:
    labels = two_level(3)
    plus = runs_of("fractional-factorial", labels, generators="a b ab")
    minus = runs_of("fractional-factorial", labels, generators="a b -ab")

    assert (
        to_signs(labels, plus)[:, :2].prod(axis=1).tolist() == to_signs(labels, plus)[:, 2].tolist()
    )
    assert not {tuple(r.values()) for r in plus} & {tuple(r.values()) for r in minus}


def test_ab_is_the_baseline_and_the_other_level() -> None:
    design = DESIGNS["ab"].model_validate({"kind": "ab"})

    assert design.combinations({"v": ["x", "y"]}, {"v": "y"}) == [{"v": "y"}, {"v": "x"}]


# -- what cannot be told apart -----------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_whole_factorial_mixes_nothing_up(count: int) -> None:
    labels = two_level(count)

    assert alias_lines(to_signs(labels, runs_of("full-factorial", labels)), list(labels)) == []
    assert confounded("full-factorial", count) == []


def test_a_half_fraction_of_three_factors_aliases_main_effects_with_interactions() -> None:
    lines = confounded("fractional-factorial", 3, generators="a b ab")

    assert lines == ["f0 = f1:f2", "f1 = f0:f2", "f2 = f0:f1"]
    turned = confounded("fractional-factorial", 3, generators="a b -ab")
    assert turned == ["f0 = -f1:f2", "f1 = -f0:f2", "f2 = -f0:f1"]


def test_resolution_four_aliases_interactions_with_each_other_only() -> None:
    lines = confounded("fractional-factorial", 4, resolution=4)

    assert sorted(lines) == sorted(["f0:f1 = f2:f3", "f0:f2 = f1:f3", "f0:f3 = f1:f2"])
    assert confounded("fractional-factorial", 5, resolution=5) == []


def test_plackett_burman_of_eight_runs_is_a_regular_fraction() -> None:
    lines = confounded("plackett-burman", 7)

    assert len(lines) == 7
    assert all(line.count("=") == 3 for line in lines), "each with three interactions"


def test_plackett_burman_of_twelve_runs_mixes_a_third_of_every_other_interaction() -> None:
    lines = confounded("plackett-burman", 11)

    assert (
        "f0 contains 1/3 of each of the 45 two-factor interactions of the other factors, "
        "added or subtracted" in lines
    )
    assert len(lines) == 12
    assert lines[-1].startswith("two-factor interactions are partially aliased with each other")


@given(st.integers(2, 11), st.data())
@settings(deadline=None, max_examples=25)
def test_a_made_up_interaction_turns_up_in_the_main_effects_that_are_named(
    count: int, data: st.DataObject
) -> None:
    """The lines against data: y is one interaction and nothing else."""
    labels = two_level(count)
    names = list(labels)
    a, b = sorted(
        data.draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=2, unique=True))
    )
    signs = to_signs(labels, runs_of("plackett-burman", labels))
    y = signs[:, a] * signs[:, b]
    lines = alias_lines(signs, names)

    for i, name in enumerate(names):
        estimate = abs(float(signs[:, i] @ y)) / len(y)
        own = [line for line in lines if line.split()[0] == name]
        whole = any(f"{names[a]}:{names[b]}" in line.replace("-", "").split(" = ") for line in own)
        assert whole == (estimate > 0.999)
        if 0.001 < estimate < 0.999:
            assert any(" contains 1/" in line for line in own)


def test_one_factor_at_a_time_says_that_interactions_are_lost() -> None:
    plan = plan_from(
        HEAD + "factors: {hosts.worker.count: [3, 4, 5], settings.a: [1, 2], settings.b: [1, 2]}\n"
        "design: one-factor-at-a-time\n"
    )

    assert len(plan.design.confounded) == 1
    assert (
        "interactions cannot be estimated (hosts.worker.count:settings.a, "
        "hosts.worker.count:settings.b, settings.a:settings.b)"
    ) in plan.design.confounded[0]


def test_signs_are_counted_from_the_baseline_and_not_from_the_first_level() -> None:
    factors = "factors: {settings.a: [1, 2], settings.b: [1, 2], settings.c: [1, 2]}\n"
    design = "design: {kind: fractional-factorial, resolution: 3}\n"
    first = plan_from(HEAD + factors + design)
    second = plan_from(HEAD + factors + design + "baseline: {settings.a: 2}\n")

    assert first.design.confounded == second.design.confounded
    assert second.baseline in [t.levels for t in second.treatments]


def test_the_record_holds_the_design_with_its_options() -> None:
    plan = plan_from(
        HEAD + "factors: {settings.a: [1, 2], settings.b: [1, 2], settings.c: [1, 2]}\n"
        "design: {kind: fractional-factorial, generators: a b -ab}\n"
    )

    assert plan.design.kind == "fractional-factorial"
    assert plan.design.options == {"generators": "a b -ab"}
    assert len(plan.treatments) == 4


# -- what is refused ---------------------------------------------------------------------

THREE = "factors: {settings.a: [1, 2, 3], settings.b: [1, 2], settings.c: [1, 2]}\n"
TWO = "factors: {settings.a: [1, 2], settings.b: [1, 2], settings.c: [1, 2]}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (THREE + "design: plackett-burman", "the factor 'settings.a' has 3 levels"),
        (THREE + "design: {kind: fractional-factorial, resolution: 3}", "has 3 levels"),
        (TWO + "design: {kind: fractional-factorial, resolution: 4}", "no fraction of 3"),
        (TWO + "design: {kind: fractional-factorial, generators: a b}", "2 generators for 3"),
        (
            TWO + "design: {kind: fractional-factorial, generators: a b a}",
            "define no design",
        ),
        (
            TWO + "design: {kind: fractional-factorial, generators: a b cd}",
            "the letter 'c' is not the word of a factor",
        ),
        (TWO + "design: {kind: fractional-factorial, generators: a b aa}", "would never change"),
        (TWO + "design: ab", "needs one factor with two levels"),
        ("design: ab", "the study has no factor"),
        ("factors: {settings.a: [1, 2]}\ndesign: plackett-burman", "at least two factors"),
    ],
)
def test_factors_that_do_not_suit_the_design_are_refused_at_its_line(text: str, says: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        plan_from(HEAD + text + "\n")

    assert says in caught.value.render()
    assert caught.value.key == "design"
    assert caught.value.line == (HEAD + text).count("\n") + 1
    assert caught.value.remedy


def test_there_is_no_plackett_burman_design_for_some_numbers_of_factors() -> None:
    with pytest.raises(DescriptionError, match="no Plackett-Burman design for 24") as caught:
        runs_of("plackett-burman", two_level(24))

    assert "2 to 23" in caught.value.remedy


def test_too_many_combinations_are_refused_before_they_are_built() -> None:
    many = {f"f{i}": [str(n) for n in range(10)] for i in range(7)}
    with pytest.raises(DescriptionError, match="10,000,000 combinations; at most 20,000") as caught:
        runs_of("full-factorial", many)
    assert "one-factor-at-a-time" in caught.value.remedy
    assert len(runs_of("one-factor-at-a-time", many)) == 64

    letters = "a b c d e f g h i j k l m n o"
    with pytest.raises(DescriptionError, match="32,768 combinations"):
        runs_of("fractional-factorial", two_level(15), generators=letters)


def test_too_many_combinations_are_reported_at_the_factors() -> None:
    levels = ", ".join(f"settings.f{i}: {list(range(10))}" for i in range(5))
    with pytest.raises(DescriptionError) as caught:
        plan_from(f"{HEAD}factors: {{{levels}}}\n")
    assert (caught.value.key, caught.value.line) == ("factors", 5)
