"""The runner on the mock testbed: rounds, invalid trials, retests, stops, resuming."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.forks import Forks
from tests.support.mock import (
    Diary,
    MockTestbed,
    ctrl_c,
    daemon_dies,
    dies_afterwards,
    job_fails,
    plan_from,
    run_study,
    toy_plan,
    wrong_checksum,
)
from windtunnel.cluster import Cluster
from windtunnel.errors import InterruptedStudyError, StudyStoppedError
from windtunnel.results.folder import read_results
from windtunnel.results.record import Trial
from windtunnel.study.journal import open_journal
from windtunnel.study.record import study_record
from windtunnel.study.runner import Runner


def ids(trials: list[Trial]) -> list[str]:
    return sorted(trial.id for trial in trials)


def valid_by_slot(trials: list[Trial]) -> Counter[tuple[int, str]]:
    return Counter((t.round, t.treatment.id) for t in trials if t.verdict.valid)


def exactly(rounds: int) -> Counter[tuple[int, str]]:
    """One valid trial of each treatment in each round."""
    return Counter((number + 1, t) for number in range(rounds) for t in ("small", "large"))


# -- a study that goes well ------------------------------------------------------------


def test_every_slot_gets_one_verified_trial(tmp_path: Path) -> None:
    diary = Diary()
    trials = run_study(tmp_path / "out", toy_plan(rounds=3), diary=diary)

    assert valid_by_slot(trials) == exactly(3)
    assert all(trial.verdict.valid and trial.attempt == 1 for trial in trials)
    assert diary.began == (0, 6)
    assert [done for done, _ in diary.counts] == [1, 2, 3, 4, 5, 6]


def test_trials_run_in_the_order_of_the_plan(tmp_path: Path) -> None:
    plan = toy_plan(rounds=3, seed=7)
    trials = run_study(tmp_path / "out", plan)

    planned = [slot.treatment.id for r in (1, 2, 3) for slot in plan.round_slots(r)]
    assert [trial.treatment.id for trial in trials] == planned
    assert [trial.position for trial in trials] == [1, 2] * 3


def test_a_change_of_job_settings_alone_does_not_deploy_anew(tmp_path: Path) -> None:
    testbed, diary = MockTestbed(), Diary()
    run_study(tmp_path / "out", toy_plan(rounds=3), testbed, diary=diary)

    assert len(testbed.deployed) == 1
    assert "job settings changed" in diary.notes


def test_an_input_that_is_used_again_is_generated_once_for_each_cluster(tmp_path: Path) -> None:
    plan = plan_from(
        "study: toy\ncluster: local-3\nworkloads:\n"
        "  terasort: {rows: 9, input_replication: 1, output_replication: 1, reuse_input: true}\n"
        "factors: {settings.dfs.blocksize: [1048576, 2097152]}\nprotocol: {rounds: 3}\n"
    )
    testbed = MockTestbed()
    trials = run_study(tmp_path / "out", plan, testbed)

    assert all(trial.verdict.valid for trial in trials)
    assert [phase.name for phase in trials[0].phases] == ["terasort", "teravalidate"]
    assert sum(phase == "teragen" for _, phase, _ in testbed.jobs) == 2


def test_a_change_of_the_daemons_deploys_anew(tmp_path: Path) -> None:
    plan = plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 100, input_replication: 1, output_replication: 1}}\n"
        "factors: {hosts.worker.count: [3, 4]}\nprotocol: {rounds: 1}\n"
    )
    testbed = MockTestbed()
    run_study(tmp_path / "out", plan, testbed)

    assert sorted(cluster.hosts["worker"].count for cluster in testbed.deployed) == [3, 4]
    assert testbed.open == 0


def test_running_a_finished_study_again_runs_nothing(tmp_path: Path) -> None:
    first = run_study(tmp_path / "out", toy_plan())
    testbed, diary = MockTestbed(), Diary()

    assert run_study(tmp_path / "out", toy_plan(), testbed, diary=diary) == first
    assert diary.began == (4, 4)
    assert testbed.jobs == []
    assert testbed.deployed == []


# -- invalid trials --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "fault", "reason"),
    [
        ("teragen", job_fails, "teragen failed (exit code 1): a made-up reason"),
        ("terasort", daemon_dies, "the datanode on worker-2 has died (killed by signal 9)"),
        ("teravalidate", wrong_checksum, "checksum of the output against TeraGen's"),
    ],
)
def test_an_invalid_trial_is_kept_with_its_reason_and_the_study_goes_on(
    tmp_path: Path, phase: str, fault: object, reason: str
) -> None:
    testbed = MockTestbed(faults={(1, phase): fault})  # type: ignore[dict-item]
    trials = run_study(tmp_path / "out", toy_plan(rounds=2), testbed)

    invalid = [trial for trial in trials if not trial.verdict.valid]
    assert len(invalid) == 1
    assert reason in invalid[0].verdict.reason
    assert valid_by_slot(trials) == exactly(2)


def test_the_slot_of_an_invalid_trial_is_run_again_at_the_end_of_its_round(
    tmp_path: Path,
) -> None:
    plan = toy_plan(rounds=2)
    trials = run_study(tmp_path / "out", plan, MockTestbed(faults={(1, "terasort"): job_fails}))

    first, second = (slot.treatment.id for slot in plan.round_slots(1))
    assert [(t.round, t.treatment.id, t.attempt) for t in trials][:3] == [
        (1, first, 1),
        (1, second, 1),
        (1, first, 2),
    ]
    assert trials[3].round == 2


def test_a_slot_that_stays_invalid_is_run_twice_and_left(tmp_path: Path) -> None:
    testbed = MockTestbed(faults={(1, "terasort"): job_fails, (3, "terasort"): job_fails})
    diary = Diary()
    trials = run_study(tmp_path / "out", toy_plan(rounds=2), testbed, diary=diary)

    lost = [trial for trial in trials if not trial.verdict.valid]
    assert [trial.attempt for trial in lost] == [1, 2]
    assert len(trials) == 5
    assert diary.counts[-1] == (4, 4)


def test_the_protocol_may_forbid_retries(tmp_path: Path) -> None:
    testbed = MockTestbed(faults={(1, "terasort"): job_fails})
    trials = run_study(tmp_path / "out", toy_plan(retry_invalid=0), testbed)

    assert [trial.verdict.valid for trial in trials] == [False, True, True, True]


def three_failures() -> MockTestbed:
    return MockTestbed(faults={(number, "terasort"): job_fails for number in (1, 2, 3)})


def test_three_invalid_trials_in_a_row_stop_the_study(tmp_path: Path) -> None:
    with pytest.raises(StudyStoppedError, match=r"3 consecutive trials.*made-up reason") as caught:
        run_study(tmp_path / "out", toy_plan(rounds=4), three_failures())

    assert caught.value.exit_code == 8
    assert "--retry-invalid" in caught.value.remedy
    assert len(read_results(tmp_path / "out").trials) == 3


def test_a_study_without_a_valid_trial_ends_with_an_error(tmp_path: Path) -> None:
    bad = MockTestbed(faults={(number, "terasort"): job_fails for number in (1, 2)})
    plan = toy_plan(rounds=1, retry_invalid=0)
    with pytest.raises(StudyStoppedError, match=r"no trial of the study.*made-up") as caught:
        run_study(tmp_path / "out", plan, bad)

    assert caught.value.exit_code == 8
    assert len(read_results(tmp_path / "out").trials) == 2
    run_study(tmp_path / "out", plan, MockTestbed(), retry_invalid=True)
    assert any(trial.verdict.valid for trial in read_results(tmp_path / "out").trials)


def test_two_invalid_trials_and_a_valid_one_start_the_count_anew(tmp_path: Path) -> None:
    bad = {(number, "terasort"): job_fails for number in (1, 2, 4, 5)}
    trials = run_study(tmp_path / "out", toy_plan(rounds=3), MockTestbed(faults=bad))

    assert sum(not trial.verdict.valid for trial in trials) == 4


def test_retry_invalid_runs_the_lost_slots_once_more_and_only_those(tmp_path: Path) -> None:
    with pytest.raises(StudyStoppedError):
        run_study(tmp_path / "out", toy_plan(rounds=2), three_failures())
    before = len(read_results(tmp_path / "out").trials)
    trials = run_study(tmp_path / "out", toy_plan(rounds=2), retry_invalid=True)

    assert valid_by_slot(trials) == exactly(2)
    assert len(trials) == before + 4  # three slots were tried in vain or not at all, and round 2


def test_without_retry_invalid_a_lost_slot_stays_lost(tmp_path: Path) -> None:
    lost = MockTestbed(faults={(1, "terasort"): job_fails, (3, "terasort"): job_fails})
    run_study(tmp_path / "out", toy_plan(rounds=1), lost)
    again = MockTestbed()

    assert len(run_study(tmp_path / "out", toy_plan(rounds=1), again)) == 3
    assert again.jobs == []
    assert len(run_study(tmp_path / "out", toy_plan(rounds=1), retry_invalid=True)) == 4


# -- deployments that fail -------------------------------------------------------------


def test_a_deployment_that_does_not_come_up_is_an_invalid_trial(tmp_path: Path) -> None:
    testbed = MockTestbed(broken_deployments=[1])
    trials = run_study(tmp_path / "out", toy_plan(rounds=1), testbed)

    assert trials[0].verdict.reason.startswith("the cluster did not start: not ready after")
    assert trials[0].phases == []
    assert valid_by_slot(trials) == exactly(1)


def test_a_cluster_that_never_comes_up_stops_the_study(tmp_path: Path) -> None:
    testbed = MockTestbed(broken_deployments=range(1, 100))
    with pytest.raises(StudyStoppedError, match="did not start"):
        run_study(tmp_path / "out", toy_plan(rounds=4), testbed)

    assert len(testbed.deployed) == 3
    assert testbed.open == 0


def test_a_daemon_that_dies_in_a_trial_leads_to_a_fresh_deployment(tmp_path: Path) -> None:
    testbed, diary = MockTestbed(faults={(2, "terasort"): daemon_dies}), Diary()
    run_study(tmp_path / "out", toy_plan(rounds=2), testbed, diary=diary)

    assert len(testbed.deployed) == 2
    assert testbed.open == 0


def test_a_job_that_failed_leads_to_a_fresh_deployment(tmp_path: Path) -> None:
    testbed = MockTestbed(faults={(2, "terasort"): job_fails})
    run_study(tmp_path / "out", toy_plan(rounds=2), testbed)

    assert len(testbed.deployed) == 2, "its containers may still be running"


def test_a_daemon_that_dies_between_trials_costs_no_trial(tmp_path: Path) -> None:
    testbed, diary = MockTestbed(faults={(2, "teravalidate"): dies_afterwards}), Diary()
    trials = run_study(tmp_path / "out", toy_plan(rounds=2), testbed, diary=diary)

    assert all(trial.verdict.valid for trial in trials)
    assert len(testbed.deployed) == 2
    assert diary.deployments[1] == "the nodemanager on worker-1 has died (killed by signal 9)"


# -- extra rounds ----------------------------------------------------------------------


def large_is_noisy(trial: int, phase: str, cluster: Cluster) -> float:
    """The treatment ``large`` takes 1 s or 10 s in turn; ``small`` always 5 s."""
    if not cluster.settings:
        return 5.0
    return 1.0 if trial % 4 < 2 else 10.0


def test_cells_that_vary_too_much_and_only_those_get_extra_rounds_up_to_the_cap(
    tmp_path: Path,
) -> None:
    diary = Diary()
    plan = toy_plan(rounds=3, extra_rounds=2)
    trials = run_study(tmp_path / "out", plan, MockTestbed(elapsed_s=large_is_noisy), diary=diary)

    extra = [trial for trial in trials if trial.extra]
    assert [(trial.round, trial.treatment.id) for trial in extra] == [(4, "large"), (5, "large")]
    assert sum(not trial.extra for trial in trials) == 6
    assert diary.counts[-1] == (8, 8)
    assert any("variation above the limit" in note for note in diary.notes)


def test_a_steady_study_gets_no_extra_rounds(tmp_path: Path) -> None:
    trials = run_study(tmp_path / "out", toy_plan(rounds=3, extra_rounds=2))

    assert len(trials) == 6
    assert not any(trial.extra for trial in trials)


def test_invalid_and_warm_up_trials_say_nothing_about_the_variation(tmp_path: Path) -> None:
    def slow_at_first(trial: int, phase: str, cluster: Cluster) -> float:
        return 100.0 if trial in (1, 2, 3) else 5.0

    bad = {(3, "teravalidate"): wrong_checksum}
    testbed = MockTestbed(faults=bad, elapsed_s=slow_at_first)
    plan = toy_plan(rounds=2, warmup=1, extra_rounds=2)

    assert not any(trial.extra for trial in run_study(tmp_path / "out", plan, testbed))


def test_extra_rounds_end_once_the_variation_is_below_the_limit(tmp_path: Path) -> None:
    times = {1: 10.0, 2: 16.0}  # two far apart; every later one is in their middle

    def settles(trial: int, phase: str, cluster: Cluster) -> float:
        return times.get(trial, 13.0)

    plan = plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 100, input_replication: 1, output_replication: 1}}\n"
        "protocol: {rounds: 2, extra_rounds: 9, variation_limit: 20 %}\n"
    )
    trials = run_study(tmp_path / "out", plan, MockTestbed(elapsed_s=settles))

    # CV of (10, 16) is 33 %, of (10, 16, 13) 23 %, of (10, 16, 13, 13) 19 %
    assert [trial.extra for trial in trials] == [False, False, True, True]


def test_an_interrupted_extra_round_is_gone_on_with(tmp_path: Path) -> None:
    plan = toy_plan(rounds=3, extra_rounds=2)
    broken = MockTestbed(elapsed_s=large_is_noisy, faults={(7, "terasort"): ctrl_c})
    with pytest.raises(KeyboardInterrupt):
        run_study(tmp_path / "out", plan, broken)
    trials = run_study(tmp_path / "out", plan, MockTestbed(elapsed_s=large_is_noisy))

    assert sum(trial.extra for trial in trials) == 2
    assert len(trials) == 8


# -- stops and resuming ----------------------------------------------------------------


def test_a_requested_stop_comes_after_the_current_trial(tmp_path: Path) -> None:
    plan = toy_plan(rounds=2)
    diary = Diary()
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        runner = Runner(plan, journal, MockTestbed(), diary)  # type: ignore[arg-type]
        diary.on_trial = lambda trial: setattr(runner, "stop_requested", len(diary.trials) == 3)
        with pytest.raises(
            InterruptedStudyError, match="stopped on request after 3 of 4 trials"
        ) as caught:
            runner.run()

    assert caught.value.exit_code == 130
    assert len(read_results(tmp_path / "out").trials) == 3
    assert valid_by_slot(run_study(tmp_path / "out", plan)) == exactly(2)


@pytest.mark.parametrize("trial", [1, 2, 3, 4])
@pytest.mark.parametrize("phase", ["teragen", "terasort", "teravalidate"])
def test_ctrl_c_at_once_loses_only_the_running_trial(
    tmp_path: Path, trial: int, phase: str
) -> None:
    testbed = MockTestbed(faults={(trial, phase): ctrl_c})
    with pytest.raises(KeyboardInterrupt):
        run_study(tmp_path / "out", toy_plan(rounds=2), testbed)
    assert testbed.open == 0
    kept = ids(read_results(tmp_path / "out").trials)
    assert len(kept) == trial - 1

    rest = MockTestbed()
    trials = run_study(tmp_path / "out", toy_plan(rounds=2), rest)
    assert valid_by_slot(trials) == exactly(2)
    assert len(trials) == 4
    assert set(kept) <= set(ids(trials))
    assert len([job for job in rest.jobs if job[1] == "teragen"]) == 4 - len(kept)


def test_kill_9_at_random_moments_and_the_exact_number_of_trials_after_it(
    tmp_path: Path, forks: Forks
) -> None:
    """Ten runs of 8 trials, the first killed in its first trial, the last after all of them."""
    moments = random.Random(20141121)
    for number in range(10):
        folder = tmp_path / f"out-{number}"
        child = forks.start("tests.support.mock", "run_in_child", str(folder), 0.01)
        while child.alive() and len(list(folder.glob("trials/*.json"))) < number:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.05))
        child.kill()
        kept = ids(read_results(folder).trials) if (folder / "study.json").is_file() else []

        trials = run_study(folder, toy_plan(rounds=4))
        assert valid_by_slot(trials) == exactly(4)
        assert len(trials) == 8, "none counted twice"
        assert set(kept) <= set(ids(trials)), "none lost"
