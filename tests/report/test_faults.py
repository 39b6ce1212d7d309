"""The section "Faults": outcomes that were counted right, times that are known or said unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.subjects.faults import fault_outcomes, struck
from windtunnel.report.charts.trials import describe, draw, key
from windtunnel.report.sections import headline, sections
from windtunnel.report.sections.base import Section
from windtunnel.report.sections.known import INTERVALS_UNKNOWN
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Fate, FaultRecord, StudyRecord, Trial, Verdict

FAULT = {"kind": "kill-daemon", "role": "datanode"}
# what becomes of the five trials with the fault, in their order
FATES: tuple[Fate | None, ...] = ("finished", "finished", "job failed", "output wrong", None)


def edit(trial: Trial) -> Trial:
    """The trials at the level ``killed`` have a fault."""
    if trial.treatment.levels["fault"] == "none":
        return trial
    number = trial.round - 1
    fate = FATES[number]
    sort = next(phase for phase in trial.phases if phase.name == "terasort")
    seen = fate == "finished" and number == 0
    fault = FaultRecord(
        kind="kill-daemon",
        target="the datanode on w3",
        text="the datanode on w3 killed 5 s into terasort, to the end",
        phase="terasort",
        after_s=5.0,
        at=sort.started_at + 3.0,
        undone_at=sort.started_at + 63.0 if fate == "finished" else None,
        noticed_s=14.0 if seen else None,
        whole_s=21.5 if seen else None,
        watched_s=33.0 if seen else 60.0,
    )
    verdict = trial.verdict if fate == "finished" else Verdict(valid=False, reason="made up")
    return trial.model_copy(update={"faults": [fault], "outcome": fate, "verdict": verdict})


def analysed(path: Path, trials: int, edited: Callable[[Trial], Trial] = edit) -> Analysis:
    plan = Plan(trials=trials, factor="fault", levels=("none", "killed"), effect=0.5, edit=edited)
    folder = study_folder(path / "results", plan)
    file = folder / "study.json"
    study = StudyRecord.model_validate_json(file.read_text())
    for treatment in study.treatments:
        if treatment.levels["fault"] == "killed":
            treatment.overrides["fault"] = [FAULT]
    file.write_text(study.model_dump_json(by_alias=True))
    return analyse(read_results(folder))


@pytest.fixture
def analysis(tmp_path: Path) -> Analysis:
    return analysed(tmp_path, 10)


def test_the_time_until_data_has_moved_back_is_a_column_if_it_is_known(tmp_path: Path) -> None:
    def returned(trial: Trial) -> Trial:
        made = edit(trial)
        faults = [
            fault.model_copy(update={"moved_back_s": 7.25, "watched_back_s": 8.0})
            for fault in made.faults
        ]
        return made.model_copy(update={"faults": faults})

    def header(results: Path, with_time: bool) -> list[str]:
        found = section(analysed(results, 10, returned if with_time else edit))
        return [one.name for one in found.tables[0].columns]

    assert "moved back after" not in header(tmp_path / "a", with_time=False)
    assert header(tmp_path / "b", with_time=True)[-1] == "moved back after"
    assert "Moved back" not in section(analysed(tmp_path / "c", 10)).tables[0].hint


def section(analysis: Analysis) -> Section:
    return next(section for section in sections(analysis) if section.id == "faults")


def test_outcomes_are_counted_over_the_trials_that_tell(analysis: Analysis) -> None:
    none, killed = fault_outcomes(analysis)
    assert (none.trials, none.finished, none.right, none.faults) == (5, 5, 5, ())
    assert (killed.trials, killed.finished, killed.right) == (4, 3, 2)
    assert killed.noticed is not None and killed.whole is not None
    assert (killed.noticed.seconds, killed.whole.seconds) == ((14.0,), (21.5,))
    assert killed.whole.watched_s == 60.0
    assert killed.effect is not None and killed.effect.n == 2, "a failed job is in no mean"
    assert killed.effect.relative == pytest.approx(0.31, abs=0.1)


def test_a_finished_job_in_an_invalid_trial_is_no_outcome(tmp_path: Path) -> None:
    found = analysed(tmp_path, 10)
    first = next(trial for trial in found.results.trials if trial.outcome == "finished")
    saturated = Verdict(valid=False, reason="the host machine was saturated")
    spoilt = first.model_copy(update={"verdict": saturated})
    trials = [spoilt if trial.id == first.id else trial for trial in found.results.trials]
    analysis = analyse(Results(found.results.path, found.study, trials))

    _, killed = fault_outcomes(analysis)
    assert (killed.trials, killed.finished, killed.right) == (3, 2, 1)
    outcomes = {event.trial: (event.outcome, event.reason) for event in struck(analysis)}
    assert outcomes[first.id] == ("does not count", "")


def test_the_section_says_it_in_words(analysis: Analysis) -> None:
    found = section(analysis)
    (sentence,) = found.said
    assert sentence.startswith("killed: the datanode on w3 killed 5 s into terasort, to the end. ")
    assert "3 of 4 jobs finished, 1 with wrong output" in sentence
    outcomes, timeline, reasons = found.tables
    assert outcomes.rows[1][-1] == "21.5 s, not within 60.0 s"
    assert outcomes.rows[1][:3] == ["killed", "3 of 4", "2 of 4"]
    assert outcomes.rows[0][-1] == ""
    assert outcomes.strong == {1}
    assert timeline.rows[0][2:] == ["finished", "3.00 s", "60.0 s"]
    assert timeline.rows[2][2:] == ["job failed", "3.00 s", "not undone"]
    assert len(timeline.rows) == 5
    assert [row[1:] for row in reasons.rows] == [
        ["job failed", "made up"],
        ["output wrong", "made up"],
    ]
    assert {entry["outcome"] for entry in found.data["timeline"]} == {
        *("finished", "job failed", "output wrong", "does not count")
    }


def test_a_trial_that_its_fault_ended_is_not_called_invalid(analysis: Analysis) -> None:
    killed = [t for t in analysis.trials if "killed" in analysis.name(t.treatment)]
    assert [t.verdict for t in killed] == [
        *("valid", "valid", "job failed", "output wrong", "invalid")
    ]
    found = {section.id: section for section in sections(analysis)}
    assert found["invalid"].data == [killed[-1].id]
    assert found["invalid"].brief == "1 invalid trial of 10; made up"
    (warning,) = (w for w in analysis.warnings if w.id == "invalid-trials")
    assert warning.text.startswith("1 invalid trial of 10, excluded")
    assert [t.verdict for t in killed if t.reason] == ["job failed", "output wrong", "invalid"]


def test_the_change_of_time_is_against_the_level_without_a_fault_and_with_the_same_settings(
    tmp_path: Path,
) -> None:
    levels = ("none", "ceph", "ceph, killed", "ha, killed")
    plan = Plan(trials=12, factor="storage", levels=levels, effect=0.5)
    folder = study_folder(tmp_path / "results", plan)
    file = folder / "study.json"
    study = StudyRecord.model_validate_json(file.read_text())
    for treatment in study.treatments[1:]:
        kind = treatment.levels["storage"].partition(",")[0]
        treatment.overrides["storage.kind"] = kind
        if treatment.levels["storage"].endswith("killed"):
            treatment.overrides["fault"] = [FAULT]
    file.write_text(study.model_dump_json(by_alias=True))
    analysis = analyse(read_results(folder))
    # the faults of the trials do not matter here: only finished trials have a time
    _, ceph, killed, alone = fault_outcomes(analysis)
    assert ceph.effect is None, "a level without a fault has no effect of a fault"
    assert killed.effect is not None and killed.effect.baseline == "ceph"
    assert killed.effect.relative == pytest.approx(28.5 / 80, abs=0.05), "not +78 %, against none"
    assert killed.effect.ci_low is not None and killed.effect.ci_low > 0
    assert alone.effect is None, "no level has the same settings without the fault"
    rows = {row[0]: row for row in section(analysis).tables[0].rows}
    assert rows["ha, killed"][4] == "unknown" and rows["ceph"][4] == ""


def test_no_fault_is_compared_with_another_fault(tmp_path: Path) -> None:
    """A fractional design: no two treatments differ in the fault alone, and all have one."""
    others: dict[str, tuple[str, ...]] = {"nic": ("1", "2"), "disk": ("1", "2")}
    plan = Plan(trials=16, factor="fault", levels=("a", "b"), extra_factors=others)
    folder = study_folder(tmp_path / "results", plan)
    file = folder / "study.json"
    study = StudyRecord.model_validate_json(file.read_text())
    kept = [
        t
        for t in study.treatments
        if (t.levels["fault"] == "a") == (t.levels["nic"] == t.levels["disk"])
    ]
    study = study.model_copy(update={"treatments": kept})

    def effects(faults: Mapping[str, Sequence[object]]) -> list[bool]:
        for one in study.treatments:
            one.overrides["fault"] = list(faults[one.levels["fault"]])
        file.write_text(study.model_dump_json(by_alias=True))
        return [o.effect is not None for o in fault_outcomes(analyse(read_results(folder)))]

    other = {"kind": "kill-daemon", "role": "namenode"}
    assert effects({"a": [FAULT], "b": [other]}) == [False] * 4
    assert sum(effects({"a": [], "b": [other]})) == 2, "means over the other factors"


def test_the_plot_has_a_mark_for_the_outcomes(analysis: Analysis) -> None:
    assert "5 valid" not in describe(analysis)
    assert ", 1 job failed, 1 output wrong. " in describe(analysis)
    (box,) = (entry for entry in key(analysis) if entry.mark == "box")
    assert box.words == "job failed or output wrong after a fault, not averaged"
    assert draw(analysis, 900) is not None


def all_fail(trial: Trial) -> Trial:
    """Every job with the fault fails."""
    made = edit(trial)
    if not made.faults:
        return made
    verdict = Verdict(valid=False, reason="made up")
    return made.model_copy(update={"outcome": "job failed", "verdict": verdict})


def test_failed_jobs_are_the_answer_and_no_missing_rounds(tmp_path: Path) -> None:
    found = analysed(tmp_path, 6, all_fail)
    assert headline(found) == "terasort at killed: 0 of 3 jobs finished."
    assert "incomplete" not in {warning.id for warning in found.warnings}


def test_failed_jobs_come_before_the_times_of_the_others(analysis: Analysis) -> None:
    said = headline(analysis)
    assert said.startswith("terasort at killed: 3 of 4 jobs finished, 1 with wrong output. ")
    assert said.endswith(f"output. {analysis.answer}")


def test_if_all_jobs_finish_the_times_are_the_answer(tmp_path: Path) -> None:
    found = analysed(tmp_path, 4)
    assert headline(found) == found.answer


def test_outcomes_of_faults_are_no_missing_rounds(analysis: Analysis) -> None:
    """Of five trials one is invalid; its only repetition was not run."""
    (warning,) = (one for one in analysis.warnings if one.id == "incomplete")
    assert warning.text == (
        "fewer valid trials and outcomes of faults than planned rounds: killed / terasort: 4 of 5"
    )


def test_without_intervals_the_section_states_that_once(tmp_path: Path) -> None:
    found = section(analysed(tmp_path, 2))
    assert found.lead == f"{INTERVALS_UNKNOWN.capitalize()}."
    assert ", elapsed time +" in found.said[0] and found.said[0].endswith(" % against level none")
    assert "interval unknown" not in str((found.said, found.tables))


def test_a_study_without_faults_has_no_such_section(tmp_path: Path) -> None:
    analysis = analyse(read_results(study_folder(tmp_path / "results", Plan(trials=2))))
    assert fault_outcomes(analysis) == []
    assert all(section.id != "faults" for section in sections(analysis))
