"""Studies run on the mock testbed, without what only takes time."""

from __future__ import annotations

import pytest

from windtunnel.probes import machine
from windtunnel.study import runner


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_IDLE_WINDOW_S", 0.0)
    monkeypatch.setattr(runner, "machine_facts", lambda: {"machine": "mock"})
