"""What the protocol asks of the runner: restarts, pauses, retests, states of the cache."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.mock import Diary, MockTestbed, ctrl_c, daemon_dies, plan_from, run_study
from windtunnel.cluster import Cluster
from windtunnel.errors import InterruptedStudyError, NotRealisableError
from windtunnel.study import runner
from windtunnel.study.check import check_plan
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import Plan
from windtunnel.study.record import study_record
from windtunnel.study.runner import Runner


def plan(protocol: str, rows: int = 100) -> Plan:
    return plan_from(
        "study: toy\ncluster: local-3\n"
        f"workloads: {{terasort: {{rows: {rows}, input_replication: 1, output_replication: 1}}}}\n"
        "factors: {sort: {small: {}, large: {settings.mapreduce.task.io.sort.mb: 256}}}\n"
        f"protocol: {{{protocol}}}\n"
    )


# -- nested repetition -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("restart", "numbers"),
    [
        ("never", [1, 1, 1, 1, 1, 1]),
        ("round", [1, 1, 2, 2, 3, 3]),
        ("trial", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_trials_are_nested_in_the_starts_of_the_cluster(
    tmp_path: Path, restart: str, numbers: list[int]
) -> None:
    testbed, diary = MockTestbed(), Diary()
    of = plan(f"rounds: 3, restart: {restart}")
    trials = run_study(tmp_path / "out", of, testbed, diary=diary)

    assert [trial.deployment for trial in trials] == numbers
    assert len(testbed.deployed) == numbers[-1]
    assert testbed.open == 0
    if restart != "never":
        assert diary.deployments[1] == f"the protocol restarts it before each {restart}"


def test_the_starts_are_counted_on_when_a_study_goes_on(tmp_path: Path) -> None:
    of = plan("rounds: 3, restart: round")
    with pytest.raises(KeyboardInterrupt):
        run_study(tmp_path / "out", of, MockTestbed(faults={(4, "terasort"): ctrl_c}))
    trials = run_study(tmp_path / "out", of)

    assert [trial.deployment for trial in trials] == [1, 1, 2, 3, 4, 4]


def test_a_start_that_failed_is_a_start(tmp_path: Path) -> None:
    trials = run_study(tmp_path / "out", plan("rounds: 1"), MockTestbed(broken_deployments=[1]))

    assert [trial.deployment for trial in trials] == [1, 2, 2]


def test_a_dead_daemon_makes_a_new_start(tmp_path: Path) -> None:
    testbed = MockTestbed(faults={(2, "terasort"): daemon_dies})
    trials = run_study(tmp_path / "out", plan("rounds: 2"), testbed)

    assert [trial.deployment for trial in trials] == [1, 1, 2, 2, 2]


# -- pauses ------------------------------------------------------------------------------


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.on_sleep: Any = lambda: None

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1e9 + self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)
        self.on_sleep()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(runner, "time", made)
    return made


def test_there_is_a_pause_between_two_trials_and_none_before_the_first(
    tmp_path: Path, clock: Clock
) -> None:
    run_study(tmp_path / "out", plan("rounds: 2, pause: 10 s"))

    assert sum(clock.slept) == pytest.approx(30)


def test_a_stop_is_heard_in_a_pause(tmp_path: Path, clock: Clock) -> None:
    of = plan("rounds: 2, pause: 1 h")
    with open_journal(tmp_path / "out", study_record(of)) as journal:
        run = Runner(of, journal, MockTestbed(), Diary())  # type: ignore[arg-type]
        clock.on_sleep = lambda: setattr(run, "stop_requested", True)
        with pytest.raises(InterruptedStudyError, match="after 1 of 4"):
            run.run()

    assert sum(clock.slept) < 10


# -- all again -----------------------------------------------------------------------------


def wild_until(trial_number: int) -> MockTestbed:
    """``large`` swings between 1 and 10 s in the first trials, ``small`` never."""

    def elapsed_s(trial: int, phase: str, cluster: Cluster) -> float:
        if not cluster.settings or trial > trial_number:
            return 5.0
        return 1.0 if trial % 4 < 2 else 10.0

    return MockTestbed(elapsed_s=elapsed_s)


def test_all_again_runs_the_whole_set_of_a_noisy_cell_and_drops_nothing(tmp_path: Path) -> None:
    trials = run_study(tmp_path / "out", plan("preset: cisco-2014"), wild_until(6))

    extra = [(trial.round, trial.treatment.id) for trial in trials if trial.extra]
    assert extra == [(4, "large"), (5, "large"), (6, "large")]
    assert Counter(t.treatment.id for t in trials if t.verdict.valid) == {"small": 3, "large": 6}


def test_all_again_looks_at_the_last_set_alone(tmp_path: Path) -> None:
    """The first set stays wild for ever; the second is calm, so there is no third."""
    trials = run_study(
        tmp_path / "calm", plan("retest: all again, rounds: 3, extra_rounds: 6"), wild_until(6)
    )
    assert max(trial.round for trial in trials) == 6

    trials = run_study(
        tmp_path / "wild", plan("retest: all again, rounds: 3, extra_rounds: 8"), wild_until(99)
    )
    assert max(trial.round for trial in trials) == 9, "two whole sets fit into eight rounds"


def test_an_interrupted_set_is_gone_on_with(tmp_path: Path) -> None:
    of = plan("preset: cisco-2014")
    broken = wild_until(6)
    broken.faults = {(8, "terasort"): ctrl_c}
    with pytest.raises(KeyboardInterrupt):
        run_study(tmp_path / "out", of, broken)
    trials = run_study(tmp_path / "out", of, wild_until(0))

    assert [trial.round for trial in trials if trial.extra] == [4, 5, 6]


# -- the cache ---------------------------------------------------------------------------


class WithMemory(MockTestbed):
    """A testbed of a thousand bytes."""

    def cache_bytes(self) -> int:
        return 1000


def test_data_that_memory_can_hold_is_not_larger_than_memory() -> None:
    with pytest.raises(NotRealisableError) as caught:
        check_plan(plan("cache: larger-than-memory", rows=10), WithMemory())  # type: ignore[arg-type]
    assert "fits in the memory that can cache it (1.00 kB)" in caught.value.message

    check_plan(plan("cache: larger-than-memory", rows=11), WithMemory())  # type: ignore[arg-type]
    check_plan(plan("cache: warm", rows=10), WithMemory())  # type: ignore[arg-type]


def test_the_state_of_the_cache_is_in_every_trial(tmp_path: Path) -> None:
    trials = run_study(tmp_path / "out", plan("rounds: 1, cache: larger-than-memory"))

    states = {trial.before.cache_state for trial in trials if trial.before}
    assert states == {"larger than memory"}


# -- many treatments -----------------------------------------------------------------------


def test_what_only_one_of_many_treatments_cannot_do_is_found_before_a_run() -> None:
    class Picky(MockTestbed):
        def check(self, cluster: Cluster) -> Any:
            from windtunnel.testbeds.base import Realisation

            bad = [str(cluster.settings.get(name)) for name in "abc"] == ["7", "7", "7"]
            return Realisation(["three sevens"] if bad else [])

    ten = ", ".join(str(n) for n in range(10))
    of = plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 9, input_replication: 1, output_replication: 1}}\n"
        f"factors: {{settings.a: [{ten}], settings.b: [{ten}], settings.c: [{ten}]}}\n"
    )
    with pytest.raises(NotRealisableError, match="treatment a 7, b 7, c 7: three sevens"):
        check_plan(of, Picky())  # type: ignore[arg-type]
    assert len(of.looked_at) < 300
