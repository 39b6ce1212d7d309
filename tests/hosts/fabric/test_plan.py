"""Plans that contradict themselves, addresses, sparse copies."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import NotRealisableError
from windtunnel.hosts.fabric.disks import copy_sparse
from windtunnel.hosts.fabric.fabric import check_plan
from windtunnel.hosts.fabric.plan import (
    DiskPlan,
    FabricPlan,
    GuestPlan,
    HostPlan,
    RackPlan,
    raid0,
)

DISK = DiskPlan("d0", 1 << 30)
HOST = HostPlan("w1", "r1", disks=(DISK,))
PLAN = FabricPlan((HOST,), (RackPlan("r1"),))


def test_a_plan_that_is_at_one_with_itself_passes() -> None:
    check_plan(PLAN)
    check_plan(replace(PLAN, hosts=(replace(HOST, guests=(GuestPlan("g1", disks=("d0",)),)),)))


@pytest.mark.parametrize(
    ("host", "message"),
    [
        (replace(HOST, name="r1"), "same name"),
        (replace(HOST, name="W1"), "'W1' is not a valid name"),
        (replace(HOST, name="../x"), "is not a valid name"),
        (replace(HOST, name="$(reboot)"), "is not a valid name"),
        (replace(HOST, rack="r9"), "rack r9, which the plan does not have"),
        (replace(HOST, disks=(DISK, DISK)), "two disks of host w1"),
        (replace(HOST, guests=(GuestPlan("g1", disks=("d7",)),)), "disk d7, which host w1 lacks"),
        (replace(HOST, guests=(GuestPlan("w1"),)), "same name"),
    ],
)
def test_a_plan_at_odds_with_itself_is_refused(host: HostPlan, message: str) -> None:
    with pytest.raises(NotRealisableError) as caught:
        check_plan(replace(PLAN, hosts=(host,)))
    assert message in caught.value.message


def test_striped_disks_add_up_and_one_unlimited_makes_all_so() -> None:
    disk = DiskPlan("d0", 100, 5.0, 4.0, read_iops=10)
    assert raid0("r", [disk, disk]) == DiskPlan("r", 200, 10.0, 8.0, read_iops=20)
    assert raid0("r", [disk, replace(disk, write_bytes_s=None)]).write_bytes_s is None


@given(st.lists(st.tuples(st.integers(0, 60), st.binary(min_size=1, max_size=9)), max_size=5))
def test_a_sparse_copy_is_equal_and_has_the_holes(parts: list[tuple[int, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name, "source"), Path(name, "target")
        with source.open("wb") as file:
            file.truncate(1 << 20)
            for place, data in parts:
                file.seek(place * 16384)
                file.write(data)
        copy_sparse(source, target)
        assert target.read_bytes() == source.read_bytes()
        assert target.stat().st_blocks <= source.stat().st_blocks + 8
