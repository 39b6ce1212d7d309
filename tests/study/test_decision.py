"""A study that fixes its number of rounds after a pilot: once, durably, from the spread."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.study.test_runner import ids
from tests.support.mock import (
    Diary,
    MockTestbed,
    ctrl_c,
    job_fails,
    plan_from,
    run_study,
    toy_plan,
)
from windtunnel.analysis.analyse import analyse
from windtunnel.cluster import Cluster
from windtunnel.errors import ResultsError
from windtunnel.report.sections import sample_size
from windtunnel.results.decision import DecisionRecord, read_decision
from windtunnel.results.folder import read_results
from windtunnel.study import runner
from windtunnel.study.journal import Journal, open_journal
from windtunnel.study.plan import Plan
from windtunnel.study.record import study_record
from windtunnel.study.runner import Runner


def plan(detect: str = "10 %", most: int = 12) -> Plan:
    return plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 100, input_replication: 1, output_replication: 1}}\n"
        "factors: {sort: {small: {}, large: {settings.mapreduce.task.io.sort.mb: 256}}}\n"
        "design: ab\n"
        f"protocol: {{detect: {detect}, pilot_rounds: 3, max_rounds: {most}, extra_rounds: 0}}\n"
    )


def noisy(effect: float = 1.0) -> MockTestbed:
    """About 6 % of noise that is the same in every run of the tests."""

    def elapsed_s(trial: int, phase: str, cluster: Cluster) -> float:
        draw = random.Random(trial).gauss(0, 0.06)
        return 10 * (1 + draw) * (effect if cluster.settings else 1.0)

    return MockTestbed(elapsed_s=elapsed_s)


def decision_of(folder: Path) -> DecisionRecord:
    found = read_decision(folder)
    assert found is not None
    return found


def test_the_pilot_decides_and_its_trials_count(tmp_path: Path) -> None:
    diary = Diary()
    trials = run_study(tmp_path / "out", plan(), noisy(), diary=diary)
    found = decision_of(tmp_path / "out")

    assert 3 < found.rounds <= 12
    assert len(trials) == 2 * found.rounds
    assert found.trials == 6, "decided on three rounds of two"
    assert not any(trial.extra for trial in trials)
    assert found.text in diary.notes
    assert diary.began == (0, 6)
    assert diary.counts[-1] == (len(trials), len(trials))


def test_the_decision_is_the_same_whatever_the_difference(tmp_path: Path) -> None:
    run_study(tmp_path / "same", plan(), noisy())
    run_study(tmp_path / "far", plan(), noisy(effect=3.0))

    same, far = decision_of(tmp_path / "same"), decision_of(tmp_path / "far")
    assert same.needed == far.needed
    assert same.sd_log == pytest.approx(far.sd_log)


def test_a_study_that_would_need_too_many_rounds_runs_the_most_and_says_so(tmp_path: Path) -> None:
    trials = run_study(tmp_path / "out", plan(detect="1 %", most=5), noisy())
    found = decision_of(tmp_path / "out")

    assert found.capped
    assert (found.rounds, len(trials)) == (5, 10)
    assert found.detectable is not None and found.detectable > 0.01


@pytest.mark.parametrize("killed", [1, 4, 6, 7, 9])
def test_a_stop_at_any_trial_changes_nothing(tmp_path: Path, killed: int) -> None:
    whole = run_study(tmp_path / "whole", plan(), noisy())
    broken = noisy()
    broken.faults = {(killed, "terasort"): ctrl_c}
    with pytest.raises(KeyboardInterrupt):
        run_study(tmp_path / "out", plan(), broken)
    early = read_decision(tmp_path / "out")
    assert (early is not None) == (killed > 6)

    rest = noisy()
    before = len(list((tmp_path / "out" / "trials").iterdir()))
    rest.jobs.append((before, "teragen", {}))  # the noise goes on where it was
    trials = run_study(tmp_path / "out", plan(), rest)
    assert ids(trials) == ids(whole)
    assert decision_of(tmp_path / "out").needed == decision_of(tmp_path / "whole").needed
    if early is not None:
        assert decision_of(tmp_path / "out") == early


def test_killed_between_pilot_and_decision_it_decides_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner, "decide", killed)
        with pytest.raises(KeyboardInterrupt):
            run_study(tmp_path / "out", plan(), noisy())
    assert read_decision(tmp_path / "out") is None
    assert len(list((tmp_path / "out" / "trials").iterdir())) == 6

    run_study(tmp_path / "out", plan(), noisy())
    assert decision_of(tmp_path / "out").trials == 6


def test_killed_while_the_decision_is_written_it_is_absent_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(self: Journal, decision: DecisionRecord) -> None:
        (self.path / ".decision.json.0a1b2c3d.new").write_text('{"schema"')
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "decide", half)
        with pytest.raises(KeyboardInterrupt):
            run_study(tmp_path / "out", plan(), noisy())
    run_study(tmp_path / "out", plan(), noisy())

    assert decision_of(tmp_path / "out").trials == 6
    assert not (tmp_path / "out" / ".decision.json.0a1b2c3d.new").exists()


def test_a_decision_that_was_made_is_never_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if the pilot's lost slots are filled later."""
    bad = {(number, "terasort"): job_fails for number in (1, 3)}
    lossy = noisy()
    lossy.faults = bad
    run_study(tmp_path / "out", plan(), lossy)
    made = decision_of(tmp_path / "out")
    monkeypatch.setattr(runner, "decide", None)

    run_study(tmp_path / "out", plan(), noisy(), retry_invalid=True)
    assert decision_of(tmp_path / "out") == made


def test_a_damaged_decision_stops_the_study_before_it_runs(tmp_path: Path) -> None:
    run_study(tmp_path / "out", plan(), noisy())
    file = tmp_path / "out" / "decision.json"
    file.write_text(file.read_text()[:50])
    testbed = noisy()

    with pytest.raises(ResultsError, match=r"decision\.json cannot be read") as caught:
        run_study(tmp_path / "out", plan(), testbed)
    assert testbed.jobs == []
    assert caught.value.remedy

    file.write_text(json.dumps({"schema": "windtunnel.decision/9"}))
    with pytest.raises(ResultsError):
        run_study(tmp_path / "out", plan(), testbed)


# -- --pilot -----------------------------------------------------------------------------


def run_pilot(folder: Path, of: Plan) -> int:
    last = of.protocol.pilot_rounds or 1
    with open_journal(folder, study_record(of)) as journal:
        Runner(of, journal, noisy(), Diary(), last_round=last).run()  # type: ignore[arg-type]
    return len(list((folder / "trials").iterdir()))


def test_a_pilot_stops_after_its_rounds_and_the_study_goes_on_from_there(tmp_path: Path) -> None:
    assert run_pilot(tmp_path / "out", plan()) == 6
    made = decision_of(tmp_path / "out")
    assert run_pilot(tmp_path / "out", plan()) == 6, "a second pilot has nothing to do"

    trials = run_study(tmp_path / "out", plan(), noisy())
    assert len(trials) == 2 * made.rounds
    assert decision_of(tmp_path / "out") == made


def test_the_pilot_of_a_study_without_detect_is_its_first_round(tmp_path: Path) -> None:
    of = plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads: {terasort: {rows: 100, input_replication: 1, output_replication: 1}}\n"
        "factors: {settings.a: [1, 2]}\nprotocol: {rounds: 3, warmup: 1}\n"
    )
    assert run_pilot(tmp_path / "out", of) == 4
    assert read_decision(tmp_path / "out") is None
    assert len(run_study(tmp_path / "out", of)) == 10, "it warms up again before it goes on"


# -- in the report -----------------------------------------------------------------------


def test_the_report_says_how_many_trials_and_why(tmp_path: Path) -> None:
    run_study(tmp_path / "out", plan(), noisy())
    made = decision_of(tmp_path / "out")
    analysis = analyse(read_results(tmp_path / "out"))

    section = sample_size.section(analysis)
    assert section is not None
    assert section.said == (made.text,)
    assert section.data["rounds"] == made.rounds
    assert "incomplete" not in [warning.id for warning in analysis.warnings]


def test_a_study_that_stopped_after_its_pilot_is_incomplete(tmp_path: Path) -> None:
    run_pilot(tmp_path / "out", plan())
    (said,) = [
        warning.text
        for warning in analyse(read_results(tmp_path / "out")).warnings
        if warning.id == "incomplete"
    ]

    assert f"3 of {decision_of(tmp_path / 'out').rounds}" in said


def test_without_a_pilot_there_is_nothing_to_say(tmp_path: Path) -> None:
    run_study(tmp_path / "out", toy_plan(rounds=2))

    assert sample_size.section(analyse(read_results(tmp_path / "out"))) is None
