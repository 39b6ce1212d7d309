"""A trial is collected in a draft; its record is built once, and validated."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.mock import job_run, toy_plan
from windtunnel.probes.sampler import Sampler
from windtunnel.results.record import Check, Metric, Trial, Verdict
from windtunnel.results.sample import Sample
from windtunnel.study.trial_draft import Outcome, TrialDraft
from windtunnel.testbeds.base import Judgement

FAILED = Judgement(
    [Check(name="the host machine", passed=False, expected="idle", got="it was saturated")],
    ["look at it"],
)
PASSED = Judgement([Check(name="the host machine", passed=True)])


def draft(verdict: Verdict, **outcome: Any) -> TrialDraft:
    plan = toy_plan()
    slot = plan.round_slots(1)[0]
    made = TrialDraft(plan, slot, 2, "toy-1", time.time() - 30, deployment=3, provenance="cafe")
    made.ended(Outcome(verdict, {"terasort": job_run("terasort", 10.0)}, **outcome))
    return made


def test_the_record_has_the_parts_of_the_draft() -> None:
    made = draft(Verdict(valid=True), fate="finished", left="a link is down")
    sampler = Sampler(dict)
    sampler.rows = [Sample(1.0, "this-machine", "cpu_idle", "ratio", 0.5)]
    made.measured(sampler, 4096)

    record = made.record()

    assert record.id == f"{made.slot.id}-a2" == made.id
    assert (record.attempt, record.deployment, record.provenance) == (2, 3, "cafe")
    assert [phase.name for phase in record.phases] == ["terasort"]
    assert record.outcome == "finished"
    assert record.flags == ["the cluster was abandoned after the fault: a link is down"]
    numbers = {name: (metric.value, metric.unit) for name, metric in record.metrics.items()}
    assert numbers["data_bytes"] == (4096, "bytes")
    assert numbers["cpu_idle_share"] == (0.5, "ratio")
    assert "cpu_steal_share" not in numbers, "unknown, which is not 0"
    wall_s = record.finished_at - record.started_at
    assert numbers["trial_wall"] == (wall_s, "s")
    assert numbers["harness_overhead"][0] == pytest.approx(wall_s - 10)


def test_the_testbed_can_make_a_valid_trial_invalid() -> None:
    made = draft(Verdict(valid=True, checks=[Check(name="rows", passed=True)]))
    made.judge(FAILED)
    record = made.record()

    assert not record.verdict.valid
    assert record.verdict.reason == "it was saturated"
    assert [check.name for check in record.verdict.checks] == ["rows", "the host machine"]
    assert record.flags == ["look at it"]


def test_an_invalid_trial_keeps_its_reason_and_gets_the_check() -> None:
    made = draft(Verdict(valid=False, reason="wrong checksum"))
    made.judge(FAILED)

    assert made.record().verdict.reason == "wrong checksum"
    assert len(made.record().verdict.checks) == 1


@pytest.mark.parametrize("fate", ["job failed", "output wrong"])
def test_an_outcome_of_a_disturbed_trial_does_not_count(fate: str) -> None:
    made = draft(Verdict(valid=False, reason="the job failed"), fate=fate)
    made.judge(FAILED)
    record = made.record()

    assert record.verdict.reason == "it was saturated; the job failed"
    assert record.outcome is None
    assert not record.answers, "it is repeated"


def test_an_outcome_of_an_undisturbed_trial_counts() -> None:
    made = draft(Verdict(valid=False, reason="the job failed"), fate="job failed")
    made.judge(PASSED)

    assert made.record().outcome == "job failed"
    assert made.record().verdict.reason == "the job failed"


def test_a_valid_trial_stays_valid() -> None:
    made = draft(Verdict(valid=True))
    made.judge(PASSED)

    assert made.record().verdict == Verdict(valid=True, checks=PASSED.checks)


@pytest.mark.parametrize(
    ("part", "value"),
    [("power_source", 7), ("metrics", {"a": 1.0}), ("started_at", "soon"), ("faults", ["kill"])],
)
def test_a_wrong_part_makes_no_record(part: str, value: object) -> None:
    made = draft(Verdict(valid=True))
    setattr(made, part, value)

    with pytest.raises(ValidationError):
        made.record()


def test_metrics_that_are_no_finite_numbers_are_dropped() -> None:
    """JSON has none: they would make the results folder unreadable."""
    made = draft(Verdict(valid=True))
    made.metrics = {name: Metric(value=float(name), unit="s") for name in ("1", "nan", "inf")}
    trial = made.record()
    assert trial.metrics.keys() == {"1"}
    assert {"nan: no finite number, dropped", "inf: no finite number, dropped"} <= {*trial.flags}
    assert Trial.model_validate_json(trial.model_dump_json()).metrics == trial.metrics


def test_a_draft_that_never_ran_is_invalid() -> None:
    plan = toy_plan()
    record = TrialDraft(plan, plan.round_slots(1)[0], 1, "toy-1", 1.0).record()

    assert (record.verdict.valid, record.verdict.reason) == (False, "it did not run")


@pytest.mark.parametrize("set_by_s", [-3600.0, 2.5])
def test_a_step_of_the_clock_makes_a_trial_invalid(
    set_by_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = toy_plan()
    made = TrialDraft(plan, plan.round_slots(1)[0], 1, "toy-1", time.time())
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + set_by_s)
    made.ended(Outcome(Verdict(valid=True), {"terasort": job_run("terasort", 10.0)}))
    made.apply_rules()

    assert not made.verdict.valid
    assert "this machine's clock was set, or the machine was suspended" in made.verdict.reason
    assert f"{set_by_s:+.1f} s" in made.verdict.reason


def test_a_phase_with_a_negative_time_makes_a_trial_invalid() -> None:
    """A step of less than a second, or of the clock of another host, is not detected as such."""
    run = job_run("terasort", 10.0)
    phase = run.phase.model_copy(update={"elapsed_s": -0.25})
    made = draft(Verdict(valid=True))
    made.ended(Outcome(Verdict(valid=True), {"terasort": replace(run, phase=phase)}))
    made.apply_rules()

    assert made.record().verdict.reason == "terasort took -0.250 s: a clock was set back"


def test_a_clock_without_steps_leaves_the_trial_valid() -> None:
    made = draft(Verdict(valid=True))
    made.apply_rules()
    assert made.verdict.valid
    assert not [check for check in made.verdict.checks if "clock" in check.name]
