"""The queues of shapers, with a fake link: what they ask the kernel for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from windtunnel.hosts.fabric.shaping import Links, Shaper


class Recorded:
    """A link that records requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, tuple[object, ...], dict[str, Any]]] = []

    def tc(self, command: str, *facts: object, **named: Any) -> None:
        self.requests.append((command, facts, named))


def queue_bytes(rate_bytes_s: float, frame_bytes: int) -> int:
    """Bytes that wait in the queue of a shaper when its bucket is empty."""
    links = Recorded()
    shaper = Shaper(cast(Links, links), 1)
    shaper.frame_bytes = frame_bytes
    shaper.set_rate(rate_bytes_s)
    named = links.requests[-1][2]
    return int(named["limit"] - named["burst"])


@pytest.mark.parametrize("frame_bytes", [1500, 9000])
@pytest.mark.parametrize("rate_bytes_s", [10e3, 781_250, 1.25e9])
def test_a_queue_holds_many_frames_and_50_ms(rate_bytes_s: float, frame_bytes: int) -> None:
    waiting = queue_bytes(rate_bytes_s, frame_bytes)

    assert waiting >= 64 * frame_bytes
    assert waiting >= int(rate_bytes_s * 0.05)
    assert waiting in (64 * frame_bytes, int(rate_bytes_s * 0.05))


def test_a_rate_is_added_changed_and_removed() -> None:
    links = Recorded()
    shaper = Shaper(cast(Links, links), 1)
    for rate in (1e6, 2e6, None, None):
        shaper.set_rate(rate)

    assert [command for command, _, _ in links.requests] == ["add", "change", "del"]
    assert links.requests[1][2]["rate"] == 2_000_000


def test_with_a_delay_a_rate_is_removed_and_set_again() -> None:
    """The kernel refuses to add what is at the top where the delay already is."""
    links = Recorded()
    shaper = Shaper(cast(Links, links), 1)
    shaper.set_rate(1e6)
    shaper.set_delay(0.001)
    links.requests.clear()
    shaper.set_rate(None)
    shaper.set_rate(2e6)

    commands = [(command, *facts[:1]) for command, facts, _ in links.requests]
    assert commands == [("del",), ("replace", "netem"), ("replace", "tbf"), ("replace", "netem")]
    assert "parent" in links.requests[-1][2]
