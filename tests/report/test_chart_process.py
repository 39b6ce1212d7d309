"""Charts drawn by another process: the same pictures, in order, whatever becomes of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from windtunnel.report.chart_process import Drawer
from windtunnel.report.charts.parts import Drawing
from windtunnel.report.svg import svg


def drawing(value: float) -> Drawing:
    return {
        "data": {"values": [{"a": value}]},
        "mark": "point",
        "encoding": {"x": {"field": "a", "type": "quantitative"}},
    }


def test_the_same_pictures_in_the_same_order() -> None:
    asked = [drawing(value) for value in (1, 20, 300)]
    with Drawer() as drawer:
        for one in asked:
            drawer.draw(one)
        drawn = drawer.results()

    assert drawn == [svg(one) for one in asked]
    assert len(set(drawn)) == 3


@pytest.mark.parametrize("after", [0, 1])
def test_what_a_dead_process_left_is_drawn_all_the_same(after: int) -> None:
    asked = [drawing(value) for value in (1, 20)]
    with Drawer() as drawer:
        for one in asked[:after]:
            drawer.draw(one)
        drawer._process.kill()
        drawer._process.wait()
        for one in asked[after:]:
            drawer.draw(one)

        assert drawer.results() == [svg(one) for one in asked]


def test_it_ends_with_its_input() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "windtunnel.report.chart_process"], stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.close()

    assert process.wait(60) == 0
