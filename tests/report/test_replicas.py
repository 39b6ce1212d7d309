"""The section on where the copies lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.built import Built, built
from windtunnel.report.sections.replicas import section


def shares(*alone: float) -> list[Built]:
    return [
        Built(
            level=f"level-{place}",
            metrics={"machines_per_block": 2 - share, "blocks_on_one_machine": share},
        )
        for place, share in enumerate(alone)
    ]


def test_blocks_on_one_host_are_said_and_strong(tmp_path: Path) -> None:
    made = section(built(tmp_path, shares(0.0, 0.25)))
    assert made is not None
    (said,) = made.said
    assert said.startswith("One physical host holds all replicas of some blocks: 25 % with ")
    (table,) = made.tables
    assert [list(row[2:]) for row in table.rows] == [["2.00", "0 %", "1"], ["1.75", "25 %", "1"]]
    assert table.strong == {1}


def test_where_every_block_is_spread_that_is_said(tmp_path: Path) -> None:
    made = section(built(tmp_path, shares(0.0)))
    assert made is not None
    assert made.said == ["Every block has replicas on more than one physical host"]


@pytest.mark.parametrize("metrics", [{}, {"cpu_time": 3.0}])
def test_without_placement_there_is_no_section(tmp_path: Path, metrics: dict[str, float]) -> None:
    assert section(built(tmp_path, [Built(metrics=metrics)])) is None
