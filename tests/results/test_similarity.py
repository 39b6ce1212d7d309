"""The limits of the states of a similarity group."""

from __future__ import annotations

import pytest

from windtunnel.results.similarity import state_of


@pytest.mark.parametrize(
    ("full", "model", "state"),
    [
        (1.0, 1.0, "match"),
        (1.0, 1.1, "match"),
        (1.0, 0.9, "match"),
        (1.0, 1.11, "near"),
        (1.0, 0.7, "near"),
        (1.0, 1.31, "broken"),
        (0.0, 0.0, "match"),
        (0.0, 0.1, "broken"),
        (None, 1.0, "unknown"),
        (1.0, None, "unknown"),
    ],
)
def test_states(full: float | None, model: float | None, state: str) -> None:
    assert state_of(full, model) == state
