"""The progress of a study: lines with the names of treatments, a bar on a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from windtunnel.cli.progress import (
    LiveListener,
    PlainListener,
    describe,
    duration,
    listener_for,
    result,
)
from windtunnel.results.record import Fate, Trial, Verdict
from windtunnel.study.file import load_study
from windtunnel.study.plan import Plan, Slot, make_plan

STUDY = """\
study: toy
cluster: local-3
workloads:
  terasort: {size: 20 MB, input_replication: 1, output_replication: 1}
factors: {hosts.worker.memory: [8 GiB, 16 GiB]}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "study.yaml").write_text(STUDY)
    return make_plan(*load_study(str(tmp_path / "study.yaml")))


def slot_of(plan: Plan, level: str) -> Slot:
    slots = plan.round_slots(1)
    return next(s for s in slots if level in s.treatment.levels.values())


@contextmanager
def listening(plan: Plan, *, terminal: bool) -> Iterator[tuple[PlainListener, io.StringIO]]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120)
    listener = listener_for(console, plan.name_of)
    try:
        yield listener, out
    finally:
        listener.close()


@pytest.mark.parametrize("terminal", [False, True])
def test_a_trial_is_shown_by_its_levels_and_not_by_an_id(plan: Plan, terminal: bool) -> None:
    slot = slot_of(plan, "8 GiB")
    with listening(plan, terminal=terminal) as (listener, out):
        assert isinstance(listener, LiveListener) == terminal
        listener.started(0, 6)
        listener.trial_started(slot, 1)
        if isinstance(listener, LiveListener):
            listener.phase("teragen")
    assert "round 1: terasort at 8 GiB" in out.getvalue()
    assert slot.treatment.id not in out.getvalue()


def test_square_brackets_of_names_are_shown_on_a_terminal(plan: Plan) -> None:
    slot = slot_of(plan, "8 GiB")
    with listening(plan, terminal=True) as (listener, out):
        listener.name_of = lambda treatment: "[/disk] [bold]"
        listener.started(0, 6)
        listener.trial_started(slot, 1)
        listener.phase("teragen")
    assert "round 1: [/disk] [bold]: teragen" in out.getvalue()


def test_a_second_attempt_is_marked(plan: Plan) -> None:
    shown = describe(slot_of(plan, "16 GiB"), 2, plan.name_of)
    assert shown == "round 1: terasort at 16 GiB (attempt 2)"


def test_a_resumed_study_reports_the_trials_that_are_done(plan: Plan) -> None:
    with listening(plan, terminal=False) as (listener, out):
        listener.started(1, 6)
    assert "resuming: 1 of 6 trials are done" in out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "shown"), [(45, "45 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")]
)
def test_durations_are_readable(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def ended(slot: Slot, outcome: Fate | None, reason: str) -> Trial:
    return Trial(
        id="r01-x-a1",
        study_id="toy",
        testbed="local",
        workload=slot.workload,
        treatment=slot.treatment,
        round=1,
        position=1,
        started_at=0.0,
        finished_at=9.0,
        verdict=Verdict(valid=not reason, reason=reason),
        outcome=outcome,
    )


@pytest.mark.parametrize(
    ("outcome", "reason", "shown"),
    [
        (
            "job failed",
            "terasort failed (exit code 1)",
            "job failed after the fault (outcome, not averaged): terasort failed (exit code 1)",
        ),
        (
            "output wrong",
            "checksum 1, not 2",
            "output wrong after the fault (outcome, not averaged): checksum 1, not 2",
        ),
        (None, "terasort failed (exit code 1)", "INVALID: terasort failed (exit code 1)"),
        ("finished", "the CPU was saturated", "INVALID: the CPU was saturated"),
        ("finished", "", "verified; "),
    ],
)
def test_a_trial_that_its_fault_ended_is_an_outcome_and_not_invalid(
    plan: Plan, outcome: Fate | None, reason: str, shown: str
) -> None:
    trial = ended(slot_of(plan, "8 GiB"), outcome, reason)
    assert result(trial) == shown
    with listening(plan, terminal=False) as (listener, out):
        listener.trial_ended(trial, 1, 6, None)
    assert f"{shown}; 1 of 6 done" in out.getvalue()
