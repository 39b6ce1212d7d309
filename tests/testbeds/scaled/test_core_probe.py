"""The core probe: what is measured, and when CPU quotas follow it."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.testbeds.scaled import core_probe
from windtunnel.testbeds.scaled.core_probe import (
    CORE_PROBE,
    QUOTA_FACTOR,
    CoreProbe,
    CoreSpeed,
)


class Quotas:
    """Notes the factors of the quotas."""

    def __init__(self, fails: int = 0) -> None:
        self.factors: list[float] = []
        self.texts: list[str] = []
        self.fails = fails

    def scale(self, factor: float) -> None:
        if self.fails:
            self.fails -= 1
            raise OSError("no such group")
        self.factors.append(factor)


def followed(reference_ms: float | None, probes: list[float], quotas: Quotas) -> CoreSpeed:
    """After ten seconds of each of the times of the probe, in ms."""
    found = itertools.chain(*([took] * core_probe._WINDOW for took in probes))
    speed = CoreSpeed(reference_ms, quotas.scale, quotas.texts.append, lambda: next(found))
    for _ in range(core_probe._WINDOW * len(probes)):
        speed.step()
    return speed


def test_the_probe_is_a_small_amount_of_work() -> None:
    probe = CoreProbe()
    assert all(0 < probe.measure_ms() < 1000 for _ in range(5))


def test_quotas_follow_the_probe_if_it_changes_enough() -> None:
    quotas = Quotas()
    speed = followed(0.5, [0.5, 0.51, 0.6, 0.62, 0.4], quotas)
    assert quotas.factors == pytest.approx([1.2, 0.8])
    assert speed.factor == pytest.approx(0.8)
    means = speed.end()
    assert means[CORE_PROBE] == pytest.approx(2.63 / 5)
    # the factors in force: none in the first thirty seconds, then 1.2 for twenty
    assert means[QUOTA_FACTOR] == pytest.approx((3 * 1.0 + 2 * 1.2) / 5)


def test_means_are_those_of_the_job() -> None:
    """Before and after it, the hosts are idle."""
    speed = CoreSpeed(0.5, Quotas().scale, print, lambda: 0.0)
    probes = [(10.0, 0.4, 1.0), (11.0, 0.5, 1.0), (12.0, 0.7, 1.0), (13.0, 0.4, 1.0)]
    speed._found = [*probes]
    assert speed.end(10.5, 12.5) == pytest.approx({CORE_PROBE: 0.6, QUOTA_FACTOR: 1.0})
    speed._found = [*probes]
    assert speed.end(10.1, 10.2)[CORE_PROBE] == pytest.approx(0.5), "a job between two probes"


def test_without_a_reference_the_probe_is_only_measured() -> None:
    quotas = Quotas()
    speed = followed(None, [0.5, 1.5], quotas)
    assert quotas.factors == []
    assert speed.factor == 1.0
    assert speed.end() == {CORE_PROBE: pytest.approx(1.0)}


def test_a_new_phase_measures_anew_and_keeps_the_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_probe, "_STEP_S", 3600.0)
    speed = followed(0.5, [1.0], Quotas())
    speed.begin()
    assert speed.end() == {}
    assert speed.factor == 2.0


def test_quotas_follow_in_phases_of_less_than_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core_probe, "_STEP_S", 3600.0)
    quotas = Quotas()
    speed = CoreSpeed(0.5, quotas.scale, quotas.texts.append, lambda: 0.6)
    for _ in range(2):
        speed.begin()
        for _ in range(core_probe._WINDOW // 2):
            speed.step()
        speed.end()
    assert quotas.factors == pytest.approx([1.2])


def test_probes_run_until_the_end_of_the_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_probe, "_STEP_S", 0.001)
    quotas = Quotas()
    speed = CoreSpeed(None, quotas.scale, quotas.texts.append, lambda: 0.7)
    speed.begin()
    while len(speed._found) < 3:
        time.sleep(0.001)
    assert speed.end() == {CORE_PROBE: pytest.approx(0.7)}
    assert speed.end() == {}, "a phase without probes has no mean"
    assert speed._thread is None


def test_quotas_that_cannot_be_set_are_set_later() -> None:
    quotas = Quotas(fails=2)
    speed = followed(0.5, [0.6, 0.6, 0.6], quotas)
    assert quotas.factors == pytest.approx([1.2])
    assert speed.factor == pytest.approx(1.2)
    text = "the CPU quotas do not follow the speed of the cores: no such group"
    assert quotas.texts == [text], "once"


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_factors_have_limits(reference_ms: float, took_ms: float) -> None:
    quotas = Quotas()
    followed(reference_ms, [took_ms], quotas)
    assert all(0.5 <= factor <= 2.0 for factor in quotas.factors)
