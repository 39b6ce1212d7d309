"""What is calibrated, by which probes, and what is measured at the same time."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.calibrated import MB, PLAN
from windtunnel.hosts.fabric.fabric import check_plan
from windtunnel.hosts.fabric.plan import FabricPlan, HostPlan, RackPlan
from windtunnel.testbeds.scaled.shaped import (
    FAR,
    FARTHER,
    STAGES,
    Blocks,
    Flow,
    Shaped,
    Spin,
    batches,
    instrumented,
    machine_limits,
    new_parts,
    parts_of,
)

PARTS = list(parts_of(PLAN))


def of(kind: str) -> dict[str, float | None]:
    """Name -> set of the parts of a kind."""
    return {part.name: part.set for part in PARTS if part.kind == kind}


def test_every_nic_and_uplink_is_measured_both_ways_against_an_instrument() -> None:
    assert of("NIC") == {
        "master out": 12.5 * MB,
        "master in": 12.5 * MB,
        "worker out": 12.5 * MB,
        "worker in": 12.5 * MB,
        "big out": 25 * MB,
        "big in": 25 * MB,
    }
    assert of("uplink") == {
        "r1 out": 50 * MB,
        "r1 in": 50 * MB,
        "r2 out": 6 * MB,
        "r2 in": 6 * MB,
    }
    flows = {p.name: p.probes[0] for p in PARTS if p.kind in ("NIC", "uplink")}
    assert flows["worker in"] == Flow("wt-at-r1", "worker")
    assert flows["big out"] == Flow("vm-1", "wt-at-r2"), "a guest speaks for its host's NIC"
    assert flows["r2 out"] == Flow("wt-at-r2", FAR)


def test_the_narrowest_place_on_the_way_is_what_a_pair_is_set_to() -> None:
    assert of("same rack") == {"master to worker": 12.5 * MB, "worker to master": 12.5 * MB}
    assert of("across racks") == {"master to vm-1": 6 * MB, "vm-1 to master": 6 * MB}
    assert of("guests of one host") == {"vm-1 to vm-2": None, "vm-2 to vm-1": None}
    assert of("guests of two hosts") == {}


def test_guests_of_two_hosts_are_a_class_of_their_own() -> None:
    other = replace(PLAN.hosts[2], name="big-2")
    guests = tuple(replace(guest, name=f"{guest.name}-2") for guest in other.guests)
    plan = replace(PLAN, hosts=(*PLAN.hosts, replace(other, guests=guests)))
    names = [part.name for part in parts_of(plan) if part.kind == "guests of two hosts"]
    assert names == ["vm-1 to vm-1-2", "vm-1-2 to vm-1"]


def test_disks_are_measured_one_by_one_and_all_of_a_host() -> None:
    assert of("disk read cold") == {
        "worker d1": 20 * MB,
        "worker d2": 20 * MB,
        "big d1": 10 * MB,
        "big d2": 25 * MB,  # unlimited behind its controller
    }
    assert of("all disks, write direct") == {"worker": 20 * MB, "big": 25 * MB}
    assert of("disk write operations") == {"worker d1": 50.0}
    users = {p.name: p.probes[0] for p in PARTS if p.kind == "disk write direct"}
    assert users["big d1"] == Blocks("vm-1", "d1", "write direct")
    assert users["big d2"] == Blocks("vm-2", "d2", "write direct")


def test_all_disks_of_a_host_are_asked_for_what_each_can_get() -> None:
    shares = {p.name: p.shares for p in PARTS if p.kind == "all disks, read cold"}
    assert shares == {"worker": (20 * MB, 20 * MB), "big": (10 * MB, 15 * MB)}


def test_disks_behind_a_controller_take_turns() -> None:
    turns = {p.name: p.turn for p in PARTS if p.kind == "disk write direct"}
    assert turns == {"worker d1": 0, "worker d2": 0, "big d1": 1, "big d2": 2}


def test_a_quota_is_the_hosts_and_a_guests_within_it() -> None:
    assert of("CPU") == {"worker": 0.5, "big": 1.0, "vm-1": 0.75, "vm-2": 1.0}
    (host,) = (part for part in PARTS if part.name == "big" and part.kind == "CPU")
    assert host.probes == (Spin("vm-1", 1), Spin("vm-2", 1))
    many = replace(PLAN.hosts[1], cpu_cores=2.5)
    (part,) = (p for p in parts_of(replace(PLAN, hosts=(many,))) if p.kind == "CPU")
    assert part.probes == (Spin("worker", 3),), "one loop burns no more than one core"


def test_what_is_unlimited_is_measured_once_of_its_kind() -> None:
    free = FabricPlan((HostPlan("a", "r"), HostPlan("b", "r")), (RackPlan("r"),))
    ((_, new),) = new_parts([free])
    assert [(part.kind, part.set) for part in new] == [
        ("NIC", None),
        ("uplink", None),
        ("same rack", None),
    ]


def test_later_plans_add_only_what_differs() -> None:
    faster = replace(PLAN.hosts[1], nic_bytes_s=50 * MB)
    other = replace(PLAN, hosts=(PLAN.hosts[0], faster, PLAN.hosts[2]))
    (_, first), (_, new), (_, none) = new_parts([PLAN, other, PLAN])
    assert len(first) > 20
    assert [part.name for part in new] == ["worker out", "worker in"]
    assert none == []


def test_instruments_limit_nothing_and_the_plan_stays_possible() -> None:
    plan = instrumented(PLAN, 1 << 29)
    check_plan(plan)
    added = {host.name: host for host in plan.hosts[len(PLAN.hosts) :]}
    assert {name: host.rack for name, host in added.items()} == {
        "wt-at-r1": "r1",
        "wt-at-r2": "r2",
        FAR: f"{FAR}s",
        FARTHER: f"{FAR}s",
    }
    assert all(host.nic_bytes_s is host.cpu_cores is None for host in added.values())
    assert {disk.size_bytes for host in plan.hosts for disk in host.disks} == {1 << 29}
    ends = {FAR, FARTHER}  # no shaped uplink lies between them
    for part in machine_limits(2):
        for probe in part.probes:
            named = {probe.source, probe.target} if isinstance(probe, Flow) else {probe.end}
            assert named <= ends


def test_a_host_above_the_capacity_is_measured_alone() -> None:
    made = list(batches(PARTS, {"network": 30 * MB}))
    nics = [[p.name for p in batch] for stage, batch in made if stage == "network"]
    assert nics[:4] == [
        ["master out", "worker out"],
        ["big out"],
        ["master in", "worker in"],
        ["big in"],
    ]


rates = st.one_of(st.none(), st.floats(1, 100))
shaped = st.builds(
    Shaped,
    kind=st.just("k"),
    name=st.text("ab", max_size=2),
    set=rates,
    unit=st.just("bytes/s"),
    probes=st.integers(0, 5).map(lambda n: (Spin(f"h{n}", 1),)),
    stage=st.sampled_from(STAGES),
    group=st.sampled_from("ghi"),
    turn=st.integers(0, 2),
)


@given(st.lists(shaped, max_size=25, unique=True), st.floats(1, 200))
def test_batches_hold_each_part_once_and_what_the_machine_carries(
    parts: list[Shaped], capacity: float
) -> None:
    made = list(batches(parts, dict.fromkeys(STAGES, capacity)))
    assert sorted(map(repr, (p for _, batch in made for p in batch))) == sorted(map(repr, parts))
    order = [(STAGES.index(stage), batch[0].turn) for stage, batch in made]
    assert order == sorted(order)
    homes = [(stage, part.turn, part.group) for stage, batch in made for part in batch]
    for stage, batch in made:
        assert {part.stage for part in batch} == {stage}
        assert len({part.turn for part in batch}) == 1
        for group in {part.group for part in batch}:
            mine = sum(part.group == group for part in batch)
            assert mine == homes.count((stage, batch[0].turn, group)), "a group is never split"
        if len({part.group for part in batch}) > 1:
            assert sum(math.inf if p.set is None else p.set for p in batch) <= capacity + 1e-6
