"""The model on the published studies: a reproducible fit, and errors within their targets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from windtunnel.analysis.prediction.accuracy import assess
from windtunnel.analysis.prediction.baselines import ernest, row_mean
from windtunnel.analysis.prediction.compared import predict_results
from windtunnel.analysis.prediction.points import capacity_of, chosen, points_of
from windtunnel.analysis.prediction.sampling import sampled
from windtunnel.analysis.prediction.splits import SPLITS, STUDIES, Pair, Split, fingerprint
from windtunnel.cli.options import as_run
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.errors import ResultsError
from windtunnel.model.fit import Point, fit
from windtunnel.model.hardware import hardware
from windtunnel.model.predict import predict
from windtunnel.model.store import shipped_fit
from windtunnel.published import open_results
from windtunnel.results.folder import Results


@pytest.fixture(scope="module")
def points() -> list[Point]:
    return [p for name in STUDIES for p in points_of(open_results(f"published:{name}")).points]


def error(found: list[Point], wanted: list[Point], *, corrected: bool = True) -> float:
    made = predict(fit(found), [(p.hardware, p.job) for p in wanted], corrected=corrected)
    return float(
        np.mean([abs(one.elapsed_s / p.elapsed_s - 1) for one, p in zip(made, wanted, strict=True)])
    )


def test_all_published_times_are_points(points: list[Point]) -> None:
    assert len(points) == 119
    assert sum(point.cpu_s is not None for point in points) == 56


def test_the_shipped_fit_is_that_of_the_published_studies(points: list[Point]) -> None:
    assert np.allclose(fit(points).log, shipped_fit().log, atol=0.02)
    assert len(shipped_fit().names) == len(points)


def test_the_equations_alone_meet_the_target(points: list[Point]) -> None:
    assert error(points, points, corrected=False) < 0.06


@pytest.mark.parametrize("split", [s for s in SPLITS if s.target], ids=lambda s: s.name)
def test_each_target_is_met(points: list[Point], split: Split) -> None:
    # some folds stand for all; 'windtunnel accuracy' runs all of them
    errors = [error(found, wanted) for found, wanted in islice(split.pairs(points), 0, None, 6)]
    assert split.target is not None
    assert np.mean(errors) < split.target


def test_splits_never_predict_what_they_fitted(points: list[Point]) -> None:
    for split in SPLITS[1:]:
        for found, wanted in islice(split.pairs(points), 3):
            assert wanted
            assert not {id(p) for p in found} & {id(p) for p in wanted}
    assert len(fingerprint()) == 64


def _first_pairs(split: Split, points: Sequence[Point]) -> Iterator[Pair]:
    return islice(split.pairs(points), 2)


def test_accuracy_has_every_split_table_and_baseline(
    points: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [*SPLITS[:1], SPLITS[5], SPLITS[2]]
    short = [replace(split, pairs=partial(_first_pairs, split)) for split in few]
    monkeypatch.setattr("windtunnel.analysis.prediction.accuracy.SPLITS", tuple(short))
    seen: list[str] = []
    found = assess(points, lambda done, total, name: seen.append(name))
    assert seen == [split.name for split in few]
    assert [row["split"] for row in found["splits"]] == seen
    assert found["splits"][0]["row_mean_error"] > found["splits"][0]["error"]
    assert found["directions"]["in-sample"]["right"] > 0.9


def test_baselines_know_nothing_of_rows_without_points(points: list[Point]) -> None:
    first = [point for point in points if point.phase == "teragen"]
    other = [point for point in points if point.phase == "pi"][:1]
    assert row_mean(first, other) == [None]
    assert ernest(first, other) == [None]
    assert row_mean(first, first[:1])[0] == pytest.approx(first[0].elapsed_s, rel=0.6)


def test_predictions_of_a_folder_state_what_was_fitted() -> None:
    found = points_of(open_results("published:cisco-2014"))
    some = chosen(found.points, ["test1", "test6"])
    made = predict_results("folder", found, fit(some))
    fitted = {row["treatment"] for row in made["predictions"] if row["fitted"]}
    assert fitted == {"test1", "test6"}
    assert made["errors"]["fitted"]["points"] == len(some)
    assert made["errors"]["not_fitted"]["points"] == len(found.points) - len(some)


def test_a_choice_of_treatments_is_the_same_for_a_seed(points: list[Point]) -> None:
    once, again = (sampled(points, 4, seed=3) for _ in range(2))
    assert once == again
    assert len({point.treatment for point in once}) == 4
    assert sampled(points, 100, seed=1) == points


def test_an_unknown_treatment_is_refused(points: list[Point]) -> None:
    with pytest.raises(ResultsError, match="no treatment 'test99'"):
        chosen(points, ["test99"])


def test_a_study_that_the_model_does_not_know_says_why() -> None:
    found = points_of(open_results("published:cern-2016"))
    assert found.points == []
    assert found.skipped == ["scan / total: the model has no equations for it"]


def test_processes_of_one_machine_share_it(tmp_path: Path) -> None:
    published = open_results("published:cisco-2014")
    trial = published.trials[0].model_copy(update={"kind": "measured", "provenance": "facts"})
    results = Results(tmp_path, published.study, [trial])
    (tmp_path / "provenance").mkdir()
    facts = {"cpu_cores": 2, "cpu_threads": 4, "memory_bytes": 6e9}
    (tmp_path / "provenance" / "facts.json").write_text(json.dumps({"machine": facts}))
    local = as_run(published.study.model_copy(update={"testbed": "local"}))
    _, shared = capacity_of(results, trial, load_cluster("local-3"), local)
    assert shared.hosts * shared.cores == pytest.approx(2)
    assert shared.threads_per_core == 2
    assert shared.hosts * shared.memory_bytes == pytest.approx(3e9)
    assert shared.assumed[0].startswith("all hosts share")
    assert not any("cores of a processor" in line for line in shared.assumed)
    # described hardware has no effect there; on other testbeds it has
    cisco = load_cluster("cisco-2014")
    assert capacity_of(results, trial, cisco, local)[1].hosts == 5
    assert capacity_of(results, trial, cisco, local)[1].cores == 2 / 5
    for testbed in ("attached", "of another package"):
        study = published.study.model_copy(update={"testbed": testbed})
        assert as_run(study) is None
        assert capacity_of(results, trial, cisco) == (cisco, hardware(cisco))
    # a machine without facts
    (tmp_path / "provenance" / "facts.json").write_text("{}")
    assert capacity_of(results, trial, load_cluster("local-3"), local)[1].cores == 8


def test_a_changed_setting_replaces_the_one_that_was_in_force(tmp_path: Path) -> None:
    published = open_results("published:cisco-2014")
    trial = published.trials[0].model_copy(update={"kind": "measured", "provenance": "facts"})
    results = Results(tmp_path, published.study, [trial])
    (tmp_path / "provenance").mkdir()
    rows = [
        {"name": "yarn.nodemanager.resource.memory-mb", "value": "2048"},
        {"name": "mapreduce.task.io.sort.mb", "value": "64"},
    ]
    facts = {"software": {"settings": rows}}
    (tmp_path / "provenance" / "facts.json").write_text(json.dumps(facts))
    cisco = load_cluster("cisco-2014")
    wanted = apply_overrides(cisco, {"settings.yarn.nodemanager.resource.memory-mb": 8192})
    ran, capacity = capacity_of(results, trial, wanted, measured=cisco)
    assert ran.settings["yarn.nodemanager.resource.memory-mb"] == 8192
    assert ran.settings["mapreduce.task.io.sort.mb"] == "64"
    assert capacity.slots > capacity_of(results, trial, cisco)[1].slots


def test_stored_blind_predictions_are_unchanged() -> None:
    files = sorted((Path(__file__).resolve().parents[3] / "docs" / "blind").glob("*.json"))
    assert files
    for file in files:
        digest, name = file.with_suffix(".sha256").read_text().split()
        assert name == file.name
        assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
