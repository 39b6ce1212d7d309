"""Faults of virtual hosts: the right limit at the right part, and back. The fabric is made up."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windtunnel.cluster import load_cluster
from windtunnel.engines.faults import Undo
from windtunnel.errors import DeploymentError, NotRealisableError
from windtunnel.hosts.fabric.plan import GuestPlan, HostPlan
from windtunnel.testbeds.scaled.faults import BALLAST, ScaledFaults, fill
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan


class Recorder:
    """Notes every call of any method as (name, *arguments)."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.calls.append((name, *arguments))


@pytest.fixture
def model(tmp_path: Path) -> Any:
    shaped = fabric_plan(load_cluster("model-3"), Scale(rate=0.5, data=1))
    disks = {"disk-1": tmp_path / "one", "disk-2": tmp_path / "two"}
    for folder in disks.values():
        folder.mkdir()
    virtual = {host.name: SimpleNamespace(disks=disks) for host in shaped.hosts}
    return SimpleNamespace(
        shaped=shaped,
        fabric=Recorder(),
        limits=threading.Lock(),
        virtual=virtual,
        testbed="scaled",
        pool=None,
    )


def test_the_pool_knows_the_hosts_behind_each_cut_link(model: Any) -> None:
    second = ("worker-2", "worker-3")
    hosts = [replace(h, rack="r2") if h.name in second else h for h in model.shaped.hosts]
    model.shaped = replace(model.shaped, hosts=tuple(hosts))
    model.pool = SimpleNamespace(cuts={})
    faults = ScaledFaults(model)
    undo_rack, undo_host = faults.cut("r2"), faults.cut("worker-2")
    assert model.fabric.calls == [("cut", "r2"), ("cut", "worker-2")]
    assert model.pool.cuts["r2"] - {"r2"} == {*second}
    assert model.pool.cuts["worker-2"] == {"worker-2"}
    undo_host()
    assert model.fabric.calls[-1] == ("mend", "worker-2")
    assert model.pool.cuts.keys() == {"r2"}, "the rack is still cut off"
    undo_rack()
    assert not model.pool.cuts


def test_a_link_is_cut_until_the_last_fault_on_it_is_undone(model: Any) -> None:
    faults = ScaledFaults(model)
    first, second = faults.cut("worker-1"), faults.cut("worker-1")
    first()
    assert ("mend", "worker-1") not in model.fabric.calls
    second()
    assert model.fabric.calls[-1] == ("mend", "worker-1")
    faults.cut("worker-1")()
    assert [c[0] for c in model.fabric.calls] == ["cut", "cut", "mend", "cut", "mend"]


def test_a_limping_disk_has_a_share_of_the_rates_that_it_has_now(model: Any) -> None:
    undo = ScaledFaults(model).slow_disk("worker-2", 2, 0.1)
    ((verb, host, disk, slow),) = model.fabric.calls
    assert (verb, host, disk) == ("set_disk", "worker-2", "disk-2")
    assert (slow.read_bytes_s, slow.write_bytes_s) == pytest.approx((1e6, 1e6))
    undo()
    _, _, _, back = model.fabric.calls[-1]
    assert back.read_bytes_s == 10e6


def test_a_degraded_part_stays_degraded_when_limits_are_lifted_and_set_again(model: Any) -> None:
    faults, healthy = ScaledFaults(model), model.shaped
    undo_disk, undo_nic = faults.slow_disk("worker-2", 2, 0.1), faults.slow_nic("worker-2", 0.1)
    (slow,) = (host for host in model.shaped.hosts if host.name == "worker-2")
    assert slow.disks[1].read_bytes_s == pytest.approx(1e6)
    assert slow.disks[0].read_bytes_s == 10e6
    assert slow.nic_bytes_s == pytest.approx(100e6 / 8 / 2 / 10)
    undo_nic()
    undo_disk()
    assert model.shaped == healthy


def test_a_disk_of_a_guest_is_counted_among_its_own(model: Any) -> None:
    guests = (GuestPlan("vm-1", disks=("disk-1",)), GuestPlan("vm-2", disks=("disk-2",)))
    hosts = [replace(h, guests=guests) if h.name == "worker-2" else h for h in model.shaped.hosts]
    model.shaped = replace(model.shaped, hosts=tuple(hosts))
    ScaledFaults(model).slow_disk("vm-2", 1, 0.1)
    assert model.fabric.calls[0][:3] == ("set_disk", "worker-2", "disk-2")
    with pytest.raises(NotRealisableError, match="vm-2 has 1 disks and no disk 2"):
        ScaledFaults(model).slow_disk("vm-2", 2, 0.1)


def test_a_limping_nic(model: Any) -> None:
    undo = ScaledFaults(model).slow_nic("worker-1", 0.1)
    undo()
    rate = 100e6 / 8 / 2
    assert model.fabric.calls == [
        ("set_nic_rate", "worker-1", pytest.approx(rate / 10)),
        ("set_nic_rate", "worker-1", rate),
    ]


def test_two_faults_of_one_part_end_in_any_order(model: Any) -> None:
    faults, healthy = ScaledFaults(model), model.shaped

    def worker() -> HostPlan:
        (found,) = (host for host in model.shaped.hosts if host.name == "worker-1")
        return found

    def slow_both(share: float) -> tuple[Undo, Undo]:
        return faults.slow_nic("worker-1", share), faults.slow_disk("worker-1", 1, share)

    first, second = slow_both(0.5), slow_both(0.2)
    rate = 100e6 / 8 / 2
    assert worker().nic_bytes_s == pytest.approx(rate / 10), "both are in force"
    assert worker().disks[0].read_bytes_s == pytest.approx(1e6)
    for undo in first:
        undo()
    assert worker().nic_bytes_s == pytest.approx(rate / 5)
    assert worker().disks[0].read_bytes_s == pytest.approx(2e6)
    for undo in second:
        undo()
    assert model.shaped == healthy
    assert model.fabric.calls[-2] == ("set_nic_rate", "worker-1", rate)
    assert model.fabric.calls[-1][-1] == worker().disks[0]


def test_a_fault_that_the_kernel_refuses_has_no_part_in_later_ones(model: Any) -> None:
    def refuse(host: str, rate: float) -> None:
        raise OSError("no such link")

    faults, working = ScaledFaults(model), model.fabric
    model.fabric = SimpleNamespace(set_nic_rate=refuse)
    with pytest.raises(OSError, match="no such link"):
        faults.slow_nic("worker-1", 0.5)
    model.fabric = working
    faults.slow_nic("worker-1", 0.1)()
    rate = 100e6 / 8 / 2
    assert [call[2] for call in working.calls] == pytest.approx([rate / 10, rate])


def test_a_cable_is_pulled_and_put_back(model: Any) -> None:
    ScaledFaults(model).cut("worker-1")()
    assert model.fabric.calls == [("cut", "worker-1"), ("mend", "worker-1")]


def test_parts_that_are_not_there_or_without_a_rate(model: Any) -> None:
    faults = ScaledFaults(model)
    with pytest.raises(NotRealisableError, match="no disk 3"):
        faults.slow_disk("worker-1", 3, 0.1)
    with pytest.raises(NotRealisableError, match="no host 'worker-9'"):
        faults.slow_nic("worker-9", 0.1)
    free = tuple(replace(host, nic_bytes_s=None) for host in model.shaped.hosts)
    model.shaped = replace(model.shaped, hosts=free)
    with pytest.raises(NotRealisableError, match="no rate"):
        faults.slow_nic("worker-1", 0.1)


def test_a_full_disk_is_filled_in_pieces_and_emptied(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 100 << 20
    taken: list[tuple[int, int]] = []

    def take(handle: int, offset: int, size: int) -> None:
        if offset + size > room:
            raise OSError(errno.ENOSPC, "full")
        taken.append((offset, size))

    monkeypatch.setattr(os, "posix_fallocate", take)
    undo = ScaledFaults(model).fill_disk("worker-1", 1, 1.0)
    ballast = tmp_path / "one" / BALLAST
    assert ballast.exists()
    assert sum(size for _, size in taken) == room
    undo()
    assert not ballast.exists()


def test_a_disk_that_is_fuller_than_wanted_already_is_no_fault(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="the disk is already"):
        fill(tmp_path / "ballast", 0.0)
    assert not (tmp_path / "ballast").exists()


def test_daemons_start_without_quotas_after_a_trial(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    @contextmanager
    def unshaped(*, cpu_only: bool) -> Iterator[None]:
        order.append(f"free, {cpu_only=}")
        yield
        order.append("limit")

    model.unshaped = unshaped
    monkeypatch.setattr(
        "windtunnel.testbeds.hadoop_faults.HadoopFaults.restore",
        lambda self, copies: order.append("restore"),
    )
    ScaledFaults(model).restore(copies=True)
    assert order == ["free, cpu_only=True", "restore", "limit"], (
        "copies travel at the model's rates"
    )


@pytest.fixture
def restorable(model: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model whose NodeManager on worker-1 ignores a disk for as many polls as ``polls`` has."""
    polls: list[str] = []

    def unused() -> list[str]:
        return [polls.pop()] if polls else []

    model.polls, model.unshaped = polls, lambda cpu_only: nullcontext()
    model.daemons = SimpleNamespace(masters=SimpleNamespace(hosts_with_unused_disks=unused))
    model.check_alive = lambda: None
    name = "windtunnel.testbeds.hadoop_faults.HadoopFaults.restore"
    monkeypatch.setattr(name, lambda self, copies: None)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr("windtunnel.testbeds.scaled.faults.fill", lambda ballast, share: None)
    return model


def test_the_next_trial_has_the_disk_that_was_full(restorable: Any) -> None:
    faults, polls = ScaledFaults(restorable), restorable.polls
    polls += ["worker-1"] * 3
    faults.restore(copies=False)
    assert len(polls) == 3, "no disk was full: nobody waits"
    faults.fill_disk("worker-1", 1, 1.0)()
    faults.restore(copies=False)
    assert not polls
    polls += ["worker-1"]
    faults.restore(copies=False)
    assert polls, "waited once for each fault"


def test_a_disk_that_stays_unused_ends_the_cluster(
    restorable: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windtunnel.testbeds.scaled.faults._DISKS_LIMIT_S", -1.0)
    restorable.polls.append("worker-1")
    faults = ScaledFaults(restorable)
    faults.fill_disk("worker-1", 1, 1.0)()
    with pytest.raises(DeploymentError, match="on worker-1 does not use all of its disks") as found:
        faults.restore(copies=False)
    assert "disk-health-checker.interval-ms" in found.value.remedy
