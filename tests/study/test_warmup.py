"""Warm-up passes: before what is measured, and again where a study goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.study.test_runner import exactly, large_is_noisy, valid_by_slot
from tests.support.mock import Diary, MockTestbed, ctrl_c, run_study, toy_plan


def test_warm_up_comes_first_and_is_marked(tmp_path: Path) -> None:
    trials = run_study(tmp_path / "out", toy_plan(rounds=1, warmup=1))

    assert [trial.warmup for trial in trials] == [True, True, False, False]


def test_a_study_that_goes_on_warms_up_again_and_measures_each_slot_once(tmp_path: Path) -> None:
    plan = toy_plan(rounds=2, warmup=1)
    with pytest.raises(KeyboardInterrupt):
        run_study(tmp_path / "out", plan, MockTestbed(faults={(4, "terasort"): ctrl_c}))
    diary = Diary()
    trials = run_study(tmp_path / "out", plan, diary=diary)

    assert diary.began == (1, 6)
    assert [trial.warmup for trial in trials] == [True] * 2 + [False] + [True] * 2 + [False] * 3
    assert [trial.attempt for trial in trials if trial.warmup] == [1, 1, 2, 2]
    assert valid_by_slot([trial for trial in trials if not trial.warmup]) == exactly(2)
    assert len(run_study(tmp_path / "out", plan)) == 8, "nothing is left that needs warm daemons"


def test_a_study_that_goes_on_in_an_extra_round_warms_up_again(tmp_path: Path) -> None:
    plan = toy_plan(rounds=3, extra_rounds=2, warmup=1)
    broken = MockTestbed(elapsed_s=large_is_noisy, faults={(9, "terasort"): ctrl_c})
    with pytest.raises(KeyboardInterrupt):
        run_study(tmp_path / "out", plan, broken)
    diary = Diary()
    trials = run_study(tmp_path / "out", plan, MockTestbed(elapsed_s=large_is_noisy), diary=diary)

    assert [trial.warmup for trial in trials[8:]] == [True, True, False, False]
    assert sum(trial.extra for trial in trials) == 2
    assert diary.counts[-1] == (12, 12)
    assert len(run_study(tmp_path / "out", plan)) == 12
