"""The testbed ``scaled``: what it says before anything starts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.hosts.fabric.state import Lack
from windtunnel.testbeds.scaled import testbed as module
from windtunnel.testbeds.scaled.testbed import ScaledTestbed


@pytest.fixture
def lacks(monkeypatch: pytest.MonkeyPatch) -> list[Lack]:
    found: list[Lack] = []
    memory = SimpleNamespace(available=8 << 30, total=16 << 30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(module, "capabilities", lambda: found)
    return found


@pytest.fixture
def testbed(lacks: list[Lack], tmp_path: Path) -> ScaledTestbed:
    return ScaledTestbed(tmp_path, lambda text: None)


def test_a_described_cluster_can_be_realised(testbed: ScaledTestbed) -> None:
    assert testbed.check(load_cluster("model-3")).impossible == []


def test_what_the_machine_lacks_is_said_with_the_way_out(
    testbed: ScaledTestbed, lacks: list[Lack]
) -> None:
    lacks.append(Lack("root", "run as root."))

    (problem,) = testbed.check(load_cluster("model-3")).impossible
    assert "lacks root: run as root." in problem
    assert "'testbed: local' runs the same cluster" in problem


def test_netem_is_missed_only_where_latency_is_asked_for(
    testbed: ScaledTestbed, lacks: list[Lack]
) -> None:
    lacks.append(Lack("netem (added latency)", "nothing.", fatal=False))
    plain = load_cluster("model-3")
    far = apply_overrides(plain, {"network": {"latency": "1 ms"}})

    assert not any("netem" in line for line in testbed.check(plain).unrealised)
    assert any("netem" in line for line in testbed.check(far).unrealised)


def test_an_unknown_rate_is_named_by_its_path(testbed: ScaledTestbed) -> None:
    cluster = apply_overrides(load_cluster("model-3"), {"hosts.worker.disks.0.read_rate": None})

    (problem,) = testbed.check(cluster).impossible
    assert problem.startswith("hosts.worker.disks.0.read_rate is not known")


def test_more_daemons_than_memory_are_refused(testbed: ScaledTestbed) -> None:
    cluster = apply_overrides(load_cluster("model-3"), {"hosts.worker.count": 40})
    assert any("40 workers need" in line for line in testbed.check(cluster).impossible)


def test_a_model_near_the_walls_of_the_machine_is_named(
    testbed: ScaledTestbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    near = testbed.check(load_cluster("model-3")).unrealised
    assert any("may be busy" in line for line in near)
    assert any("GiB of memory" in line for line in near)

    memory = SimpleNamespace(available=64 << 30, total=64 << 30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(psutil, "cpu_count", lambda: 16)
    far = testbed.check(load_cluster("model-3")).unrealised
    assert not any("may be busy" in line or "GiB of memory" in line for line in far)
