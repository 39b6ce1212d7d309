"""One trial: its record, its metrics, cache control, and what happens where it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.mock import (
    MockDeployment,
    MockTestbed,
    daemon_dies,
    job_fails,
    run_study,
    toy_plan,
)
from windtunnel.engines.deployment import JobRun
from windtunnel.errors import NotRealisableError
from windtunnel.results.folder import read_results
from windtunnel.results.record import Treatment, Trial
from windtunnel.results.sample import Recording
from windtunnel.study import runner
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import Plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import Conditions, run_trial
from windtunnel.workloads.base import Workload
from windtunnel.workloads.terasort.terasort import TeraSort


def one_trial(
    folder: Path, plan: Plan, testbed: MockTestbed, hosts: list[SimpleNamespace] | None = None
) -> tuple[Trial, bool, list[str], MockDeployment]:
    """The first trial of a plan: record, whether the deployment is broken, phases told."""
    slot = plan.round_slots(1)[0]
    told: list[str] = []
    with (
        open_journal(folder, study_record(plan)) as journal,
        testbed.deploy(plan.base) as deployment,
    ):
        deployment.hosts = hosts or []
        trial, broken = run_trial(
            plan, slot, 1, deployment, journal, Conditions(on_phase=told.append)
        )
        (recorded,) = journal.attempts(slot)
    assert recorded.verdict == trial.verdict
    return recorded, broken, told, deployment


def test_the_record_of_a_valid_trial(tmp_path: Path) -> None:
    plan = toy_plan()
    trial, broken, told, deployment = one_trial(tmp_path / "out", plan, MockTestbed())

    assert trial.verdict.valid
    assert not broken
    assert told == ["teragen", "terasort", "teravalidate"] == [p.name for p in trial.phases]
    assert trial.parameters == {"rows": 1000, "input_replication": 1, "output_replication": 1}
    assert trial.metrics["data_bytes"].value == 100_000
    assert trial.metrics["trial_wall"].value >= 0
    assert trial.before is not None
    assert trial.before.cache_state == "warm"
    assert trial.started_at <= trial.finished_at
    assert deployment.files.statuses == {}, "the trial's folder is removed"


def test_a_measured_trial_is_kept_if_the_wait_for_its_samples_is_interrupted(
    tmp_path: Path,
) -> None:
    class Interrupted(MockDeployment):
        def recorded(self, since_s: float, until_s: float) -> Recording:
            raise KeyboardInterrupt

    plan, stops = toy_plan(), list[str]()
    slot = plan.round_slots(1)[0]
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        deployment = Interrupted(MockTestbed(), plan.base, 1)
        around = Conditions(interrupted=lambda: stops.append("requested"))
        run_trial(plan, slot, 1, deployment, journal, around)
        (trial,) = journal.attempts(slot)
    assert trial.verdict.valid and len(trial.phases) == 3
    assert any("was interrupted" in flag for flag in trial.flags)
    assert stops == ["requested"]


@pytest.mark.parametrize("fault", [job_fails, daemon_dies])
def test_a_trial_that_fails_keeps_its_phases_and_breaks_the_deployment(
    tmp_path: Path, fault: object
) -> None:
    testbed = MockTestbed(faults={(1, "terasort"): fault})  # type: ignore[dict-item]
    trial, broken, told, _ = one_trial(tmp_path / "out", toy_plan(), testbed)

    assert not trial.verdict.valid
    assert broken
    assert [phase.name for phase in trial.phases] == ["teragen"]
    assert told == ["teragen", "terasort"]
    assert trial.tasks_file is not None, "the tasks of the phases that ended are kept"


def test_limits_are_lifted_for_all_that_no_phase_measures(tmp_path: Path) -> None:
    events: list[str] = []

    class Limits(MockDeployment):
        @contextmanager
        def unshaped(self) -> Iterator[None]:
            events.append("lifted")
            yield
            events.append("back")

        def run_job(self, phase: str, *args: Any, **kwargs: Any) -> JobRun:
            events.append(phase)
            return super().run_job(phase, *args, **kwargs)

    plan = toy_plan()
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        deployment = Limits(MockTestbed(), plan.base, 1)
        trial, _ = run_trial(plan, plan.round_slots(1)[0], 1, deployment, journal)

    assert trial.verdict.valid
    phases = ["teragen", "terasort", "teravalidate"]
    assert events == ["lifted", "back", *phases, "lifted", "back"]


def dropping(plan: Plan) -> Plan:
    protocol = plan.protocol.model_copy(update={"cache": "drop"})
    return Plan(**{**plan.__dict__, "protocol": protocol})


def test_caches_are_dropped_on_every_host_before_every_phase(tmp_path: Path) -> None:
    dropped: list[str] = []

    def noted(name: str) -> bool:
        dropped.append(name)
        return True

    def host(name: str) -> SimpleNamespace:
        return SimpleNamespace(name=name, machine=name, drop_caches=partial(noted, name))

    hosts = [host("master"), host("worker")]
    trial, *_ = one_trial(tmp_path / "out", dropping(toy_plan()), MockTestbed(), hosts)

    assert trial.before is not None
    assert trial.before.cache_state == "dropped"
    assert dropped == ["master", "worker"] * 4, "before the trial and each of its three phases"


def test_caches_stay_before_a_phase_that_is_about_warm_caches(tmp_path: Path) -> None:
    dropped: list[str] = []

    class Twice(TeraSort):
        def phases(self) -> tuple[str, ...]:
            return (*super().phases(), "terasort-warm")

        def run_phase(self, phase: str, *more: Any) -> JobRun:
            run = super().run_phase(phase.removesuffix("-warm"), *more)
            return replace(run, phase=run.phase.model_copy(update={"name": phase}))

    class WithTwice(Plan):
        def workload_of(self, name: str, treatment: Treatment) -> Workload[Any]:
            return Twice(super().workload_of(name, treatment).parameters)

    def drop() -> bool:
        dropped.append("host")
        return True

    host = SimpleNamespace(name="host", machine="host", drop_caches=drop)
    plan = WithTwice(**dropping(toy_plan()).__dict__)
    _, _, told, _ = one_trial(tmp_path / "out", plan, MockTestbed(), [host])

    assert told[-1] == "terasort-warm"
    assert len(dropped) == 4, "before the trial and the three cold phases"


def test_without_the_right_to_drop_caches_the_study_does_not_pretend(tmp_path: Path) -> None:
    hosts = [SimpleNamespace(drop_caches=lambda: False)]
    with pytest.raises(NotRealisableError, match="cannot be dropped without root") as caught:
        one_trial(tmp_path / "out", dropping(toy_plan()), MockTestbed(), hosts)
    assert "cache: warm" in caught.value.remedy


@pytest.mark.parametrize(("here", "place"), [(True, "machine"), (False, "client_machine")])
def test_the_clock_of_this_machine_is_that_of_daemons_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: bool, place: str
) -> None:
    monkeypatch.setattr(MockDeployment, "here", here)
    monkeypatch.setattr(runner, "machine_facts", lambda: {"clock": "same machine"})
    trial = run_study(tmp_path / "out", toy_plan(rounds=1))[0]
    facts: Any = read_results(tmp_path / "out").provenance(trial)[place]
    assert ("same machine" in facts["clock"]) is here
