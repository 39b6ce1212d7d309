"""Samples of hosts by SSH: intervals, hosts that are lost and come back, what remains."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.ssh_server import SshServer, ssh_server
from windtunnel.errors import ClusterAccessError
from windtunnel.testbeds.attached import ssh_samples
from windtunnel.testbeds.attached.source_options import SshOptions
from windtunnel.testbeds.attached.ssh_samples import SshSamples

HOSTS = {"master.example": False, "worker-1.example": True}
ADDRESSES = dict.fromkeys(HOSTS, "127.0.0.1")
INTERVAL_S = 0.25  # shorter than permitted, to save time
Make = Callable[..., SshSamples]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with ssh_server(tmp_path, tuple(HOSTS)) as made:
        yield made


@pytest.fixture
def make(server: SshServer) -> Iterator[Make]:
    made: list[SshSamples] = []

    def one(workers: dict[str, bool] = HOSTS, **changes: Any) -> SshSamples:
        given = {
            "port": server.port,
            "key": str(server.key),
            "known_hosts": str(server.known_hosts),
            **changes,
        }
        options = SshOptions.model_validate(given).model_copy(update={"interval": INTERVAL_S})
        made.append(SshSamples(options, workers, ADDRESSES))
        return made[-1]

    yield one
    for each in made:
        each.close()


def until(done: Callable[[], object], limit_s: float = 30.0) -> None:
    end = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_facts_are_those_of_the_hosts(make: Make) -> None:
    facts = make().facts()
    assert facts.keys() == HOSTS.keys()
    assert facts["worker-1.example"]["worker"] is True
    assert facts["master.example"]["cpu_threads"] >= 1
    assert facts["master.example"]["memory_bytes"] > 1 << 28


def test_samples_cover_the_time_with_one_reading_before_and_one_after(make: Make) -> None:
    hosts = make()
    hosts.start()
    since = time.time()  # the first reading of each host is older
    time.sleep(4.5 * INTERVAL_S)
    ended = time.time()
    made = hosts.record(since, ended)
    assert made.problems == [] and made.power_source is None
    for host in HOSTS:
        times = [one.time_s for one in made.samples if (one.host, one.metric) == (host, "cpu_idle")]
        assert times == sorted(times) and len(times) >= 4
        # the middle of the first interval and of the last one, and half a second
        assert times[0] < since + INTERVAL_S + 0.5 and times[-1] > ended - INTERVAL_S + 0.5
    shares = [one.value for one in made.samples if one.metric.startswith("cpu_")]
    assert sum(shares) == pytest.approx(len(shares) / 8)
    names = {one.metric for one in made.samples}
    assert {"load_1min", "memory_used", "page_cache", "disk_read", "net_sent"} <= names


def test_a_host_that_does_not_answer_is_named(make: Make) -> None:
    hosts = make({**HOSTS, "worker-2.example": True})
    notes = hosts.caveats()
    assert "the sampler has a sample every 0.25 s" in notes[0]
    assert notes[1].startswith("hosts: no SSH login to 1 host: worker-2.example (")
    assert hosts.facts().keys() == HOSTS.keys()
    hosts.start()
    time.sleep(3 * INTERVAL_S)
    made = hosts.record(time.time() - INTERVAL_S, time.time())
    assert made.problems == ["samples are missing of 1 host: worker-2.example (unreachable)"]
    assert {one.host for one in made.samples} == HOSTS.keys()


def test_without_any_host_the_study_does_not_start(make: Make, tmp_path: Path) -> None:
    (tmp_path / "none").touch()
    with pytest.raises(ClusterAccessError, match="its SSH host key is not known") as caught:
        make(known_hosts=str(tmp_path / "none")).caveats()
    assert "known_hosts" in caught.value.remedy


def test_a_lost_host_is_sampled_again(
    server: SshServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_samples, "_AGAIN_S", 0.5)
    hosts = make({"master.example": False})
    hosts.start()
    time.sleep(3 * INTERVAL_S)
    since = time.time() - INTERVAL_S
    server.cut()
    time.sleep(0.2)
    lost = hosts.record(since, time.time())
    assert lost.problems == ["samples are missing of 1 host: master.example (connection lost)"]
    again = time.time()
    until(lambda: hosts.record(again, time.time()).samples)
    since = time.time()
    time.sleep(INTERVAL_S)
    later = hosts.record(since, time.time())
    assert later.problems == [] and later.samples


def test_nothing_remains_on_the_hosts(server: SshServer, make: Make) -> None:
    hosts = make()
    hosts.start()
    until(lambda: len(server.commands) == 2)
    assert all(command.startswith("exec sh -c ") for command in server.commands)
    hosts.close()
    until(lambda: len(server.ended) == 2)
    assert server.ended == [0, 0], "the programs end with their input"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"interval": "0.5 s"}, "must be at least 1 s"),
        ({"password": "x"}, "password"),
    ],
)
def test_options_that_cannot_be_used(given: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SshOptions.model_validate(given)
