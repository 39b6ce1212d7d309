"""Capacities: rates of disks, links between racks, and what nothing describes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.model.hardware import hardware

CISCO = load_cluster("cisco-2014")
FULL_RATE = "the switches carry the full rate of all NICs"


def cluster(**changes: Any) -> Cluster:
    """Workers alone; names of keys are written with two underscores for each point."""
    given = {key.replace("__", "."): value for key, value in changes.items()}
    return apply_overrides(CISCO, {"hosts.store": None, **given})


def racks(**rack: Any) -> Cluster:
    hosts = {"a": ["name", "worker-1"], "b": [f"worker-{n}" for n in range(2, 6)]}
    named = {name: {"hosts": own, **rack.get(name, {})} for name, own in hosts.items()}
    return cluster(network={"racks": named, "uplink": "1 Gb/s"})


@pytest.mark.parametrize("kind", ["hdd", "ssd", "nvme"])
@pytest.mark.parametrize("known", ["read_rate", "write_rate"])
def test_one_stated_rate_of_a_disk_limits_reads_and_writes(kind: str, known: str) -> None:
    found = hardware(cluster(hosts__worker__disks=[{"kind": kind, "count": 2, known: "125 MB/s"}]))
    assert found.fixed_read_bytes_s == found.fixed_write_bytes_s == pytest.approx(2 * 125e6)
    assert found.spindles == 0


def test_two_stated_rates_and_none() -> None:
    disk = {"kind": "ssd", "read_rate": "200 MB/s", "write_rate": "100 MB/s"}
    found = hardware(cluster(hosts__worker__disks=[disk]))
    assert (found.fixed_read_bytes_s, found.fixed_write_bytes_s) == (200e6, 100e6)
    found = hardware(cluster(hosts__worker__disks=[{"kind": "ssd"}]))
    assert (found.fixed_read_bytes_s, found.fixed_write_bytes_s) == (450e6, 450e6)


def test_a_client_copies_through_the_uplink_of_its_rack() -> None:
    found = hardware(cluster(network={"spread_over": 4, "uplink": "1 Gb/s"}))
    # three quarters of the data are in other racks
    assert found.client_cross_bytes_s == pytest.approx(1.25e8 / 0.75)
    assert found.cross_bytes_s == pytest.approx(1.25e8 * 16 / 3)
    assert found.racks == 4
    # the first worker is the client, and four of the five workers are in the other rack
    own = hardware(racks(a={"uplink": "2 Gb/s"}))
    assert own.client_cross_bytes_s == pytest.approx(2.5e8 / 0.8)
    assert hardware(CISCO).client_cross_bytes_s == math.inf
    over = hardware(cluster(network={"spread_over": 5, "oversubscription": 4.0}))
    assert over.client_cross_bytes_s == pytest.approx(over.nic_bytes_s / 4 / 0.8)


def test_a_storage_without_topology_does_not_know_the_racks() -> None:
    spread = {"spread_over": 2, "uplink": "1 Gb/s"}
    assert hardware(cluster(network=spread, storage__topology="flat")).racks == 0
    assert hardware(CISCO).racks == 0


def test_full_switches_are_an_assumption_only_without_a_described_limit() -> None:
    assert FULL_RATE not in hardware(CISCO).assumed
    large = cluster(hosts__worker__count=60, network=None)
    assert FULL_RATE in hardware(large).assumed
    limited = cluster(hosts__worker__count=60, network={"switch": {"total_rate": "400 Gb/s"}})
    assert FULL_RATE not in hardware(limited).assumed
    assert FULL_RATE in hardware(cluster(network={"spread_over": 2})).assumed


def test_containers_are_whole_and_rounded_up_to_the_minimum() -> None:
    def slots(minimum_mb: int) -> float:
        sizes = {
            "nodemanager.resource.memory-mb": 4000,
            "scheduler.minimum-allocation-mb": minimum_mb,
            "app.mapreduce.am.resource.mb": 1536,
        }
        settings = {f"settings.yarn.{name}": size for name, size in sizes.items()}
        settings["settings.mapreduce.map.memory.mb"] = 600
        return hardware(cluster(**settings)).slots

    # six containers on each of five hosts, and four on that of the application master
    assert slots(1) == pytest.approx(6 - 2 / 5)
    # four of 1000 MiB; the application master takes the place of two
    assert slots(1000) == pytest.approx(4 - 2 / 5)
