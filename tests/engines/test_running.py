"""Daemons by name: who watches them, and in which order they stop."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.engines.running import Running
from windtunnel.errors import DeploymentError


class Plain(Running):
    """Daemons that nobody starts again."""

    def restart(self, name: str) -> None:
        raise NotImplementedError


def process(pid: int, code: int | None = None) -> Any:
    return SimpleNamespace(pid=pid, returncode=lambda: code, log=Path("none.log"))


@pytest.fixture
def daemons() -> Plain:
    made = Plain()
    names = ("zookeeper@a", "hbase-master@a", "regionserver@b")
    made.running = {name: process(pid) for pid, name in enumerate(names)}
    return made


def test_one_that_has_died_is_named(daemons: Plain) -> None:
    daemons.check_alive()
    daemons.running["regionserver@b"] = process(2, -9)
    with pytest.raises(DeploymentError, match="the regionserver on b has died"):
        daemons.check_alive()


def test_what_is_released_is_watched_no_longer(daemons: Plain) -> None:
    daemons.running["regionserver@b"] = process(2, -9)
    (gone,) = daemons.release(["regionserver@b", "datanode@b"])
    assert gone.pid == 2
    daemons.check_alive()
    assert daemons.processes() == {"zookeeper@a": 0, "hbase-master@a": 1}


def test_all_stop_in_the_reverse_of_the_order_of_start(daemons: Plain) -> None:
    assert [one.pid for one in daemons.release_all()] == [2, 1, 0]
    assert not daemons.running
