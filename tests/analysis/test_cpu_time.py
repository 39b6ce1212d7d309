"""The warning on the CPU time of a trial that differs from that of the same work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.test_warnings import results, said
from tests.support.served import daemon_killed
from windtunnel.analysis.analyse import analyse
from windtunnel.results.folder import Results
from windtunnel.results.record import Metric, ScaleRecord, Trial


def with_cpu_times(found: Results, used_s: list[float], cell: str) -> Results:
    """The study whose first trials of a treatment used this CPU time; 100 s in all others."""
    left = iter(used_s)
    changed = []
    for trial in found.trials:
        value = next(left, 100.0) if trial.treatment.id == cell else 100.0
        phases = [
            phase.model_copy(
                update={"metrics": {**phase.metrics, "cpu_time": Metric(value=value, unit="s")}}
            )
            for phase in trial.phases
        ]
        changed.append(trial.model_copy(update={"phases": phases}))
    return Results(found.path, found.study, changed)


@pytest.mark.parametrize(("used", "change"), [(164.0, "+64 %"), (70.0, "-30 %")])
def test_a_trial_on_slower_or_faster_processors_is_named(
    tmp_path: Path, used: float, change: str
) -> None:
    found = results(tmp_path)
    first = found.trials[0]
    text, _ = said(with_cpu_times(found, [used], first.treatment.id), "cpu-time")

    assert f"{first.id} (" in text
    assert text.endswith(f": {change})")


def test_models_that_follow_the_speed_of_the_cores_are_exempt(tmp_path: Path) -> None:
    found = results(tmp_path)
    slow = with_cpu_times(found, [164.0], found.trials[0].treatment.id)
    slow.study.scale = ScaleRecord(rate=0.1, data=0.1, core_probe_ms=0.6)
    assert not [w for w in analyse(slow).warnings if w.id == "cpu-time"]


def test_a_reference_phase_is_not_part_of_the_work(tmp_path: Path) -> None:
    found = results(tmp_path)
    slow = with_cpu_times(found, [100.0], "")
    first, *others = slow.trials
    metrics = {**first.phases[0].metrics, "cpu_time": Metric(value=900.0, unit="s")}
    reference = first.phases[0].model_copy(
        update={"name": "reference", "beside": True, "metrics": metrics}
    )
    trials = [first.model_copy(update={"phases": [*first.phases, reference]}), *others]
    warnings = analyse(Results(found.path, found.study, trials)).warnings
    assert not [w for w in warnings if w.id == "cpu-time"]


def test_a_small_difference_of_the_cpu_time_is_usual(tmp_path: Path) -> None:
    found = results(tmp_path)
    usual = with_cpu_times(found, [120.0, 80.0], found.trials[0].treatment.id)
    assert not [w for w in analyse(usual).warnings if w.id == "cpu-time"]


def test_two_trials_do_not_show_which_of_them_differs(tmp_path: Path) -> None:
    found = results(tmp_path)
    found = with_cpu_times(found, [200.0], found.trials[0].treatment.id)
    kept: dict[str, list[Trial]] = {}
    for trial in found.trials:
        kept.setdefault(trial.treatment.id, []).append(trial)
    pairs = [trial for trials in kept.values() for trial in trials[:2]]
    warnings = analyse(Results(found.path, found.study, pairs)).warnings
    assert not [w for w in warnings if w.id == "cpu-time"]


def test_a_fault_repeats_work(tmp_path: Path) -> None:
    found = results(tmp_path)
    slow = with_cpu_times(found, [200.0], found.trials[0].treatment.id)
    hit = [
        trial.model_copy(update={"faults": [daemon_killed(trial.phases[0])]})
        for trial in slow.trials
    ]
    warnings = analyse(Results(found.path, found.study, hit)).warnings
    assert not [w for w in warnings if w.id == "cpu-time"]
