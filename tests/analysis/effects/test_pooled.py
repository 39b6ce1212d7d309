"""The spread that treatments share: that of the analysis of variance, and true to its word."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.truth_anova import WHERE, factorial, table_of
from windtunnel.analysis.effects import anova as anova_module
from windtunnel.analysis.effects.anova import anova
from windtunnel.analysis.effects.cells import Sample
from windtunnel.analysis.effects.effects import Effect, effects
from windtunnel.analysis.effects.pooled import pool

STUDY = factorial()
SIZES = {("a",): 0.05, ("b",): -0.2, ("a", "c"): 0.02}


def found(rounds: int, by_round: float, seed: int, noise: float = 0.05) -> list[Effect]:
    rng = np.random.default_rng(seed)
    return effects(STUDY, table_of(STUDY, SIZES, rounds, noise, rng, by_round=by_round))


@pytest.fixture(scope="module")
def without_share_intervals() -> Iterator[None]:
    """Intervals of shares do not enter p and take a third of the time (see test_truth.py)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anova_module, "share_intervals", lambda *_: None)
        yield


@pytest.mark.usefixtures("without_share_intervals")
@given(st.integers(2, 4), st.floats(0, 0.2), st.integers(0, 1 << 16))
def test_an_effect_is_as_clear_as_its_row_in_the_table_of_variance(
    rounds: int, by_round: float, seed: int
) -> None:
    table = table_of(STUDY, SIZES, rounds, 0.05, np.random.default_rng(seed), by_round=by_round)
    rows = anova(STUDY, table, *WHERE)
    assert rows is not None
    p = {term.name: term.p for term in rows.terms}
    for effect in effects(STUDY, table):
        assert effect.method == "pooled over treatments, on logs"
        assert effect.df == rows.error_df
        assert effect.absolute_ci_low is None, "treatments share no error in seconds"
        assert effect.p == pytest.approx(p[effect.factor], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("noises", "least"), [([0.05] * 8, 0.93), ([0.02, 0.08] * 4, 0.91)])
def test_intervals_hold_the_truth_and_nearly_so_when_treatments_differ_in_noise(
    noises: list[float], least: float
) -> None:
    rng, held, draws = np.random.default_rng(16), 0, 1000
    for _ in range(draws):
        table = {
            (t.id, *WHERE, "elapsed"): Sample(
                "s", [float(v) for v in np.exp(rng.normal(0, noise, 2))], [1, 2]
            )
            for t, noise in zip(STUDY.treatments, noises, strict=True)
        }
        effect = effects(STUDY, table)[0]
        assert effect.ci_low is not None and effect.ci_high is not None
        held += effect.ci_low <= 0 <= effect.ci_high
    assert least <= held / draws <= 0.975


def test_what_rounds_share_is_no_spread() -> None:
    shared = Sample("s", [1.0, 2.0], [1, 2])
    other = Sample("s", [3.0, 6.0], [1, 2])
    spread = pool([shared, other])
    assert spread is not None
    assert spread.variance == pytest.approx(0, abs=1e-30)
    assert spread.df == 1
    elsewhere = pool([shared, Sample("s", [3.0, 6.0], [1, 3])])
    assert elsewhere is not None
    assert elsewhere.df == 2
    assert elsewhere.variance == pytest.approx(math.log(2) ** 2 / 2)


@pytest.mark.parametrize("values", [[5.0], [5.0, 0.0]])
def test_a_single_trial_or_a_zero_shares_nothing(values: list[float]) -> None:
    one = Sample("s", values, list(range(1, len(values) + 1)))
    assert pool([one, Sample("s", [1.0, 2.0], [1, 2])]) is None


def test_from_five_rounds_on_differences_are_paired() -> None:
    assert {e.method for e in found(5, 0.05, 1)} == {"paired by round, on logs"}


@given(st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=5), st.integers(2, 6))
def test_equal_values_have_no_variance_at_all(levels: list[float], trials: int) -> None:
    """Their mean is rounded, and the rounding is no spread."""
    found = pool([Sample("s", [level] * trials, list(range(trials))) for level in levels])
    assert found is not None
    assert found.variance == 0.0
