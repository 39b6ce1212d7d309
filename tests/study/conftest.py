"""Studies run on the mock testbed, without what only takes time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.forks import Forks
from tests.support.forks import forks as start_forks
from windtunnel.probes import machine
from windtunnel.study import runner


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_IDLE_WINDOW_S", 0.0)
    monkeypatch.setattr(runner, "machine_facts", lambda: {"machine": "mock"})


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Child processes with the journal and the mock testbed already imported."""
    with start_forks("pandas", "tests.support.mock", "tests.support.appending") as server:
        yield server
