"""Faults in trials of the mock testbed: their moments, their undoing, their outcomes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.breaking import WHOLE, BreakingTestbed, MockFaults
from tests.support.mock import (
    Diary,
    MockDeployment,
    MockTestbed,
    ctrl_c,
    daemon_dies,
    job_fails,
    plan_from,
    run_study,
    wrong_checksum,
)
from windtunnel.cluster import load_cluster
from windtunnel.engines.faults import Copies
from windtunnel.errors import DeploymentError, StudyStoppedError, TrialInvalidError
from windtunnel.results.folder import read_results
from windtunnel.results.record import Check, Phase, Trial, Verdict
from windtunnel.results.sample import Sample
from windtunnel.study.faults import FAULTS, decommission, injection
from windtunnel.study.faults.injection import Injection, Injector
from windtunnel.study.plan import Plan
from windtunnel.testbeds.base import Judgement
from windtunnel.workloads.terasort.terasort import TeraSort

KILL = "kind: kill-daemon, role: datanode, phase: terasort, watch: 50 ms"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "_STEP_S", 0.005)


def plan(fault: str, rounds: int = 1, retry: int = 0) -> Plan:
    return plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 1000, input_replication: 1, output_replication: 1}}\n"
        f"factors: {{fault: {{none: {{}}, broken: {{fault: {{{fault}}}}}}}}}\n"
        f"protocol: {{rounds: {rounds}, seed: 3, extra_rounds: 0, retry_invalid: {retry}}}\n"
    )


def only(folder: Path, fault: str, testbed: MockTestbed) -> Trial:
    """The trial of a study whose every trial has the fault."""
    found = plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 1000, input_replication: 1, output_replication: 1}}\n"
        f"fault: [{{{fault}}}]\nprotocol: {{rounds: 1, extra_rounds: 0, retry_invalid: 0}}\n"
    )
    with contextlib.suppress(StudyStoppedError):  # its only trial may be invalid
        run_study(folder / "out", found, testbed)
    (trial,) = read_results(folder / "out").trials
    return trial


def breaking(**facts: Any) -> BreakingTestbed:
    """A testbed whose jobs take long enough for a fault to strike."""
    return BreakingTestbed(sleep_s=0.1, **facts)


def test_a_fault_strikes_in_its_phase_and_lasts_to_the_end(tmp_path: Path) -> None:
    seen: list[Sequence[Any]] = []

    def look(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
        seen.append([phase, *here.events])

    everywhere = {(1, name): look for name in ("teragen", "terasort", "teravalidate")}
    here: BreakingTestbed = breaking(faults=everywhere)
    trial = only(tmp_path, "kind: slow-nic, host: worker-1, to: 10 %, phase: terasort", here)

    struck = ("slow NIC", "worker-1", 0.1)
    assert seen == [["teragen"], ["terasort", struck], ["teravalidate", struck]]
    assert here.events == [struck, ("undo", "slow NIC"), ("restore", False)]
    assert trial.verdict.valid
    assert trial.outcome == "finished"
    (fault,) = trial.faults
    phases = {phase.name: phase for phase in trial.phases}
    assert fault.at is not None and fault.undone_at is not None
    assert fault.at < phases["terasort"].finished_at <= phases["teravalidate"].finished_at
    assert fault.undone_at >= phases["teravalidate"].finished_at
    assert (fault.noticed_s, fault.whole_s, fault.watched_s) == (None, None, None)
    assert "the NIC of worker-1 slowed to 10 %" in fault.text


@pytest.mark.parametrize(
    ("lasts", "outcome"), [("", "job failed"), (", lasts: 20 ms", None)], ids=["lasts", "is over"]
)
def test_a_phase_that_a_fault_keeps_from_being_prepared_runs_nevertheless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasts: str, outcome: str | None
) -> None:
    """Waiting JVMs cannot start without a NameNode; a stock start fails like the job."""

    def prepare(deployment: MockDeployment) -> None:
        if here.events:
            raise DeploymentError("a warm JVM on worker-1 has failed")

    monkeypatch.setattr(MockDeployment, "before_phase", prepare)
    here: BreakingTestbed = breaking(faults={(1, "teravalidate"): job_fails})
    here.sleep_s = 0.3
    trial = only(
        tmp_path, f"kind: slow-nic, host: worker-1, to: 10 %, phase: terasort{lasts}", here
    )

    assert trial.outcome == outcome
    failed = "a warm JVM on worker-1 has failed"
    assert (failed in trial.verdict.reason) == (outcome is None)
    noted = f"teravalidate was not prepared, with a fault in force: {failed}"
    assert (noted in trial.flags) == (outcome is not None)


def test_a_fault_is_undone_when_its_time_is_over_and_the_job_runs_on(tmp_path: Path) -> None:
    seen: list[Any] = []
    here: BreakingTestbed = breaking(faults={(1, "terasort"): lambda *_: seen.extend(here.events)})
    here.sleep_s = 0.3
    trial = only(tmp_path, "kind: cut-link, host: worker-2, phase: terasort, lasts: 20 ms", here)

    assert seen == [("cut", "worker-2"), ("undo", "cut")]
    assert here.events.count(("undo", "cut")) == 1
    assert trial.verdict.valid


def test_the_time_to_whole_copies_is_a_metric(tmp_path: Path) -> None:
    lost, healed = Copies(2, 5, True), Copies(2, 0, True)
    trial = only(tmp_path, KILL, breaking(looks=(WHOLE, WHOLE, lost, lost, healed)))

    (fault,) = trial.faults
    assert fault.noticed_s is not None and fault.whole_s is not None
    assert 0 <= fault.noticed_s < fault.whole_s
    assert trial.metrics["replication_whole"].value == fault.whole_s
    assert trial.metrics["replication_whole"].unit == "s"


def test_several_faults_are_watched_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[float] = []
    ends = Injection.phases_over

    def watched(one: Injection, since_s: float) -> None:
        began.append(since_s)
        ends(one, since_s)

    monkeypatch.setattr(Injection, "phases_over", watched)
    twice = "}, {".join((KILL, KILL.replace("role:", "host: worker-2, role:")))
    trial = only(tmp_path, twice, breaking(looks=(WHOLE, Copies(2, 5, True))))
    assert len(trial.faults) == 2 and trial.verdict.valid
    assert len(began) == 2 and began[0] == began[1]


def test_copies_that_are_not_seen_whole_are_unknown(tmp_path: Path) -> None:
    here = breaking(looks=(WHOLE, Copies(2, 5, True)))
    trial = only(tmp_path, KILL, here)

    (fault,) = trial.faults
    assert fault.whole_s is None
    assert fault.watched_s is not None
    assert "replication_whole" not in trial.metrics
    assert "fault_noticed" in trial.metrics
    assert trial.verdict.valid, "the output is right"
    assert here.events[-2:] == [("undo", "kill"), ("restore", True)]


def test_a_job_that_the_fault_fails_is_an_outcome_and_not_run_again(tmp_path: Path) -> None:
    """Four rounds: as invalid trials they would be repeated, and stop the study."""
    numbers = range(1, 9)
    here = breaking()

    def fails_if_broken(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
        if here.events and here.events[-1][0] == "kill":
            here.events.append(("failed",))
            job_fails(deployment, phase, argv)

    here.faults = {(n, "terasort"): fails_if_broken for n in numbers}
    diary = Diary()
    trials = run_study(tmp_path / "out", plan(KILL, rounds=4, retry=1), here, diary=diary)

    broken = [trial for trial in trials if trial.treatment.id == "broken"]
    assert [trial.outcome for trial in broken] == ["job failed"] * 4
    assert not any(trial.verdict.valid for trial in broken)
    assert all(trial.verdict.valid for trial in trials if trial.treatment.id == "none")
    assert len(trials) == 8
    assert diary.counts[-1] == (8, 8)
    assert here.open == 0


def test_a_job_that_failed_on_a_saturated_machine_is_no_outcome(tmp_path: Path) -> None:
    """The phase whose job failed is judged too, although it has no time."""

    class Saturated(BreakingTestbed):
        def judge(self, rows: Sequence[Sample], phases: Sequence[Phase]) -> Judgement:
            hit = [phase.name for phase in phases if phase.name == "terasort"]
            check = Check(name="host machine", passed=not hit, got="saturated in terasort")
            return Judgement([check])

    here = Saturated(sleep_s=0.1, faults={(1, "terasort"): job_fails})
    trial = only(tmp_path, KILL, here)

    assert trial.verdict.reason.startswith("saturated in terasort; ")
    assert (trial.outcome, trial.answers) == (None, False)
    assert [phase.name for phase in trial.phases] == ["teragen"]


def test_after_a_failed_job_the_next_trial_has_a_fresh_cluster(tmp_path: Path) -> None:
    here = breaking()
    here.faults = {(n, "terasort"): job_fails for n in (1,)}
    run_study(tmp_path / "out", plan(KILL, rounds=2, retry=1), here)
    assert len(here.deployed) == 2
    assert here.open == 0


def test_wrong_output_under_a_fault_is_an_outcome(tmp_path: Path) -> None:
    trial = only(tmp_path, KILL, breaking(faults={(1, "teravalidate"): wrong_checksum}))
    assert not trial.verdict.valid
    assert trial.outcome == "output wrong"


def test_a_verification_that_fails_is_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(*_: Any) -> Verdict:
        raise TrialInvalidError("teravalidate was still running at the time limit")

    monkeypatch.setattr(TeraSort, "verify", too_late)
    trial = only(tmp_path, KILL, breaking())
    assert "time limit" in trial.verdict.reason
    assert (trial.outcome, trial.answers) == (None, False)
    assert trial.faults


def test_another_daemons_death_is_no_outcome(tmp_path: Path) -> None:
    trial = only(tmp_path, KILL, breaking(faults={(1, "terasort"): daemon_dies}))
    assert "the datanode on worker-2 has died" in trial.verdict.reason
    assert trial.outcome is None
    assert not trial.answers


def test_a_phase_that_ends_before_the_fault_makes_the_trial_invalid(tmp_path: Path) -> None:
    here = breaking()
    trial = only(tmp_path, f"{KILL}, after: 1 h", here)
    assert (
        "the fault was planned 1 h into the job of terasort, which ended earlier"
        in trial.verdict.reason
    )
    assert trial.outcome is None
    assert trial.faults[0].at is None
    assert here.events == []


def test_a_phase_that_ends_while_the_storage_answers_gets_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(faults: MockFaults) -> Copies:
        time.sleep(0.6)  # the job takes 0.1 s
        return WHOLE

    monkeypatch.setattr(MockFaults, "copies", late)
    here = breaking()
    trial = only(tmp_path, KILL, here)
    assert "the job of terasort, which ended earlier" in trial.verdict.reason
    assert trial.faults[0].at is None
    assert here.events == []


def test_time_is_counted_from_the_jobs_start(tmp_path: Path) -> None:
    here = breaking(progress=[None])
    trial = only(tmp_path, KILL, here)
    assert "the job of terasort, which ended earlier" in trial.verdict.reason
    assert here.events == []


def test_a_fault_strikes_when_so_much_of_the_job_is_done(tmp_path: Path) -> None:
    here = breaking(progress=[None, 0.0, 0.49, 0.5, 0.9])
    trial = only(tmp_path, f"{KILL}, at: 50 %", here)
    assert here.progress == [0.9], "it was not asked any more"
    assert trial.faults[0].text.endswith("killed 50 % into terasort, to the end")
    assert trial.faults[0].at_progress == 0.5
    assert trial.outcome == "finished"


def test_a_job_that_never_comes_so_far_makes_the_trial_invalid(tmp_path: Path) -> None:
    trial = only(tmp_path, f"{KILL}, at: 50 %", breaking(progress=[0.4]))
    assert "the fault was planned 50 % into the job of terasort" in trial.verdict.reason


def test_a_fault_that_cannot_be_made_makes_the_trial_invalid(tmp_path: Path) -> None:
    trial = only(tmp_path, KILL, breaking(refuses="datanode@worker-3 does not run"))
    assert "the fault was not injected or undone as planned" in trial.verdict.reason
    assert "datanode@worker-3 does not run" in trial.verdict.reason
    assert trial.faults[0].at is None


def test_a_master_that_answers_late_before_the_fault(tmp_path: Path) -> None:
    trial = only(tmp_path, KILL, breaking(looks=(None, WHOLE)))
    assert trial.verdict.valid, trial.verdict.reason
    assert trial.faults[0].at is not None


def test_a_master_that_is_silent_before_the_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(injection, "_ANSWER_S", 0.1)
    trial = only(tmp_path, KILL, breaking(looks=(None,)))
    assert "did not answer just before the fault" in trial.verdict.reason


def test_what_cannot_be_put_back_never_leaks_into_the_next_trial(tmp_path: Path) -> None:
    here = breaking(stays_broken=True)
    trials = run_study(tmp_path / "out", plan(KILL, rounds=2), here)

    broken = [trial for trial in trials if trial.treatment.id == "broken"]
    assert [trial.outcome for trial in broken] == ["finished"] * 2, "its output was verified"
    assert all("after the fault: HDFS is not whole" in trial.flags[0] for trial in broken)
    order = [trial.treatment.id for trial in trials]
    numbers = [trial.deployment or 0 for trial in trials]
    assert all(
        later > number
        for name, number, later in zip(order, numbers, numbers[1:], strict=False)
        if name == "broken"
    )


def test_an_interrupt_in_the_middle_closes_the_cluster(tmp_path: Path) -> None:
    here: BreakingTestbed = breaking(faults={(1, "terasort"): ctrl_c})
    with pytest.raises(KeyboardInterrupt):
        only(tmp_path, "kind: slow-nic, host: worker-1, phase: terasort", here)
    assert here.events == [("slow NIC", "worker-1", 0.1)], "the cluster goes with what is broken"
    assert here.open == 0


def test_the_record_reads_back(tmp_path: Path) -> None:
    trial = only(tmp_path, KILL, breaking())
    again = Trial.model_validate_json(trial.model_dump_json(by_alias=True))
    assert again == trial
    assert again.treatment.overrides["fault"][0]["role"] == "datanode"


OUT = "kind: decommission, host: worker-2, phase: terasort, watch: 2 s"


@pytest.mark.parametrize("lasts", ["", ", lasts: 1 ms"])
def test_the_time_until_data_has_moved_back_is_a_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasts: str
) -> None:
    monkeypatch.setattr(decommission, "_PLANNED_S", 0.0)
    out, copied, moving = Copies(2, 5, True), Copies(2, 0, True), Copies(3, 0, False)
    looks = (WHOLE, out, copied, moving, moving, WHOLE)
    here = breaking(looks=looks, moves_data_back=True)
    trial = only(tmp_path, OUT + lasts, here)

    (fault,) = trial.faults
    assert here.events == [
        ("decommission", "worker-2"),
        ("undo", "decommission"),
        ("restore", True),
    ]
    assert fault.target == "the storage on worker-2"
    assert fault.moved_back_s is not None and fault.watched_back_s is not None
    assert fault.at is not None and fault.undone_at is not None
    assert 0 <= fault.moved_back_s <= fault.watched_back_s
    assert fault.noticed_s is None and "fault_noticed" not in trial.metrics
    assert trial.metrics["data_moved_back"].value == fault.moved_back_s
    assert (fault.whole_s is None) is bool(lasts), "the host was back before"


def test_a_storage_that_moves_nothing_back_has_no_such_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decommission, "_PLANNED_S", 0.0)
    trial = only(tmp_path, OUT, breaking(looks=(WHOLE, Copies(2, 0, True))))
    (fault,) = trial.faults
    assert fault.whole_s is not None
    assert (fault.moved_back_s, fault.watched_back_s) == (None, None)
    assert "data_moved_back" not in trial.metrics


def test_data_that_does_not_move_back_in_time_is_unknown(tmp_path: Path) -> None:
    looks = (WHOLE, Copies(2, 5, True))
    here = breaking(looks=looks, moves_data_back=True)
    trial = only(tmp_path, OUT.replace("2 s", "50 ms"), here)
    (fault,) = trial.faults
    assert (fault.whole_s, fault.moved_back_s) == (None, None)
    assert fault.watched_back_s is not None
    assert trial.verdict.valid


def test_data_moves_back_when_the_other_faults_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decommission, "_PLANNED_S", 0.0)
    looks = (WHOLE, Copies(2, 0, True), Copies(2, 0, True), WHOLE)
    here = breaking(looks=looks, moves_data_back=True)
    found = plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 1000, input_replication: 1, output_replication: 1}}\n"
        f"fault: [{{{OUT}}}, {{{KILL}}}]\n"
        "protocol: {rounds: 1, extra_rounds: 0, retry_invalid: 0}\n"
    )
    run_study(tmp_path / "out", found, here)
    (trial,) = read_results(tmp_path / "out").trials
    undone = [event[1] for event in here.events if event[0] == "undo"]
    assert undone == ["kill", "decommission"]
    assert "data_moved_back" in trial.metrics, "the other fault moves no data"


TRINO = "kind: kill-daemon, role: trino-worker, host: worker-2, phase: terasort"


@pytest.mark.parametrize("lasts", ["", ", lasts: 10 min"])
def test_a_fault_of_what_runs_for_one_phase_ends_with_that_phase(
    tmp_path: Path, lasts: str
) -> None:
    seen: dict[str, list[Any]] = {}

    def look(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
        seen[phase] = list(here.events)

    here = breaking(faults={(1, name): look for name in ("terasort", "teravalidate")})
    trial = only(tmp_path, TRINO + lasts, here)

    killed = ("kill", "trino-worker", "worker-2")
    assert seen == {"terasort": [killed], "teravalidate": [killed, ("undo", "kill")]}
    (fault,) = trial.faults
    phases = {phase.name: phase for phase in trial.phases}
    assert fault.undone_at is not None
    assert fault.undone_at < phases["teravalidate"].finished_at
    assert trial.outcome == "finished"


def test_queries_that_fail_with_their_worker_are_an_outcome(tmp_path: Path) -> None:
    here = breaking(faults={(1, "terasort"): job_fails})
    trial = only(tmp_path, TRINO, here)
    assert (trial.outcome, trial.verdict.valid) == ("job failed", False)
    assert trial.faults[0].at is not None and trial.faults[0].undone_at is None


def test_a_deployment_that_has_no_faults_is_refused() -> None:
    fault = FAULTS["kill-host"].model_validate({"kind": "kill-host", "host": "worker-1"})
    deployment: Any = MockDeployment(MockTestbed(), load_cluster("local-3"), 1)
    with pytest.raises(DeploymentError, match="this deployment does not support faults"):
        Injector([fault], deployment.cluster, ["terasort"], deployment)


def test_a_fault_after_the_end_of_the_job_is_a_problem() -> None:
    """The phase ends later than its job: the client ends, and the history is read."""

    here = breaking()
    fault = FAULTS["kill-daemon"].model_validate({"kind": "kill-daemon", "role": "datanode"})
    cluster = load_cluster("local-3")
    faulty = MockFaults(here, MockDeployment(here, cluster, 1))
    late, timely = (Injection(fault, cluster, faulty, "terasort") for _ in range(2))
    for one, after_s in ((late, -0.001), (timely, 0.001)):
        one.start()
        one._decided.wait(10)
        assert one.record.at is not None
        one.phase_over(one.record.at + after_s)
        one.abandon()
    assert "which ended earlier" in late.problem
    assert timely.problem == ""


def test_a_failed_clean_up_does_not_change_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(deployment: MockDeployment, folder: str) -> dict[str, Any]:
        raise DeploymentError("the NameNode does not answer")

    monkeypatch.setattr(MockDeployment, "storage_metrics", fail)
    trial = only(tmp_path, KILL, breaking())
    assert trial.verdict.valid
    assert "the files of the trial were not removed: the NameNode does not answer" in trial.flags
