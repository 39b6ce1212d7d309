"""Few tasks use few hosts; erasure codes and racks move other bytes than replicas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.model import constants, phases
from windtunnel.model.hardware import Hardware, hardware
from windtunnel.model.jobs import Job, job
from windtunnel.model.predict import predict
from windtunnel.model.store import shipped_fit

PRIORS = constants.priors()
B = apply_overrides(load_cluster("cisco-2014"), {"hosts.store": None, "hosts.worker.count": 20})
NIC = 1.25e9 * (9000 - 52) / (9000 + 38)


def row(kind: str, cluster: Cluster = B, **parameters: Any) -> tuple[Hardware, Job]:
    capacity = hardware(cluster)
    return capacity, job(kind, {"size": "1 TB", **parameters}, cluster, capacity)


def times(one: tuple[Hardware, Job]) -> phases.Times:
    return phases.times(phases.columns(one[1].kind, [one]), PRIORS)


def seconds(one: tuple[Hardware, Job], resource: str) -> float:
    return float(times(one).resources_s[phases.RESOURCES.index(resource), 0])


def test_one_file_is_written_through_one_host() -> None:
    one, many = (row("write", files=files, file_size=f"{1000 / files} GB") for files in (1, 200))
    # the host sends its data to a second one, and all hosts forward the third replica
    assert seconds(one, "network") == pytest.approx(1e12 * (1 + 1 / 20) / NIC)
    assert seconds(many, "network") == pytest.approx(1e12 * (2 / 20) / NIC)
    # its own stream, and two of 20 parts of the others, choose among 24 disks
    busy = 24 * (1 - (1 - 1 / 24) ** 1.1)
    rate = busy * np.exp(PRIORS[constants.INDEX["disk_write"]]) * 1e6 * 10_000 / 7200
    left = 1e12 * (1 + 2 / 20) - phases.DIRTY_SHARE * one[0].store_memory_bytes
    assert seconds(one, "disk") == pytest.approx(left / rate)


def test_one_reduce_task_uses_the_disks_and_the_nic_of_one_host() -> None:
    one, many = row("sort", reduces=1), row("sort", reduces=200)
    assert seconds(one, "network") == pytest.approx(0.46e12 * 19 / 20 / NIC)
    assert seconds(many, "network") == pytest.approx(0.46e12 * 19 / 20 / 20 / NIC)
    assert seconds(one, "disk") > 5.0 * seconds(many, "disk")
    few = row("sort", apply_overrides(B, {"storage.block_size": "500 GB"}), reduces=200)
    assert few[1].tasks == 2
    assert seconds(few, "network") == pytest.approx(0.46e12 * 19 / 20 / 2 / NIC)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("generate", "maps"), ("write", "files"), ("sort", "reduces"), ("validate", "reduces")],
)
def test_fewer_tasks_than_hosts_are_never_faster(kind: str, name: str) -> None:
    found = []
    for count in (1, 2, 5, 10, 19, 20, 21, 40):
        capacity, work = row(kind, B, **{name: count})
        found.append(float(times((capacity, replace(work, data_bytes=1e12))).elapsed_s[0]))
    assert found == sorted(found, reverse=True)


def test_as_many_tasks_as_hosts_use_all() -> None:
    capacity, work = row("sort", reduces=20)
    shared = replace(capacity, pooled=1.0)
    for resource in ("disk", "network"):
        assert seconds((capacity, work), resource) == seconds((shared, work), resource)
    # processes of one machine share its disks, so that few of them are no fewer disks
    few = replace(work, reduces=2.0)
    assert seconds((shared, few), "network") < seconds((capacity, few), "network")


def coded(kind: str, name: str = "RS-6-3", **parameters: Any) -> tuple[Hardware, Job]:
    return row(kind, apply_overrides(B, {"storage.erasure_code": name}), **parameters)


def test_cells_of_a_code_are_on_other_hosts() -> None:
    write = seconds(coded("write", files=200, file_size="5 GB"), "network")
    assert write == pytest.approx(1e12 * 9 / 6 * 19 / 20 / 20 / NIC)
    for kind in ("read", "validate", "count"):
        read = seconds(coded(kind, files=200, file_size="5 GB", reduces=200), "network")
        assert read == pytest.approx(1e12 * 19 / 20 / 20 / NIC)
        assert seconds(row(kind, reduces=200), "network") == 0
    # the maps read cells of other hosts and shuffle, and the reduces write cells
    assert seconds(coded("sort", reduces=200), "network") == pytest.approx(
        1e12 * 19 / 20 / 20 * (1 + 0.46 + 9 / 6) / NIC
    )
    assert seconds(coded("put"), "network") == pytest.approx(1e12 * 9 / 6 / NIC)
    assert seconds(coded("get"), "network") == pytest.approx(1e12 / NIC)


def test_codes_are_outside_of_the_fitted_range() -> None:
    cisco = load_cluster("cisco-2014")
    plain = row("generate", cisco, maps=119, input_replication=3)
    same = plain[0], replace(plain[1], coded=1.0)
    assert [one.inside for one in predict(shipped_fit(), [plain, same])] == [True, False]
    assert (plain[1].label, same[1].label) == ("generate", "generate/erasure-code")
    assert coded("pi", samples=1e9)[1].coded == 0


def racked(count: int, **more: Any) -> Cluster:
    network = {"spread_over": count, "uplink": "1 Gb/s"}
    return apply_overrides(B, {"network": network, **more})


def test_a_block_crosses_racks_once() -> None:
    shared = np.exp(PRIORS[constants.INDEX["shared_uplink"]])
    for replicas in (2, 3):
        one = row("generate", racked(4), input_replication=replicas)
        assert seconds(one, "network") == pytest.approx(1e12 / (4 * 1.25e8 * shared))
    four = row("generate", racked(4), input_replication=4)
    assert seconds(four, "network") == pytest.approx(1e12 * 1.75 / (4 * 1.25e8 * shared))
    flat = row("generate", racked(4, **{"storage.topology": "flat"}), input_replication=3)
    assert seconds(flat, "network") == pytest.approx(2e12 * 0.75 / (4 * 1.25e8 * shared))


def test_a_get_needs_the_uplink_of_the_rack_of_its_client() -> None:
    assert seconds(row("get", racked(4)), "network") == pytest.approx(1e12 * 0.75 / 1.25e8)
    assert seconds(row("get"), "network") == pytest.approx(1e12 / NIC)


def test_a_put_to_one_host_needs_its_nic() -> None:
    changes = {"hosts.worker.count": 1, "storage.replication": 1, "hosts.name.roles": ["client"]}
    slow = apply_overrides(B, {**changes, "hosts.worker.nics": [{"rate": "1 Gb/s"}]})
    put, get = (seconds(row(kind, slow), "network") for kind in ("put", "get"))
    assert put == get > 1e12 / 1.25e8


def test_sizes_of_files_and_samples_of_maps_are_those_of_every_task() -> None:
    capacity = hardware(B)
    found = job("write", {"file_size": "1 GB"}, B, capacity)
    assert found.data_bytes == pytest.approx(1e9 * capacity.hosts * capacity.slots)
    assert found.tasks == pytest.approx(capacity.hosts * capacity.slots)
    assert job("write", {"file_size": "1 GB", "maps": 7}, B, capacity).data_bytes == 7e9
    found = job("pi", {"samples_per_map": 1000}, B, capacity)
    assert found.samples == pytest.approx(1000 * found.tasks)
