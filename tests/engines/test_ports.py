"""Ports of daemons: free ones differ, and those of recent calls come last."""

from __future__ import annotations

import socket
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.engines import ports as module
from windtunnel.engines.ports import free_ports


@given(count=st.integers(1, 60))
def test_free_ports_differ_and_can_be_bound(count: int) -> None:
    ports = free_ports(count)

    assert len(set(ports)) == count
    assert all(20_000 <= port < 32_000 for port in ports)


def test_a_port_that_is_taken_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        free = free_ports(1)[0]
        monkeypatch.setattr("random.sample", lambda among, count: [port, free])

        assert free_ports(1) == [free]


def test_ports_of_one_deployment_differ_before_its_daemons_listen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PORTS", range(20_000, 20_100))
    monkeypatch.setattr(module, "_recent_ports", deque(maxlen=1000))
    first, second = free_ports(30), free_ports(30)
    assert not {*first} & {*second}
    assert len(free_ports(90)) == 90, "ports of earlier calls are better than none"
