"""What a handler of signals knows about a removal that is running."""

from __future__ import annotations

import pytest

from windtunnel.hosts.removal import removing, running_removal


def test_the_removal_that_runs_is_known_with_its_longest_time() -> None:
    assert running_removal() is None
    with removing("jobs of wt-1", 60.0):
        found = running_removal()
        assert found is not None and (found.what, found.limit_s) == ("jobs of wt-1", 60.0)
        with removing("data of wt-2", 5.0):
            inner = running_removal()
            assert inner is not None and inner.what == "data of wt-2"
        assert running_removal() is found
    assert running_removal() is None


def test_an_interrupt_that_ends_it_names_what_can_be_left() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, removing("jobs of wt-1", 60.0):
        raise KeyboardInterrupt
    assert caught.value.__notes__ == ["jobs of wt-1"]
    assert running_removal() is None
