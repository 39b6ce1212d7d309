"""The warning on containers that started a new JVM in trials with warm starts."""

from __future__ import annotations

from pathlib import Path

from tests.analysis.test_warnings import results, said
from windtunnel.analysis.analyse import analyse
from windtunnel.results.folder import Results
from windtunnel.results.record import Metric


def with_starts(found: Results, warm: float, stock: list[float]) -> Results:
    """The study whose trials had these numbers of stock starts in their first phase."""
    changed = []
    for trial, cold in zip(found.trials, stock, strict=True):
        counted = {
            "warm_starts": Metric(value=warm, unit="count"),
            "stock_starts": Metric(value=cold, unit="count"),
        }
        first, *others = trial.phases
        metrics = {**first.metrics, **counted}
        phases = [first.model_copy(update={"metrics": metrics}), *others]
        changed.append(trial.model_copy(update={"phases": phases}))
    return Results(found.path, found.study, changed)


def test_trials_with_stock_starts_are_named(tmp_path: Path) -> None:
    found = results(tmp_path)
    cold = [0.0] * len(found.trials)
    text, advice = said(with_starts(found, 41, [2.0, *cold[1:]]), "stock-starts")

    assert f"{found.trials[0].id} (" in text
    assert text.endswith(": 2 of 43 containers)")
    assert "software.warm_jvms" in advice


def test_trials_without_any_warm_start_are_named_too(tmp_path: Path) -> None:
    found = results(tmp_path)
    text, _ = said(with_starts(found, 0, [43.0] * len(found.trials)), "stock-starts")
    assert f"{found.trials[0].id} (" in text
    assert ": 43 of 43 containers), " in text


def test_warm_starts_and_trials_without_a_pool_are_as_requested(tmp_path: Path) -> None:
    found = results(tmp_path)
    for seen in (found, with_starts(found, 43, [0.0] * len(found.trials))):
        assert not [w for w in analyse(seen).warnings if w.id == "stock-starts"]
