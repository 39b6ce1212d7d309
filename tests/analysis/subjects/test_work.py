"""CPU work per byte of data: medians, and only treatments that both sides have."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.analysis.core_speed import core_factor
from windtunnel.analysis.subjects.work import (
    baseline_probe_ms,
    baseline_work,
    wanted_core_speeds,
    work,
)


def trial(
    cpu_s: float,
    data: float,
    treatment: str = "a",
    valid: bool = True,
    probe_ms: float | None = None,
    warmup: bool = False,
    faults: Sequence[str] = (),
) -> Any:
    metric = SimpleNamespace
    counted = {"cpu_time": metric(value=cpu_s)}
    if probe_ms is not None:
        counted["core_probe"] = metric(value=probe_ms)
    return SimpleNamespace(
        verdict=SimpleNamespace(valid=valid),
        warmup=warmup,
        faults=faults,
        workload="terasort",
        treatment=SimpleNamespace(id=treatment),
        metrics={"data_bytes": metric(value=data)},
        phases=[SimpleNamespace(name="terasort", metrics=counted)],
    )


def results(
    trials: Sequence[Any], planned_ms: float | None = None, speed: float | None = None
) -> Any:
    scale = SimpleNamespace(core_probe_ms=planned_ms, core_speed=speed)
    levels = {"one": "a"}
    treatments = [SimpleNamespace(id="a", levels=levels), SimpleNamespace(id="slow", levels={})]
    study = SimpleNamespace(scale=scale, treatments=treatments, baseline=levels)
    return SimpleNamespace(trials=trials, study=study)


def test_cpu_times_are_those_of_the_planned_speed_if_quotas_follow_the_probe() -> None:
    slower = trial(60, 1e9, probe_ms=0.75)
    assert baseline_work(results([slower], planned_ms=0.5), "terasort") == [pytest.approx(40)]
    assert baseline_work(results([slower]), "terasort") == [pytest.approx(60)]
    assert core_factor(results([]).study, trial(60, 1e9).phases[0]) == 1.0


def test_the_probe_is_that_of_the_baseline() -> None:
    trials = [
        trial(60, 1e9, probe_ms=0.75),
        trial(60, 1e9, probe_ms=0.85, valid=False),
        trial(60, 1e9, "slow", probe_ms=0.95),
        trial(60, 1e9),
    ]
    assert baseline_probe_ms(results(trials), "terasort") == [0.75]


def test_the_medians_are_per_byte_of_each_side() -> None:
    reference = results([trial(40, 1e9), trial(50, 1e9), trial(90, 1e9)])
    model = results([trial(30, 0.5e9), trial(9999, 0.5e9, valid=False)])
    (found,) = work(reference, {"model": model})
    assert (found.workload, found.phase, found.n) == ("terasort", "terasort", 3)
    assert found.reference == pytest.approx(50)
    assert found.models == {"model": pytest.approx(60)}


def test_treatments_without_a_counterpart_do_not_count() -> None:
    reference = results([trial(40, 1e9), trial(400, 1e9, "slow")])
    model = results([trial(20, 0.5e9), trial(7, 0.5e9, "other")])
    (found,) = work(reference, {"model": model})
    assert found.reference == pytest.approx(40) and found.models["model"] == pytest.approx(40)


def test_nothing_in_common_is_no_row() -> None:
    assert work(results([trial(40, 1e9)]), {"model": results([trial(1, 1e9, "b")])}) == []
    assert work(results([trial(40, 1e9)]), {}) == []


def test_warm_ups_and_trials_with_faults_do_not_count() -> None:
    trials = [trial(45, 1e9), trial(60, 1e9, warmup=True), trial(90, 1e9, faults=["killed"])]
    assert baseline_work(results(trials), "terasort") == [45.0]


def test_the_core_speed_of_a_model_gives_its_cpus_the_work_of_the_reference() -> None:
    reference = results([trial(72, 1e9)], speed=2.0)
    for speed, wanted in ((2.0, {"a": 0.72}), (2.0 * 0.75, {})):
        models = {"a": results([trial(100, 1e9)], speed=speed)}
        assert wanted_core_speeds(work(reference, models), reference, models) == wanted
    assert wanted_core_speeds([], reference, {}) == {}
