"""The answer if no difference was detected: levels with and without an interval."""

from __future__ import annotations

from windtunnel.analysis.effects.answer import answer
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.effects.findings import findings
from windtunnel.results.record import ProtocolRecord, StudyRecord


def effect(
    factor: str, baseline: str, level: str, relative: float, n: int, workload: str = "job"
) -> Effect:
    """An effect that is not detected; with one trial, it has no interval."""
    known = n > 1
    return Effect(
        factor=factor,
        level=level,
        baseline=baseline,
        workload=workload,
        phase="total",
        metric="elapsed",
        unit="s",
        n=n,
        n_baseline=5,
        matched=1,
        mean=100 * (1 + relative),
        mean_baseline=100.0,
        absolute=100 * relative,
        absolute_ci_low=-90.0 if known else None,
        absolute_ci_high=90.0 if known else None,
        relative=relative,
        ci_low=-0.9 if known else None,
        ci_high=0.9 if known else None,
        detectable=0.05 if known else None,
    )


def said(*effects: Effect) -> str:
    study = StudyRecord(
        id="made-up",
        name="made up",
        testbed="local",
        created_at=0.0,
        fingerprint="f00d",
        protocol=ProtocolRecord(rounds=5, seed=1, trial_time_limit_s=60.0),
    )
    return answer(study, findings(effects), [])


def test_a_level_without_an_interval_is_separate_if_its_change_is_large() -> None:
    text = said(effect("net", "10", "25", 0.01, 5), effect("net", "10", "40", -0.39, 1))
    assert text.startswith(
        "No difference in elapsed time was detected between the baseline 10 and net 25; the "
        "minimum detectable effect is "
    )
    assert text.endswith(
        "; there are too few trials for an interval and a conclusion on net 40: the change is "
        "-39 % (job, net 40 against 10)."
    )


def test_a_level_without_an_interval_is_separate_if_its_change_is_small() -> None:
    text = said(effect("net", "10", "25", 0.01, 5), effect("net", "10", "40", 0.0005, 1))
    assert "between the baseline 10 and net 25; " in text
    assert "a conclusion on net 40: the change is " in text


def test_each_factor_has_its_own_baseline() -> None:
    text = said(effect("net", "10", "25", 0.01, 5), effect("disks", "6", "12", 0.005, 5))
    assert "detected between net 10 and net 25, nor between disks 6 and disks 12; " in text


def test_a_level_with_an_interval_in_one_workload_names_the_workloads() -> None:
    text = said(
        effect("net", "10", "25", 0.01, 5, "sort"), effect("net", "10", "25", 0.3, 1, "grep")
    )
    assert "between the baseline 10 and net 25 (sort); " in text
    assert "a conclusion on net 25 (grep): " in text


def test_without_any_interval_there_is_no_conclusion() -> None:
    text = said(effect("net", "10", "25", 0.01, 1), effect("net", "10", "40", 0.3, 1))
    assert text == (
        "There are too few trials for an interval and a conclusion; the largest of 2 changes is "
        "+30 % (job, net 40 against 10)."
    )


def test_many_levels_are_counted() -> None:
    levels = [effect("net", "10", str(level), 0.01, 5) for level in (20, 25, 40, 100)]
    assert "the baseline 10 and the 4 other levels of net; " in said(*levels)
    few = said(*levels, effect("net", "10", "400", 0.3, 1))
    assert "the baseline 10 and 4 other levels of net; " in few
