"""The measured start-up of tasks, in words and in the similarity of a model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.analysis.subjects.similarity import (
    START_UP,
    measured_start_up,
    with_measured_start_up,
)
from windtunnel.results.record import ScaleRecord, SimilarityGroup

STUDY: Any = SimpleNamespace(
    baseline={"nic": "10 Gb/s"},
    treatments=[
        SimpleNamespace(id=level, levels={"nic": level}) for level in ("1 Gb/s", "10 Gb/s")
    ],
)


def phase(name: str, **metrics: float) -> Any:
    found = {key: SimpleNamespace(value=value) for key, value in metrics.items()}
    return SimpleNamespace(name=name, metrics=found)


def trial(*phases: Any, level: str = "10 Gb/s", valid: bool = True) -> Any:
    return SimpleNamespace(
        workload="terasort",
        phases=phases,
        verdict=SimpleNamespace(valid=valid),
        warmup=False,
        treatment=SimpleNamespace(id=level, levels={"nic": level}),
    )


def test_each_phase_has_its_median_share_and_its_starts() -> None:
    trials = [
        trial(phase("teragen", start_share=0.4), phase("terasort", start_share=share, **counts))
        for share, counts in (
            (0.10, {"warm_starts": 30.0, "stock_starts": 1.0}),
            (0.20, {"warm_starts": 31.0, "stock_starts": 0.0}),
            (0.12, {"warm_starts": 31.0, "stock_starts": 0.0}),
        )
    ]
    assert list(measured_start_up(STUDY, trials)) == [
        "terasort, phase teragen: start-up measured as 40 % of task time (start: stock)",
        "terasort: start-up measured as 12 % of task time (start: warm, 92 of 93 containers)",
    ]


def test_only_valid_trials_of_the_baseline_count() -> None:
    trials = [
        trial(phase("terasort", start_share=0.9), valid=False),
        trial(phase("terasort", start_share=0.9), level="1 Gb/s"),
        trial(phase("terasort")),
    ]
    assert list(measured_start_up(STUDY, trials)) == []


def scaled_study(full: float | None) -> Any:
    """A study whose model has the group of the start-up and another one."""
    groups = [
        SimilarityGroup(name=START_UP, workload="terasort", full=full, model=0.19, state="match"),
        SimilarityGroup(name="waves of maps", workload="terasort", full=6, model=6, state="match"),
    ]
    scale = ScaleRecord(rate=0.01, data=0.001, groups=groups)
    return SimpleNamespace(**vars(STUDY), scale=scale)


def timed(name: str, elapsed_s: float, share: float, *, beside: bool = False) -> Any:
    found = phase(name, start_share=share)
    return SimpleNamespace(**vars(found), elapsed_s=elapsed_s, beside=beside)


@pytest.mark.parametrize(
    ("full", "share", "state", "says"),
    [
        (0.20, 0.18, "match", ""),
        (0.20, 0.05, "near", "as 5 % of the time of the tasks; at full size"),
        (0.00, 0.50, "broken", "as 50 % of the time of the tasks; at full size"),
        (None, 0.50, "unknown", ""),
    ],
)
def test_the_measured_start_up_takes_the_place_of_the_estimate(
    full: float | None, share: float, state: str, says: str
) -> None:
    trials = [
        trial(timed("teragen", 20, 0.9), timed("terasort", 200, one)) for one in (share, share, 0.6)
    ]
    trials.append(trial(timed("terasort", 900, 0.7), valid=False))
    trials.append(trial(timed("terasort", 900, 0.7)))
    trials[-1].warmup = True
    trials[0].phases = (*trials[0].phases, timed("reference", 999, 0.8, beside=True))
    scale = with_measured_start_up(scaled_study(full), trials)

    assert scale is not None
    measured, other = scale.groups
    assert (measured.full, measured.model, measured.state) == (full, share, state)
    assert says in measured.says and bool(says) == bool(measured.says)
    assert (other.model, other.state) == (6, "match")


def test_a_treatment_with_another_state_has_a_group_of_its_own() -> None:
    for slow, rows in ((0.5, [None, "1 Gb/s"]), (0.16, [None])):
        trials = [
            trial(timed("terasort", 200, 0.18)),
            trial(timed("terasort", 200, slow), level="1 Gb/s"),
        ]
        scale = with_measured_start_up(scaled_study(0.2), trials)
        assert scale is not None
        assert [g.treatment for g in scale.groups if g.name == START_UP] == rows


def test_without_trials_the_estimate_of_the_start_up_stays() -> None:
    study = scaled_study(0.2)
    assert with_measured_start_up(study, []) == study.scale
    assert with_measured_start_up(SimpleNamespace(scale=None), []) is None  # type: ignore[arg-type]
