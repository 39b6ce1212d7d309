"""The analysis of variance against sums of squares worked out in another way."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from tests.support.truth_anova import WHERE, factorial, study_of, table_of
from windtunnel.analysis.effects.anova import ANY, HIGHER, Anova, anova, one_at_a_time
from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.analysis.effects.effects import effects
from windtunnel.analysis.effects.ranking import first_place, led_by, rankings, said
from windtunnel.results.record import StudyRecord, Treatment

EFFECTS = {("a",): 0.2, ("b",): 0.05, ("a", "b"): 0.04}


def made(
    rounds: int = 3, noise: float = 0.02, seed: int = 1, by_round: float = 0.0
) -> tuple[StudyRecord, dict[Key, Sample]]:
    study = factorial()
    rng = np.random.default_rng(seed)
    return study, table_of(study, EFFECTS, rounds, noise, rng, by_round)


def by_name(found: Anova):
    return {term.name: term for term in found.terms}


def test_sums_of_squares_of_a_balanced_design_by_contrasts():
    study, table = made()
    found = anova(study, table, *WHERE)
    assert found is not None
    terms = by_name(found)
    for names in (("a",), ("b",), ("c",), ("a", "b"), ("b", "c")):
        total = 0.0
        for t in study.treatments:
            sign = math.prod(1 if t.levels[f] == "1" else -1 for f in names)
            total += sign * sum(math.log(v) for v in table[(t.id, *WHERE, "elapsed")].values)
        assert terms[" x ".join(names)].sum_sq == pytest.approx(total**2 / 24, rel=1e-6)
    whole = terms["a"]
    assert whole.p == pytest.approx(scipy_stats.f.sf(whole.f, 1, found.error_df), rel=1e-6)
    assert found.terms[0].name == "a"
    assert (found.error_df, found.blocks_df, found.error_from) == (14, 2, "repetition")
    assert HIGHER in terms


def test_what_all_trials_of_a_round_share_changes_nothing():
    study, table = made()
    calm = anova(study, table, *WHERE)
    moved = {
        key: replace(s, values=[v * (1 + 0.2 * i) for i, v in enumerate(s.values)])
        for key, s in table.items()
    }
    drifting = anova(study, moved, *WHERE)
    assert calm is not None
    assert drifting is not None
    assert drifting.error == pytest.approx(calm.error)
    assert [t.share for t in drifting.terms] == pytest.approx([t.share for t in calm.terms])
    assert drifting.blocks_sum_sq > 100 * calm.error


def test_without_repetition_the_error_comes_from_higher_interactions():
    found = anova(*made(rounds=1), *WHERE)
    assert found is not None
    assert found.error_from == "interactions"
    assert found.error_df == 1
    assert HIGHER not in by_name(found)


def test_nothing_left_over_gives_no_table_but_a_ranking_by_range():
    study = factorial(factors=("a", "b"))
    table = table_of(study, EFFECTS, 1, 0.01, np.random.default_rng(1))
    assert anova(study, table, *WHERE) is None
    (ranking,) = rankings(study, table, effects(study, table), {"terasort": ["total"]})
    assert ranking.tables == []
    assert "no repetition" in ranking.why
    assert [entry.name for entry in ranking.entries] == ["a", "b"]


def test_a_missing_treatment_gives_no_table():
    study, table = made()
    del table[("0-0-0", *WHERE, "elapsed")]
    assert anova(study, table, *WHERE) is None


def test_equal_numbers_give_no_interval_instead_of_a_wrong_one():
    study = factorial()
    table = table_of(study, EFFECTS, 2, 0.0, np.random.default_rng(1))
    found = anova(study, table, *WHERE)
    assert found is not None
    assert by_name(found)["a"].share_low is None
    assert by_name(found)["a"].share == pytest.approx(0.04 / 0.0441, rel=1e-3)


def fraction():
    """The half of a 2^4 in which d = a b c: interactions of two are mixed with each other."""
    rows = [
        (a, b, c, str((int(a) + int(b) + int(c) + 1) % 2))
        for a, b, c in itertools.product("01", repeat=3)
    ]
    names = ("a", "b", "c", "d")
    treatments = [Treatment(id="-".join(r), levels=dict(zip(names, r, strict=True))) for r in rows]
    study = study_of(treatments, {name: ["0", "1"] for name in names})
    design = study.design.model_copy(update={"confounded": ["a:b = c:d"]})
    return study.model_copy(update={"design": design})


def test_a_fraction_has_main_effects_and_says_what_it_mixes():
    study = fraction()
    table = table_of(study, {("a",): 0.2, ("d",): -0.1}, 5, 0.03, np.random.default_rng(2))
    found = anova(study, table, *WHERE)
    assert found is not None
    assert not found.interactions
    assert set(by_name(found)) == {"a", "b", "c", "d", ANY}
    every = effects(study, table)
    assert {e.comparison for e in every} == {"main effect"}
    a = next(e for e in every if e.factor == "a")
    assert a.matched == 4
    assert a.ci_low is not None
    assert a.ci_high is not None
    assert a.ci_low < math.expm1(0.4) < a.ci_high
    (ranking,) = rankings(study, table, every, {"terasort": ["total"]})
    assert ranking.confounded == ["a:b = c:d"]
    assert ranking.interactions == []


def test_without_orthogonality_a_factor_has_no_effect_of_another_one():
    rows = ["0000", "0011", "0101", "1111", "1110", "1001"]
    treatments = [Treatment(id=r, levels=dict(zip("abcd", r, strict=True))) for r in rows]
    study = study_of(treatments, {name: ["0", "1"] for name in "abcd"})
    table = table_of(study, {("b",): 0.35}, 3, 0.01, np.random.default_rng(2))
    every = effects(study, table)
    assert not any(e.factor == "a" and e.comparison == "main effect" for e in every)
    assert not any(e.distinguishable for e in every if e.factor != "b")
    (ranking,) = rankings(study, table, every, {"terasort": ["total"]})
    first = first_place(ranking)
    assert first is not None
    assert first.name == "b"
    assert [entry.name for entry in ranking.entries if entry.clear] == ["b"]


def test_one_factor_at_a_time_is_ranked_by_range():
    rows = [("0", "0"), ("1", "0"), ("0", "1")]
    treatments = [Treatment(id="-".join(r), levels={"a": r[0], "b": r[1]}) for r in rows]
    study = study_of(treatments, {"a": ["0", "1"], "b": ["0", "1"]})
    assert one_at_a_time(study)
    table = table_of(study, {("a",): 0.02, ("b",): -0.2}, 5, 0.01, np.random.default_rng(2))
    (ranking,) = rankings(study, table, effects(study, table), {"terasort": ["total"]})
    assert [entry.name for entry in ranking.entries] == ["b", "a"]
    assert "interactions cannot be estimated" in ranking.why
    entry = first_place(ranking)
    assert entry is not None
    said = led_by([(ranking, entry)])
    assert said.startswith("b 0 -> 1 has the largest effect on terasort total (-33 % [")


def test_a_factor_is_detected_if_a_change_smaller_than_its_largest_is():
    times = {
        ("12", "10"): [100.0, 101, 99, 100, 100.5],
        ("6", "10"): [100.0, 190, 95, 180, 99],
        ("24", "10"): [80.0, 81, 79, 80, 80.5],
        ("12", "1"): [130.0, 131, 129, 130, 130.5],
    }
    names = ("disks", "net")
    treatments = [
        Treatment(id="-".join(row), levels=dict(zip(names, row, strict=True))) for row in times
    ]
    study = study_of(treatments, {"disks": ["12", "6", "24"], "net": ["10", "1"]})
    table: dict[Key, Sample] = {
        ("-".join(row), *WHERE, "elapsed"): Sample("s", values, [1, 2, 3, 4, 5])
        for row, values in times.items()
    }
    (ranking,) = rankings(study, table, effects(study, table), {"terasort": ["total"]})
    first, second = ranking.entries
    assert (first.name, second.name) == ("net", "disks")  # the change of disks 6 is noise
    assert second.range is not None and second.range > 0.5
    assert second.effect is not None
    assert (second.effect.level, second.clear) == ("24", True)
    assert not any("not detected" in sentence for sentence in said(ranking))


def test_the_ranking_in_sentences():
    study, table = made(rounds=5)
    (ranking,) = rankings(study, table, effects(study, table), {"terasort": ["total"]})
    first, *rest = said(ranking)
    assert first.startswith("a matters most: 9")
    assert "of the variance of terasort total; 0 -> 1: +49 %" in first
    assert any(s.startswith("a x b also matters") and "at b 0" in s and "at b 1" in s for s in rest)
    assert "not detected after correction for 7 terms" in rest[-1]
    interaction = ranking.interactions[0]
    assert len(interaction.corners) == 4
    assert all(c.low is not None and c.low < c.mean for c in interaction.corners)


@pytest.mark.parametrize("rows", [("old/1G", "new/10G"), ("old/1G", "mid/5G", "new/10G")])
def test_factors_that_change_together_have_no_analysis_of_variance(rows: tuple[str, ...]):
    pairs = [tuple(row.split("/")) for row in rows]
    treatments = [
        Treatment(id="-".join(p), levels=dict(zip(("cluster", "net"), p, strict=True)))
        for p in pairs
    ]
    clusters, nets = zip(*pairs, strict=True)
    study = study_of(treatments, {"cluster": [*clusters], "net": [*nets]})
    table = table_of(study, {}, 3, 0.02, np.random.default_rng(1))
    assert anova(study, table, *WHERE) is None
    (found,) = rankings(study, table, effects(study, table), {WHERE[0]: ["total"]})
    assert "do not separate" in found.why


def test_rounds_that_change_together_with_a_factor_give_no_table() -> None:
    study = factorial(factors=("a", "b"))
    table = table_of(study, EFFECTS, 2, 0.02, np.random.default_rng(1))
    for key, sample in table.items():
        table[key] = replace(sample, rounds=[1, 3] if key[0].startswith("0") else [2, 4])
    assert anova(study, table, *WHERE) is None
    (found,) = rankings(study, table, effects(study, table), {WHERE[0]: ["total"]})
    assert found.tables == []
    assert "treatments differ only between rounds" in found.why
