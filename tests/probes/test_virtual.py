"""Samples of virtual hosts: counters become rates, a guest's disks stand under its host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.hosts.fabric.virtual import Counters
from windtunnel.probes.sampler import Sampler
from windtunnel.probes.virtual import VirtualHosts
from windtunnel.results.sample import Sample


class Host:
    """Counts what a test tells it."""

    def __init__(self, name: str, machine: str | None = None) -> None:
        self.name, self.machine = name, machine or name
        self.now = Counters(0.0, 0.0, 0, 0, {"disk-1": (0, 0), "disk-2": (0, 0)}, 0, 0)

    def count(self, **changes: Any) -> None:
        self.now = Counters(**(self.now.__dict__ | changes))

    def counters(self) -> Counters:
        return self.now


def readings(source: VirtualHosts, now: float) -> Mapping[tuple[str, str], float]:
    return {(host, metric): value for host, metric, _, value in source(now)}


def test_rates_need_two_looks() -> None:
    host: Any = Host("worker-1")
    source = VirtualHosts([host], lambda name: 0.5)
    host.count(memory_bytes=900, cached_bytes=400)
    assert readings(source, 10.0) == {
        ("worker-1", "memory_used"): 500.0,
        ("worker-1", "page_cache"): 400.0,
    }

    disks = {"disk-1": (100, 2000), "disk-2": (300, 0)}
    host.count(cpu_s=0.8, throttled_s=0.4, disks=disks, received_bytes=50, sent_bytes=10)
    found = readings(source, 12.0)
    assert found["worker-1", "cpu_used"] == 0.4
    assert round(found["worker-1", "cpu_idle"], 9) == 0.2
    assert found["worker-1", "cpu_throttled"] == 0.2
    assert found["worker-1", "disk_read"] == 200.0
    assert found["worker-1", "disk_read:disk-2"] == 150.0
    assert found["worker-1", "disk_write"] == 1000.0
    assert (found["worker-1", "net_received"], found["worker-1", "net_sent"]) == (25.0, 5.0)


def test_without_a_quota_idle_is_unknown() -> None:
    host: Any = Host("worker-1")
    source = VirtualHosts([host], lambda name: None)
    readings(source, 1.0)
    assert ("worker-1", "cpu_idle") not in readings(source, 2.0)


def test_the_disks_of_guests_are_told_once_under_their_host() -> None:
    guests: Any = [Host("w-vm-1", "w"), Host("w-vm-2", "w")]
    source = VirtualHosts(guests, lambda name: 1.0)
    readings(source, 1.0)
    told = [(host, metric) for host, metric, _, _ in source(2.0) if metric == "disk_read"]
    assert told == [("w", "disk_read")]


def test_the_machine_s_means_leave_other_hosts_out() -> None:
    sampler = Sampler(dict)
    sampler.rows = [
        Sample(1.0, "this-machine", "cpu_idle", "ratio", 0.5),
        Sample(1.0, "worker-1", "cpu_idle", "ratio", 0.1),
    ]
    assert sampler.mean("cpu_idle") == 0.5


def test_the_sampler_asks_its_sources() -> None:
    sampler = Sampler(dict, sources=[lambda now: [("worker-1", "net_sent", "bytes/s", now)]])
    assert (7.0, "worker-1", "net_sent", "bytes/s", 7.0) in list(sampler._sample(7.0))
