"""Capacities: rates of disks, links between racks, and what nothing describes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.model.energy import energy_j
from windtunnel.model.hardware import hardware, on_this_machine
from windtunnel.testbeds.scaled.tasks import tasks_of

CISCO = load_cluster("cisco-2014")
CALCULATOR = "yarn.scheduler.capacity.resource-calculator"
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
        return hardware(cluster(**settings, software__distribution=None)).slots

    # six containers on each of five hosts, and four on that of the application master
    assert slots(1) == pytest.approx(6 - 2 / 5)
    # four of 1000 MiB; the application master takes the place of two
    assert slots(1000) == pytest.approx(4 - 2 / 5)


def test_containers_are_rounded_up_to_the_default_minimum_of_yarn() -> None:
    """As in the scale model of the same description, which takes Hadoop's defaults."""
    settings = {
        "settings.yarn.nodemanager.resource.memory-mb": 12288,
        "settings.mapreduce.map.memory.mb": 1536,
    }
    described = cluster(**settings, software__distribution=None)
    own = {k: v for k, v in described.settings.items() if not k.endswith("minimum-allocation-mb")}
    described = described.model_copy(update={"settings": own})
    # six of 2048 MiB; that of the application master, 1536 MiB by default, has the same size
    assert hardware(described).slots == pytest.approx(6 - 1 / 5)
    assert tasks_of(described).slots == 6
    assert tasks_of(described).master_slots == 1


def test_clusters_on_one_machine_have_the_minimum_of_windtunnel() -> None:
    sizes = {"mapreduce.map.memory.mb": 512, "yarn.nodemanager.resource.memory-mb": 1024}
    own = apply_overrides(load_cluster("local-3"), {f"settings.{n}": v for n, v in sizes.items()})
    one = apply_overrides(own, {"settings.yarn.scheduler.minimum-allocation-mb": 1024})
    assert on_this_machine(own).slots > on_this_machine(one).slots


@pytest.mark.parametrize(
    ("settings", "mean"),
    [
        ({}, 64 - 1 / 5),  # the CapacityScheduler counts memory only, by default
        (
            {CALCULATOR: "x.DominantResourceCalculator"},
            8 - 1 / 5,
        ),
        ({"yarn.resourcemanager.scheduler.class": "x.FairScheduler"}, 8 - 1 / 5),
        (
            {
                CALCULATOR: "x.DominantResourceCalculator",
                "mapreduce.map.cpu.vcores": 3,
            },
            2.0,  # 7 of 8 vcores are enough for two maps
        ),
    ],
)
def test_vcores_limit_containers_where_yarn_counts_them(
    settings: dict[str, Any], mean: float
) -> None:
    own = {
        "yarn.nodemanager.resource.memory-mb": 65536,
        "yarn.nodemanager.resource.cpu-vcores": 8,
        "mapreduce.map.memory.mb": 1024,
        "yarn.app.mapreduce.am.resource.mb": 1024,
        **settings,
    }
    changes: dict[str, Any] = {f"settings.{name}": value for name, value in own.items()}
    found = hardware(cluster(**changes, software__distribution=None))
    # one of five hosts has one container less: that of the application master
    assert found.slots == pytest.approx(mean)


def test_cdh_counts_vcores() -> None:
    assert hardware(CISCO).slots == pytest.approx(32 - 1 / 5)


def test_a_slow_disk_and_a_slow_port_slow_only_themselves() -> None:
    whole = hardware(cluster())
    slow = [{"host": 0, "part": "disk", "index": index, "to": 0.1} for index in range(4)]
    found = hardware(cluster(hosts__worker__degraded=slow))
    assert found.spindles == pytest.approx(whole.spindles * (1 - 4 * 0.9 / 24 / 5))
    twice = [{"host": 0, "part": "disk", "index": 0, "to": 0.5}] * 2
    found = hardware(cluster(hosts__worker__degraded=twice))
    assert found.spindles == pytest.approx(whole.spindles * (1 - 0.75 / 24 / 5))
    ports = {"hosts__worker__nics": [{"count": 2, "rate": "10 Gb/s"}]}
    port = [{"host": 1, "part": "nic", "index": 1, "to": 0.5}]
    both = hardware(cluster(**ports)).nic_bytes_s
    found = hardware(cluster(**ports, hosts__worker__degraded=port))
    assert found.nic_bytes_s == pytest.approx(both * (1 - 0.5 / 2 / 5))
    host = [{"host": 1, "part": "nic", "to": 0.5}]
    found = hardware(cluster(**ports, hosts__worker__degraded=host))
    assert found.nic_bytes_s == pytest.approx(both * (1 - 0.5 / 5))


def test_a_controller_limits_only_the_data_disks_if_all_have_one() -> None:
    limited = {"kind": "hdd", "count": 8, "controller_rate": "500 MB/s"}

    def limit(*groups: dict[str, Any]) -> float:
        return hardware(cluster(hosts__worker__disks=[*groups])).controller_bytes_s

    assert limit(limited) == 500e6
    assert limit(limited, limited) == 1e9
    assert limit(limited, {"kind": "nvme"}) == math.inf
    assert limit(limited, {"kind": "hdd", "use": "os", "controller_rate": "1 GB/s"}) == 500e6


def test_hosts_of_this_machine_have_none_of_the_described_hardware() -> None:
    described = apply_overrides(
        load_cluster("local-3"),
        {
            "hosts.worker.cpu": {"sockets": 2, "cores_per_socket": 10, "clock": "3 GHz"},
            "hosts.worker.disks": [{"kind": "hdd", "count": 24, "rpm": 10000}],
            "network": {"switch": {"total_rate": "1 Gb/s"}},
        },
    )
    assert hardware(described).cross_bytes_s == 1.25e8
    assert on_this_machine(described) == on_this_machine(load_cluster("local-3"))


def test_energy_counts_the_use_of_all_hosts_that_run_tasks() -> None:
    power = {f"hosts.{name}.power": {"idle": "100 W", "peak": "400 W"} for name in CISCO.hosts}
    whole = apply_overrides(CISCO, power)

    def energy(**changes: Any) -> float | None:
        given = {key.replace("__", "."): value for key, value in changes.items()}
        one = apply_overrides(whole, given)
        capacity = hardware(one)
        busy = capacity.hosts * capacity.cores * capacity.threads_per_core
        return energy_j(one, 100.0, 100.0 * busy, capacity)

    # eight hosts, of which five work
    assert energy() == pytest.approx(100 * (8 * 100 + 5 * 300))
    extra = {0: ["nodemanager"], 1: ["nodemanager"]}
    only_two = energy(hosts__worker__roles=["datanode"], hosts__worker__extra_roles=extra)
    assert only_two == pytest.approx(100 * (8 * 100 + 2 * 300))
