"""Records: a changed copy is validated like a new one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.mock import job_run
from tests.support.synthetic import Plan, study_folder
from windtunnel.errors import ResultsError
from windtunnel.results.folder import read_results
from windtunnel.results.record import Verdict
from windtunnel.results.sample import Sample

PHASE = job_run("sort", 10.0).phase


def test_a_copy_has_the_changes_and_leaves_the_record_alone() -> None:
    changed = PHASE.model_copy(update={"name": "other", "metrics": {}})

    assert (changed.name, changed.metrics, changed.elapsed_s) == ("other", {}, 10.0)
    assert (PHASE.name, set(PHASE.metrics)) == ("sort", {"cpu_time"})


@pytest.mark.parametrize("update", [{"nmae": "x"}, {"elapsed_s": "soon"}, {"metrics": {"a": 1}}])
def test_an_unknown_key_or_a_wrong_value_is_refused(update: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PHASE.model_copy(update=update)


def test_a_copy_without_changes_is_equal() -> None:
    verdict = Verdict(valid=True)

    assert verdict.model_copy() == verdict
    assert verdict.model_copy() is not verdict


def test_the_keys_of_stored_files_survive_a_change(tmp_path: Path) -> None:
    trial = read_results(study_folder(tmp_path, Plan(trials=1, write_samples=False))).trials[0]

    changed = trial.model_copy(update={"tasks_file": "tasks/t.parquet"})

    before, after = (json.loads(one.model_dump_json(by_alias=True)) for one in (trial, changed))
    assert after == {**before, "tasks_file": "tasks/t.parquet"}
    assert after["schema"] == "windtunnel.trial/1"


def test_a_sample_is_a_tuple_with_names() -> None:
    sample = Sample(1.5, "worker-1", "cpu_idle", "ratio", 0.5)

    assert sample == (1.5, "worker-1", "cpu_idle", "ratio", 0.5)
    assert (sample.time_s, sample.metric, sample.value) == (1.5, "cpu_idle", 0.5)


@pytest.mark.parametrize(
    ("keys", "value", "reason"),
    [
        (("phases", 1, "elapsed_s"), float("nan"), "phases.1.elapsed_s: "),
        (("phases", 1, "elapsed_s"), float("inf"), "phases.1.elapsed_s: "),
        (("phases", 1, "elapsed_s"), -5.0, "phases.1.elapsed_s: -5.0 s is negative"),
        (("phases", 0, "wall_s"), -1.0, "phases.0.wall_s: -1.0 s is negative"),
        (("phases", 0, "started_at"), 1e300, "phases.0.started_at: "),
        (("finished_at",), float("nan"), "finished_at: "),
        (("before", "load_1min"), float("inf"), "before.load_1min: "),
        (
            ("phases", 0, "metrics", "cpu_time", "value"),
            float("inf"),
            "phases.0.metrics.cpu_time.value: inf is no finite number",
        ),
    ],
)
def test_a_stored_trial_with_an_impossible_number_is_refused(
    tmp_path: Path, keys: tuple[str | int, ...], value: float, reason: str
) -> None:
    folder = study_folder(tmp_path, Plan(trials=1, write_samples=False))
    file = next((folder / "trials").iterdir())
    trial = json.loads(file.read_text())
    part = trial
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    file.write_text(json.dumps(trial))

    with pytest.raises(ResultsError) as caught:
        read_results(folder)
    assert caught.value.message.startswith(f"{file} cannot be read: {reason}")


def test_an_invalid_trial_can_have_a_negative_time(tmp_path: Path) -> None:
    """A clock that was set back makes the trial invalid; its record stays readable."""
    folder = study_folder(tmp_path, Plan(trials=1, invalid=(1,), write_samples=False))
    file = next((folder / "trials").iterdir())
    trial = json.loads(file.read_text())
    trial["phases"][1]["elapsed_s"] = -5.0
    file.write_text(json.dumps(trial))

    assert read_results(folder).trials[0].phases[1].elapsed_s == -5.0


@pytest.mark.parametrize("created_at", [1e300, -1e300, float("nan")])
def test_a_study_without_a_possible_time_is_refused(tmp_path: Path, created_at: float) -> None:
    folder = study_folder(tmp_path, Plan(trials=1, write_samples=False))
    study = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps({**study, "created_at": created_at}))

    with pytest.raises(ResultsError, match=r"study\.json cannot be read: created_at: "):
        read_results(folder)
