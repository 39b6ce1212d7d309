"""CPU work per byte of data: medians, and only treatments that both sides have."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.analysis.subjects.work import work


def trial(cpu_s: float, data: float, treatment: str = "a", valid: bool = True) -> Any:
    metric = SimpleNamespace
    return SimpleNamespace(
        verdict=SimpleNamespace(valid=valid),
        workload="terasort",
        treatment=SimpleNamespace(id=treatment),
        metrics={"data_bytes": metric(value=data)},
        phases=[SimpleNamespace(name="terasort", metrics={"cpu_time": metric(value=cpu_s)})],
    )


def results(trials: Sequence[Any]) -> Any:
    return SimpleNamespace(trials=trials)


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
