"""What ``review`` prints."""

from __future__ import annotations

import pytest

from windtunnel.cli import published
from windtunnel.published.checks.energy import EnergyRow
from windtunnel.published.review import Review


def test_square_brackets_of_labels_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    row = EnergyRow("[bold]a", "[/x]", 1.0, 1.0, None, 2.0, 1.5)
    published._print(Review("mine", [], [row]))
    assert "[bold]a [/x]" in capsys.readouterr().out
