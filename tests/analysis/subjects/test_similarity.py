"""The measured start-up of tasks, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from windtunnel.analysis.subjects.similarity import measured_start_up

STUDY: Any = SimpleNamespace(baseline={"nic": "10 Gb/s"})


def phase(name: str, **metrics: float) -> Any:
    found = {key: SimpleNamespace(value=value) for key, value in metrics.items()}
    return SimpleNamespace(name=name, metrics=found)


def trial(*phases: Any, level: str = "10 Gb/s", valid: bool = True) -> Any:
    return SimpleNamespace(
        workload="terasort",
        phases=phases,
        verdict=SimpleNamespace(valid=valid),
        treatment=SimpleNamespace(levels={"nic": level}),
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
