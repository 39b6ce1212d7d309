"""Rules by which a disturbed trial is invalid."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.mock import MockTestbed, plan_from, run_study, toy_plan
from windtunnel.errors import StudyStoppedError
from windtunnel.results.folder import read_results
from windtunnel.results.record import Before, Metric, Trial, Verdict
from windtunnel.study.invalidate import RULES
from windtunnel.study.protocol import Invalidate
from windtunnel.study.trial_draft import Outcome, TrialDraft

VALID = Verdict(valid=True)


def disturbed(
    load: float = 1.0, idle: float = 0.9, steal: float | None = 0.01, verdict: Verdict = VALID
) -> TrialDraft:
    plan = toy_plan()
    draft = TrialDraft(plan, plan.round_slots(1)[0], 1, "toy-1", time.time())
    draft.before = Before(
        load_1min=load,
        memory_available_bytes=1,
        page_cache_bytes=1,
        cpu_idle_share=idle,
        cache_state="warm",
    )
    draft.ended(Outcome(verdict))
    if steal is not None:
        draft.metrics["cpu_steal_share"] = Metric(value=steal, unit="ratio")
    return draft


def judged(draft: TrialDraft, limits: Mapping[str, float]) -> Trial:
    """The record after the rules of a study."""
    plan = draft.plan
    protocol = plan.protocol.model_copy(update={"invalidate": Invalidate.model_validate(limits)})
    draft.plan = replace(plan, protocol=protocol)
    draft.apply_rules()
    return draft.record()


LIMITS = {"load_before_above": 4.0, "cpu_idle_before_below": 0.5, "steal_above": 0.2}


def test_there_is_a_rule_for_each_key_of_the_study_file() -> None:
    assert list(Invalidate.model_fields) == list(RULES)


def test_a_quiet_trial_stays_valid_and_says_that_the_rules_were_applied() -> None:
    found = judged(disturbed(load=4.0, idle=0.5, steal=0.2), LIMITS)

    assert found.verdict.valid
    assert [check.passed for check in found.verdict.checks] == [True] * 3


@pytest.mark.parametrize(
    ("one", "rule", "number"),
    [
        (disturbed(load=4.01), "load_before_above", "4.01, not at most 4.00"),
        (disturbed(idle=0.49), "cpu_idle_before_below", "49.0%, not at least 50.0%"),
        (disturbed(steal=0.31), "steal_above", "31.0%, not at most 20.0%"),
    ],
)
def test_the_reason_names_the_rule_and_both_numbers(
    one: TrialDraft, rule: str, number: str
) -> None:
    found = judged(one, LIMITS)

    assert not found.verdict.valid
    assert f"rule {rule}: " in found.verdict.reason
    assert number in found.verdict.reason


def test_without_the_rule_a_disturbed_trial_counts() -> None:
    assert judged(disturbed(load=99, idle=0.0, steal=0.9), {}).verdict.valid


def test_a_number_that_is_not_known_invalidates_nothing_and_is_said() -> None:
    found = judged(disturbed(steal=None), LIMITS)

    assert found.verdict.valid
    assert any("steal_above could not be applied" in flag for flag in found.flags)


def test_an_invalid_trial_keeps_its_own_reason() -> None:
    broken = disturbed(load=99, verdict=Verdict(valid=False, reason="wrong checksum"))

    assert judged(broken, LIMITS).verdict.reason == "wrong checksum"


def test_the_rules_apply_to_the_outcome_of_a_fault() -> None:
    failed = Verdict(valid=False, reason="the job failed")
    quiet, loud = (disturbed(load=load, verdict=failed) for load in (1.0, 99.0))
    for one in (quiet, loud):
        one.outcome = Outcome(failed, fate="job failed")

    assert judged(quiet, LIMITS).outcome == "job failed"
    found = judged(loud, LIMITS)
    assert (found.outcome, found.answers) == (None, False)
    assert found.verdict.reason.startswith("rule load_before_above: ")
    assert found.verdict.reason.endswith("; the job failed")


def test_a_study_runs_the_slots_of_disturbed_trials_again(tmp_path: Path) -> None:
    """A load below nothing is impossible: every trial is disturbed, and the study stops."""
    plan = plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 9, input_replication: 1, output_replication: 1}}\n"
        "protocol: {rounds: 3, retry_invalid: 5, invalidate: {load_before_above: 0.0000001}}\n"
    )
    with pytest.raises(StudyStoppedError, match="rule load_before_above"):
        run_study(tmp_path / "out", plan, MockTestbed())

    trials = read_results(tmp_path / "out").trials
    assert [t.verdict.valid for t in trials] == [False] * 3
    assert all(t.phases for t in trials), "kept with all that they measured"
