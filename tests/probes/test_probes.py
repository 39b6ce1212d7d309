"""The sampler and the facts about the machine."""

from __future__ import annotations

import os
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from windtunnel.probes import machine, readings, sampler, this_machine
from windtunnel.probes.base import Watched
from windtunnel.probes.machine import before_trial, machine_facts
from windtunnel.probes.sampler import SCHEMA, Sampler
from windtunnel.probes.this_machine import ThisMachine
from windtunnel.results.sample import Sample

NOBODY = 2**22 + 1  # above every process id


def sample(processes: dict[str, int], rounds: int, monkeypatch: pytest.MonkeyPatch) -> Sampler:
    monkeypatch.setattr(sampler, "PERIOD_S", 0.02)
    with Sampler(lambda: processes) as made:
        deadline = time.monotonic() + 60
        while len({row.time_s for row in made.rows}) < rounds:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    return made


def test_host_and_daemons_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    made = sample({"namenode@master": os.getpid()}, 3, monkeypatch)
    metrics = {row.metric for row in made.rows}

    assert {"cpu_user", "cpu_idle", "load_1min", "memory_used", "net_sent"} <= metrics
    assert {"daemon_cpu:namenode@master", "daemon_rss:namenode@master"} <= metrics
    shares = [row.value for row in made.rows if row.unit == "ratio"]
    assert all(0.0 <= value <= 1.0 for value in shares)
    assert all(row.value >= 0.0 for row in made.rows)
    assert made.cost > 0.0


def test_a_daemon_that_has_died_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    made = sample({"datanode@worker-1": NOBODY}, 2, monkeypatch)

    assert not any("daemon" in row.metric for row in made.rows)


def test_a_sample_that_does_not_end_adds_nothing_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "PERIOD_S", 0.001)
    monkeypatch.setattr(sampler, "_END_S", 0.05)
    entered, release = threading.Event(), threading.Event()

    def slow(now: float) -> Iterator[tuple[str, str, str, float]]:
        yield "a", "load_1min", "count", 1.0
        entered.set()
        release.wait(60)
        yield "b", "load_1min", "count", 2.0

    with Sampler(dict, sources=[slow], here=False) as made:
        assert entered.wait(60)
    known = len(made.rows)
    release.set()
    made._thread.join(60)

    assert [row.host for row in made.rows] == ["a"] * known
    assert made.failures == ["a sample did not end within 0 s"]
    made.write(tmp_path / "s.parquet", "r01-terasort-stock-a1")


@pytest.mark.parametrize("count", [0, 3])
def test_samples_come_back_from_parquet(tmp_path: Path, count: int) -> None:
    made = Sampler(dict)
    made.rows = [Sample(1.5 + i, "this-machine", "load_1min", "count", 0.5) for i in range(count)]
    made.write(tmp_path / "s.parquet", "r01-terasort-stock-a1")
    table = pq.read_table(tmp_path / "s.parquet")

    assert table.schema.equals(SCHEMA)
    assert table.column("t").to_pylist() == [1.5 + i for i in range(count)]
    assert set(table.column("trial").to_pylist()) <= {"r01-terasort-stock-a1"}


def test_the_state_before_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_IDLE_WINDOW_S", 0.01)
    before = before_trial("warm")

    assert 0.0 <= before.cpu_idle_share <= 1.0
    assert before.memory_available_bytes > 0
    assert before.cache_state == "warm"


def test_the_machine_is_described() -> None:
    facts = machine_facts()

    assert facts["cpu_threads"] >= 1
    assert facts["memory_bytes"] > 1 << 20
    assert facts["windtunnel"]


def test_a_machine_without_git_has_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    machine.own_commit.cache_clear()
    try:
        assert machine.own_commit().startswith("unknown")
    finally:
        machine.own_commit.cache_clear()


def cpu_times(monkeypatch: pytest.MonkeyPatch, *readings_: tuple[float, ...]) -> None:
    """The CPU times (user, idle, iowait, guest) of this machine, one after the other."""
    kind = namedtuple("kind", "user idle iowait guest")
    times = iter(readings_)
    monkeypatch.setattr("psutil.cpu_times", lambda: kind(*next(times)))


def fractions(probe: ThisMachine) -> dict[str, float]:
    return {row.metric: row.value for row in probe.sample(1.0) if row.metric.startswith("cpu_")}


def test_the_first_sample_has_the_cpu_since_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in another thread than the one that began."""
    cpu_times(monkeypatch, (100, 900, 0, 50), (103, 901, 0, 52), (103, 902, 0, 52))
    probe = ThisMachine(Watched(dict))
    probe.begin()
    with ThreadPoolExecutor(1) as sampling:
        first = sampling.submit(fractions, probe).result()
    assert first == {"cpu_user": 0.75, "cpu_idle": 0.25, "cpu_iowait": 0.0}
    assert fractions(probe) == {"cpu_user": 0.0, "cpu_idle": 1.0, "cpu_iowait": 0.0}


def test_cpu_counters_that_stand_still_or_shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu_times(monkeypatch, (1, 1, 5, 0), (1, 1, 5, 0), (1, 2, 4, 0))
    probe = ThisMachine(Watched(dict))
    probe.begin()
    assert fractions(probe) == {}
    assert fractions(probe) == {"cpu_user": 0.0, "cpu_idle": 1.0, "cpu_iowait": 0.0}


def test_bytes_through_devices_above_a_disk_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def counters(perdisk: bool = False) -> Any:
        each = {
            "vda": SimpleNamespace(read_bytes=5, write_bytes=7),
            "loop0": SimpleNamespace(read_bytes=5, write_bytes=7),
        }
        return each if perdisk else SimpleNamespace(read_bytes=10, write_bytes=14)

    monkeypatch.setattr("psutil.disk_io_counters", counters)
    monkeypatch.setattr(this_machine, "is_disk", lambda name: name == "vda")
    probe = ThisMachine(Watched(dict))
    assert probe._totals()[readings.DISK_WRITE] == 7
    monkeypatch.setattr(this_machine, "is_disk", lambda name: False)
    assert probe._totals()[readings.DISK_WRITE] == 14
