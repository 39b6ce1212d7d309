"""The rates of one host: NICs, switches, disks, arrays, controllers, degraded components."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.models import known
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.cluster.host_rates import (
    controller_bytes_s,
    disk_bytes_s,
    nic_bytes_s,
    oversubscription,
)

GBIT = 1.25e8
RACKS: dict[str, dict[str, Any]] = {
    "a": {"hosts": ["master", "worker-1"], "switch": {"port_rate": "1 Gb/s"}},
    "b": {"hosts": ["worker-2", "worker-3", "worker-4"]},
}


def changed(**values: Any) -> Cluster:
    """The known cluster; names of keys are written with two underscores for each point."""
    given = {key.replace("__", "."): value for key, value in values.items()}
    return apply_overrides(known(), given)


def disks(cluster: Cluster, index: int = 0) -> tuple[float | None, float | None]:
    return disk_bytes_s(cluster.hosts["worker"], index)


def nic(cluster: Cluster, index: int = 0) -> float | None:
    return nic_bytes_s(cluster, "worker", index)


def test_the_lowest_of_the_rates_of_a_port_counts() -> None:
    assert nic(known()) == 10 * GBIT
    assert nic(changed(hosts__worker__nics__0__measured_rate="9 Gb/s")) == 9 * GBIT
    switch = changed(network__switch={"port_rate": "5 Gb/s"})
    assert nic(switch) == 5 * GBIT
    two = changed(hosts__worker__nics=[{"rate": "10 Gb/s", "count": 2}, {"rate": "1 Gb/s"}])
    assert nic(two) == 21 * GBIT
    assert nic(changed(hosts__worker__nics=None)) is None
    assert nic(changed(hosts__worker__nics=[{"mtu": 9000}])) is None


def test_the_switch_of_a_rack_limits_its_own_hosts() -> None:
    racks = changed(network={"racks": RACKS, "switch": {"port_rate": "4 Gb/s"}})
    assert [nic(racks, index) for index in (0, 1)] == [GBIT, 4 * GBIT]


def test_a_degraded_component_is_one_of_one_host() -> None:
    slow = [
        {"host": 1, "part": "nic", "to": 0.1},
        {"host": 1, "part": "disk", "index": 3, "to": 0.5},
    ]
    cluster = changed(hosts__worker__degraded=slow)
    assert [nic(cluster, index) for index in (0, 1)] == [10 * GBIT, GBIT]
    assert disks(cluster, 0) == (640e6, 480e6)
    assert disks(cluster, 1) == (3.5 * 160e6, 3.5 * 120e6)


@pytest.mark.parametrize(
    ("layout", "reads", "writes"),
    [
        ("jbod", 1, 1),
        ("raid0", 1, 1),
        ("raid1", 1, 1 / 4),
        ("raid10", 1, 1 / 2),
        ("raid5", 3 / 4, 3 / 4),
        ("raid6", 1 / 2, 1 / 2),
    ],
)
def test_an_array_has_less_than_its_disks(layout: str, reads: float, writes: float) -> None:
    cluster = changed(hosts__worker__disks__0__layout=layout)
    assert disks(cluster) == pytest.approx((640e6 * reads, 480e6 * writes))


def test_a_controller_limits_what_the_array_provides() -> None:
    one = changed(
        hosts__worker__disks__0__layout="raid5",
        hosts__worker__disks__0__controller_rate="400 MB/s",
        hosts__worker__degraded=[{"host": 0, "part": "disk", "index": 0, "to": 0.5}],
    )
    assert disks(one) == pytest.approx((400e6, 3.5 * 120e6 * 3 / 4))
    assert controller_bytes_s(one.hosts["worker"]) == 400e6


def test_a_controller_of_one_group_is_no_limit_of_all_disks() -> None:
    group = {"read_rate": "100 MB/s", "write_rate": "100 MB/s"}
    two = changed(hosts__worker__disks=[{**group, "controller_rate": "50 MB/s"}, group])
    assert disks(two) == (200e6, 200e6)


def test_a_disk_without_a_rate_makes_the_rate_of_the_host_unknown() -> None:
    group = {"read_rate": "100 MB/s", "write_rate": "100 MB/s"}
    assert disks(changed(hosts__worker__disks=[group, {"read_rate": "1 MB/s"}])) == (101e6, None)
    assert disks(changed(hosts__worker__disks=[{**group, "use": "os"}])) == (None, None)
    assert disks(changed(hosts__worker__disks=None)) == (None, None)


def test_racks_have_the_stated_oversubscription_or_that_of_their_nics() -> None:
    assert oversubscription(known()) is None
    # four workers and the master, of 10 Gb/s each: three and two hosts
    spread = {"spread_over": 2, "uplink": "10 Gb/s"}
    assert oversubscription(changed(network=spread)) == 3.0
    assert oversubscription(changed(network={"spread_over": 2, "oversubscription": 4.0})) == 4.0
    assert oversubscription(changed(network={"spread_over": 2})) is None
    assert oversubscription(changed(network={"switch": {"total_rate": "40 Gb/s"}})) is None
    assert oversubscription(changed(network={"spread_over": 1, "uplink": "10 Gb/s"})) is None
    racks = {"a": {**RACKS["a"], "uplink": "1 Gb/s"}, "b": {**RACKS["b"], "oversubscription": 5.0}}
    assert oversubscription(changed(network={"racks": racks})) == 20.0
