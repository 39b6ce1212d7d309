"""Predictions of models against a reference, with known truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.subjects.validation import (
    Prediction,
    _part,
    judge,
    permitted_error,
    predictions,
)
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Metric, ScaleRecord, SimilarityGroup

START_UP = "start-up, fraction of task time"


def results(path: Path, *, share: float = 0.1, **more: object) -> Results:
    found = read_results(study_folder(path, Plan(write_samples=False, **more)))  # type: ignore[arg-type]
    group = SimilarityGroup(name=START_UP, workload="terasort", full=0.0, model=share, state="near")
    scale = ScaleRecord(rate=0.5, data=0.5, groups=[group])
    study = found.study.model_copy(update={"scale": scale})
    return Results(found.path, study, found.trials)


def sort_of(tmp_path: Path, **model: object) -> Prediction:
    trials = int(str(model.get("trials", 8)))
    reference = results(tmp_path / "reference", seed=1, trials=trials)
    other = results(tmp_path / "model", **{"seed": 2, "trials": 8, **model})  # type: ignore[arg-type]
    rows = predictions(reference, {"model": other})
    return next(row for row in rows if row.phase == "terasort")


def test_a_model_that_agrees_is_within_the_limit(tmp_path: Path) -> None:
    row = sort_of(tmp_path)
    assert (row.verdict, row.within, row.finding) == ("within the limit", 0.10, False)
    assert row.error == pytest.approx(1, abs=0.05)


def test_an_error_beyond_the_limit_with_matching_groups_is_a_finding(tmp_path: Path) -> None:
    row = sort_of(tmp_path, effect=0.0)
    assert (row.verdict, row.finding) == ("beyond the limit", True)
    assert row.error == pytest.approx(1 / 0.69, abs=0.08)
    assert [group.name for group in row.groups] == [START_UP]


def test_one_trial_decides_nothing(tmp_path: Path) -> None:
    row = sort_of(tmp_path, trials=2)
    assert (row.verdict, row.n, row.error_interval) == ("not decided", 1, None)


def test_an_interval_across_the_limit_makes_the_verdict_likely() -> None:
    assert judge(1.2, (1.05, 1.4), 0.10) == "likely beyond the limit"
    assert judge(1.2, (1.15, 1.25), 0.10) == "beyond the limit"
    assert judge(1.05, (0.98, 1.12), 0.10) == "likely within the limit"
    assert judge(1.05, (1.02, 1.08), 0.10) == "within the limit"
    assert judge(1.05, None, 0.10) == "not decided"


def test_with_a_broken_group_only_the_direction_must_be_correct(tmp_path: Path) -> None:
    row = sort_of(tmp_path, share=0.6)
    assert (row.within, row.verdict) == (None, "same direction")


def test_invalid_trials_do_not_count(tmp_path: Path) -> None:
    assert sort_of(tmp_path, invalid=(1, 2)).n == 3


def test_the_error_is_the_ratio_of_both_ratios_with_unequal_rounds(tmp_path: Path) -> None:
    """The times increase by half in each round, and the last round lacks a treatment."""
    row = sort_of(tmp_path, trials=7, drift=0.5)
    assert row.n == 3, "only the rounds that both sides have"
    assert row.error == pytest.approx(row.ratio / row.reference)


def test_without_groups_the_permitted_error_is_unknown() -> None:
    assert permitted_error([]) is None


def measuring(found: Results, share: float) -> Results:
    """The results with this measured start-up in each phase."""
    start = {"start_share": Metric(value=share, unit="share")}
    trials = []
    for trial in found.trials:
        phases = [p.model_copy(update={"metrics": {**p.metrics, **start}}) for p in trial.phases]
        trials.append(trial.model_copy(update={"phases": phases}))
    return Results(found.path, found.study, trials)


def test_the_measured_start_up_counts_if_both_sides_have_it(tmp_path: Path) -> None:
    reference = measuring(results(tmp_path / "reference", seed=1), 0.1)
    model = results(tmp_path / "model", seed=2)
    for other, within in ((measuring(model, 0.6), None), (model, 0.10)):
        rows = predictions(reference, {"model": other})
        assert {row.within for row in rows if row.phase == "terasort"} == {within}


def test_each_level_is_compared_with_the_same_level_of_the_reference(tmp_path: Path) -> None:
    """Start-up is larger at one level, in the reference and in the model alike."""
    sides = []
    for number, name in enumerate(("reference", "model"), start=1):
        found = results(tmp_path / name, seed=number)
        level = next(t.id for t in found.study.treatments if t.levels != found.study.baseline)
        base = SimilarityGroup(
            name=START_UP, workload="terasort", full=0.0, model=0.08, state="match"
        )
        own = base.model_copy(update={"treatment": level, "model": 0.25, "state": "near"})
        scale = ScaleRecord(rate=0.5, data=0.5, groups=[base, own])
        sides.append(
            Results(found.path, found.study.model_copy(update={"scale": scale}), found.trials)
        )
    rows = predictions(sides[0], {"model": sides[1]})
    row = next(row for row in rows if row.phase == "terasort")
    assert [(group.full, group.model) for group in row.groups] == [(0.08, 0.08), (0.25, 0.25)]
    assert row.within == 0.10


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("hosts.worker.count", "count"),
        ("hosts.worker.disks.0.count", "disks"),
        ("hosts.worker.nics.0.rate", "nics"),
        ("hosts.cpu.roles", None),
        ("storage.replication", None),
    ],
)
def test_the_number_of_disks_is_no_number_of_hosts(path: str, part: str | None) -> None:
    assert _part(path) == part
