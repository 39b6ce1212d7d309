"""Local times in logs, also in the hour that daylight saving time repeats."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from windtunnel.engines.hadoop.log_times import epoch_s

SUMMER, WINTER = 1792888200.0, 1792891800.0  # 02:30 on 2026-10-25 in Berlin: CEST, then CET


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize("real", [SUMMER, WINTER])
@pytest.mark.parametrize("off_s", [-900.0, 0.0, 900.0])
def test_the_repeated_hour_is_that_near_a_known_time(real: float, off_s: float) -> None:
    assert epoch_s("2026-10-25 02:30:00,250", real + off_s) == real + 0.25


@pytest.mark.usefixtures("berlin")
def test_other_times_do_not_depend_on_the_known_time() -> None:
    assert epoch_s("2026-10-25 04:00:00,000", 0.0) == WINTER + 5400
