"""Simulated data with known truth: 95 % intervals are 95 % intervals, alarms are rare."""

from __future__ import annotations

import pytest

from tests.support.truth import (
    Drift,
    coverage,
    detected,
    effects_of,
    mean_coverage,
    median_coverage,
)
from tests.support.truth_anova import null_alarms, share_coverage

NOMINAL = (0.93, 0.97)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_intervals_of_means_and_effects_cover_the_truth(n: int):
    low, high = NOMINAL
    assert low <= mean_coverage(n) <= high
    assert low <= coverage(effects_of(n, -0.3), -0.3) <= high


def test_the_interval_of_the_median_holds_it_at_least_as_often():
    assert median_coverage(10, draws=1000) >= 0.95


def test_five_trials_find_a_difference_of_ten_percent_more_often_than_not():
    assert 0.55 <= detected(effects_of(5, 0.10)) <= 0.68
    assert 0.66 <= detected(effects_of(5, 0.10, paired=False)) <= 0.78


@pytest.mark.parametrize("drift", [Drift(), Drift(per_round=0.02), Drift(by_round=0.05)])
@pytest.mark.parametrize("n", [3, 5])
def test_equal_configurations_seldom_differ_with_and_without_drift(n: int, drift: Drift):
    assert detected(effects_of(n, 0.0, drift)) <= 0.06


def test_pairing_by_round_takes_out_what_a_round_shares():
    shared = Drift(by_round=0.05)
    assert detected(effects_of(5, 0.10, shared, draws=500)) > 0.5
    assert detected(effects_of(5, 0.10, shared, draws=500, paired=False)) < 0.5


def test_intervals_of_shares_cover_the_truth():
    rates = [rate for _, _, rate in share_coverage(3, draws=60)]
    assert min(rates) >= 0.85
    assert sum(rates) / len(rates) >= 0.94


def test_a_study_without_effects_seldom_finds_one():
    assert null_alarms(2, draws=15) <= 0.15
