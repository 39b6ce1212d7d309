"""What earlier trials tell of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import synthetic
from tests.support.mock import plan_from
from windtunnel.errors import ResultsError
from windtunnel.results.folder import read_results
from windtunnel.results.record import Metric, Trial
from windtunnel.study.history import forecast, past_of, results_folders
from windtunnel.study.plan import Plan
from windtunnel.study.sample_size import about, noise_of, trials_needed


def plan(size: str = "256 MB", protocol: str = "rounds: 3", more: str = "") -> Plan:
    return plan_from(
        "study: toy\ncluster: local-3\n"
        "workloads:\n"
        f"  terasort: {{size: {size}, input_replication: 1, output_replication: 1}}\n"
        "factors: {settings.a: [1, 2]}\n"
        f"protocol: {{{protocol}}}\n{more}"
    )


def of_size(data: float) -> Callable[[Trial], Trial]:
    """Trials that say how large their data were."""
    size = {"data_bytes": Metric(value=data, unit="bytes")}
    return lambda trial: trial.model_copy(update={"metrics": trial.metrics | size})


SAME = of_size(synthetic.DATA)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of one results folder: 6 trials, one of them invalid."""
    folder = tmp_path_factory.mktemp("results")
    made = synthetic.Plan(invalid=(2,), write_samples=False, noise=0.05, edit=SAME)
    synthetic.study_folder(folder / "first", made)
    return folder


def seconds(folder: Path) -> list[float]:
    trials = read_results(folder).trials
    return sorted(t.finished_at - t.started_at for t in trials if t.verdict.valid)


def test_the_time_is_the_median_of_earlier_valid_trials(past: Path) -> None:
    found = forecast(plan(), past_of(plan(), [], past))

    assert len(seconds(past / "first")) == 5
    assert found.seconds == pytest.approx(6 * seconds(past / "first")[2])
    assert "for 6 trials" in found.lines[-1]
    assert f"the median of 5 trials in {past / 'first'}" in found.lines[-1]
    assert "another size" not in found.lines[-1]


def test_pauses_and_warm_up_are_in_the_time(past: Path) -> None:
    of = plan(protocol="rounds: 3, warmup: 1, pause: 10 s")

    expected = 8 * (seconds(past / "first")[2] + 10)
    assert forecast(of, past_of(of, [], past)).seconds == pytest.approx(expected)


def test_another_size_of_data_is_said_and_not_adjusted(past: Path) -> None:
    of = plan(size="1 GB")
    found = forecast(of, past_of(of, [], past))

    assert found.seconds == forecast(plan(), past_of(plan(), [], past)).seconds
    assert "another size (not adjusted)" in found.lines[-1]


def test_data_of_a_size_that_is_not_recorded_are_said_to_be_so(tmp_path: Path) -> None:
    synthetic.study_folder(tmp_path / "old", synthetic.Plan(write_samples=False))
    found = forecast(plan(), past_of(plan(), [], tmp_path))

    assert "whose data size is unknown" in found.lines[-1]


def test_without_earlier_trials_the_time_is_unknown(tmp_path: Path) -> None:
    found = forecast(plan(), past_of(plan(), [], tmp_path / "nothing"))

    assert found.seconds is None
    assert "unknown without earlier trials of terasort on the testbed local" in found.lines[-1]
    assert "--pilot" in found.lines[-1]


def test_trials_of_another_testbed_tell_nothing(past: Path, tmp_path: Path) -> None:
    synthetic.study_folder(tmp_path / "other", synthetic.Plan(write_samples=False))
    file = tmp_path / "other" / "study.json"
    file.write_text(file.read_text().replace('"testbed": "local"', '"testbed": "scaled"'))

    assert past_of(plan(), [tmp_path], past) == {}


def test_the_same_size_comes_before_the_newer_folder(past: Path, tmp_path: Path) -> None:
    for name, data, at in (("same", synthetic.DATA, 1.0), ("new", 2 * synthetic.DATA, 2.0)):
        made = synthetic.Plan(write_samples=False, edit=of_size(data))
        study = synthetic.study_folder(tmp_path / name, made) / "study.json"
        study.write_text(study.read_text().replace(str(synthetic.START), str(at)))

    assert past_of(plan(), [tmp_path], past)["terasort"].folder == tmp_path / "same"


def test_with_detect_the_earlier_noise_gives_the_number_of_trials(past: Path) -> None:
    of = plan(protocol="detect: 5 %")
    found = forecast(of, past_of(of, [], past))
    (noise,) = noise_of(read_results(past / "first").trials)
    needed = trials_needed(noise.sd_log, 0.05, 0.8)

    assert needed is not None
    assert f"you need {needed} trials per treatment, about" in found.lines[0]
    assert found.rounds == min(max(needed, 5), 40)
    assert "the pilot of 5 rounds determines" in found.lines[1]


def test_a_named_folder_must_be_one_and_others_are_passed_over(tmp_path: Path) -> None:
    def folders(*given: Path) -> list[Path]:
        found: Iterator[Path] = results_folders(given, tmp_path)
        return list(found)

    (tmp_path / "empty").mkdir()
    with pytest.raises(ResultsError, match=r"no study\.json"):
        folders(tmp_path / "empty")
    assert folders() == []

    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "study.json").write_text("{")
    assert past_of(plan(), [], tmp_path) == {}
    with pytest.raises(ResultsError):
        past_of(plan(), [tmp_path], tmp_path)


@pytest.mark.parametrize(
    ("seconds_", "text"),
    [(0.2, "about 1 s"), (45, "about 45 s"), (200, "about 3 min"), (7500, "about 2 h 05 min")],
)
def test_estimates_are_rounded(seconds_: float, text: str) -> None:
    assert about(seconds_) == text
