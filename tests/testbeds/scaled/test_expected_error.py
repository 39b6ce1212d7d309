"""The terms of the expected error of a model."""

from __future__ import annotations

import pytest

from tests.support.models import known
from windtunnel.testbeds.base import Load, PhaseLoad
from windtunnel.testbeds.scaled.expected_error import UNEQUAL_REDUCES, expected_error, total
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.sizes import sizes

TB = 1e12
PHASES = (PhaseLoad("terasort", read_bytes=TB, write_bytes=TB, network_bytes=TB),)


def terms(reduces: int) -> dict[str, float]:
    """Of a TeraSort with 96 reduce tasks on four workers, of which ``reduces`` run in the model."""
    load = Load("terasort", TB, TB / 10, PHASES, reduces=96, task_fraction=reduces / 96)
    return dict(expected_error([load], *sizes(known(), Scale(rate=1 / 10, data=1 / 10))))


def test_reduce_tasks_that_workers_do_not_share_equally_add_an_error() -> None:
    assert terms(8)["reduces"] == 0
    # two of six reduce tasks on one of four workers: a third more than the mean
    assert terms(6)["reduces"] == pytest.approx(UNEQUAL_REDUCES / 3)
    assert total(terms(6)) > total(terms(8))
