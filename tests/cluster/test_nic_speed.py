"""The speed of NICs: which reported numbers are no speed."""

from __future__ import annotations

import pytest

from windtunnel.cluster.nic_speed import known_mbit_s


@pytest.mark.parametrize("speed", [10, 1000, 25_000, 400_000, 1e5])
def test_a_speed_is_known(speed: float) -> None:
    assert known_mbit_s(speed) == speed


@pytest.mark.parametrize("speed", [0, -1, 65535, 4294967295, None, True, "1000"])
def test_a_number_that_is_no_speed(speed: object) -> None:
    assert known_mbit_s(speed) is None
